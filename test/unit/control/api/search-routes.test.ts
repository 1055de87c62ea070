import { afterEach, expect, test } from "vitest";
import type { SearchControl } from "../../../../src/control/api/api-context.ts";
import type { FoundItems } from "../../../../src/control/sources/found-items.ts";
import { NodeError } from "../../../../src/errors.ts";
import { trackToJson } from "../../../../src/track/track.ts";
import { writeTracks } from "../../../../src/track/written-tracks.ts";
import { ApiServer } from "../../../support/api-server.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const NONE = { tracks: [], albums: [], artists: [], playlists: [], texts: [] };
const LIST_INFO = { type: "album", url: "https://a.example/", artworkUrl: null, author: "Mira Vale", totalTracks: 9 };
const TRACKS = [buildTrack(), buildTrack({ title: "[]" })];

let server: ApiServer;
let asked: unknown[] = [];
afterEach(() => server.close());

async function start(found: FoundItems | undefined, search?: SearchControl["search"]): Promise<void> {
  asked = [];
  const isAvailable = true;
  server = await ApiServer.start({
    searches: {
      isAvailable,
      search:
        search ??
        (async (query, { types }) => {
          asked.push([query, types]);
          return found;
        }),
    },
  });
}

test("a search is answered with all lists, those of other kinds as playlists without tracks", async () => {
  const texts = [{ text: "harbour lights", pluginInfo: { a: 1 } }];
  await start({ ...NONE, tracks: TRACKS, albums: [{ name: "Harbour []", pluginInfo: LIST_INFO }], texts });
  const answer = await server.request("GET", "/v4/loadsearch?query=dzsearch%3Aharbour%20x");
  expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
  expect(answer.json).toEqual({
    tracks: TRACKS.map(trackToJson),
    albums: [{ info: { name: "Harbour []", selectedTrack: -1 }, pluginInfo: LIST_INFO, tracks: [] }],
    artists: [],
    playlists: [],
    texts: [{ text: "harbour lights", plugin: { a: 1 } }],
    plugin: {},
  });
  expect(asked).toEqual([["dzsearch:harbour x", ["track", "album", "artist", "playlist", "text"]]]);
});

test("tracks that a plugin has written are sent as they are", async () => {
  await start({ ...NONE, tracks: writeTracks(TRACKS) });
  const { json } = await server.request("GET", "/v4/loadsearch?query=x");
  expect(json.tracks.map(({ info }: { info: { title: string } }) => info.title)).toEqual([TRACKS[0]?.info.title, "[]"]);
  expect(json.albums).toEqual([]);
});

test.each([
  ["track", ["track"]],
  ["album,%20text,%20nonsense", ["album", "text"]],
  ["PLAYLIST,artist", ["artist", "playlist"]],
  ["nonsense", ["track", "album", "artist", "playlist", "text"]],
  ["", ["track", "album", "artist", "playlist", "text"]],
])("the types %j are read, and unknown ones are ignored", async (types, expected) => {
  await start(undefined);
  await server.request("GET", `/v4/loadsearch?query=x&types=${types}`);
  expect(asked).toEqual([["x", expected]]);
});

test("nothing found is 204", async () => {
  for (const found of [undefined, NONE, { ...NONE, tracks: writeTracks([]) }]) {
    await start(found);
    expect(await server.request("GET", "/v4/loadsearch?query=x")).toMatchObject({ status: 204, body: "" });
    await server.close();
  }
});

test("a search without a query is 400, and one that fails has the source's error", async () => {
  await start(undefined, () => Promise.reject(new NodeError("site-busy", "songs: HTTP 429")));
  expect(await server.request("GET", "/v4/loadsearch")).toMatchObject({
    status: 400,
    json: { message: "Required parameter 'query' is not present." },
  });
  expect(await server.request("GET", "/v4/loadsearch?query=x")).toMatchObject({
    status: 500,
    json: { message: "songs: HTTP 429" },
  });
});

test("a node without any search says so with 500", async () => {
  server = await ApiServer.start();
  const answer = await server.request("GET", "/v4/loadsearch?query=x");
  expect(answer).toMatchObject({
    status: 500,
    json: { message: expect.stringMatching(/^No search managers registered: .*soundcloud: true$/) },
  });
});
