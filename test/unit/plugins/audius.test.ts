import { afterEach, expect, test } from "vitest";
import { AudiusSite } from "../../../lab/sites/audius.ts";
import plugin from "../../../plugins/audius/plugin.ts";
import type { SourceAnswer } from "../../../src/plugin-api/plugin.ts";
import { createTrack } from "../../../src/track/track.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { buildTrack } from "../../support/track-builder.ts";

const SOURCE = "audius";
const TRACK = "https://audius.co/ada/harbour";
const PLAYLIST = "https://audius.co/ada/playlist/evening-1";
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand() {
  const site = await AudiusSite.start();
  closing.push(() => site.close());
  const bench = await PluginBench.start(plugin, { hosts: site.hosts });
  closing.push(() => bench.close());
  return { site, bench };
}

function playlistOf(answer: SourceAnswer | undefined) {
  if (answer?.kind !== "playlist") throw new Error(`${answer?.kind} in place of a playlist`);
  return answer;
}

function storedTrack(identifier: string): string {
  return createTrack(buildTrack({ sourceName: SOURCE, identifier, uri: null }).info, { kind: "none" }).encoded;
}

test.each([TRACK, "audius.co/ada/harbour", "http://www.audius.co/ada/harbour/?x=1#y"])(
  "%s is a track, and its link leads to its audio",
  async (identifier) => {
    const { bench } = await stand();
    const [track] = await bench.loadTracks(SOURCE, identifier);
    expect(track?.info).toMatchObject({
      ...{ identifier: "D7KyD", title: "Harbour", author: "Ada", length: 201_000, isStream: false },
      ...{ uri: TRACK, artworkUrl: "https://n.example/480.jpg", isrc: "QZAUD2600001", sourceName: SOURCE },
    });
    const link = await bench.resolve(SOURCE, track?.encoded ?? "");
    const answer = await fetch(link.kind === "link" ? link.url : "");
    expect(answer.headers.get("content-type")).toBe("audio/mpeg");
    await answer.arrayBuffer();
  },
);

test.each([
  "https://audius.co/",
  "https://audius.co/trending",
  "https://audius.co/ada/playlists/x",
  "https://audius.co/ada/a/b/c",
  "https://audius.co/ada/%E0%A4%A",
  "https://audius.co.example/ada/harbour",
  "scsearch:x",
])("the identifier %s is not Audius'", async (identifier) => {
  const { site, bench } = await stand();
  expect(await bench.load(SOURCE, identifier)).toBeUndefined();
  expect(site.server.requests).toEqual([]);
});

test("a search leaves out what is not for everybody, and names the node", async () => {
  const { site, bench } = await stand();
  const tracks = await bench.loadTracks(SOURCE, "ausearch: ");
  expect(tracks).toEqual([]);
  expect((await bench.loadTracks(SOURCE, "ausearch:t")).map(({ info }) => info.title)).toEqual(["Undertow"]);
  expect(Object.fromEntries(site.server.requests[0]?.query ?? [])).toEqual({
    query: "t",
    limit: "20",
    app_name: "Tonearm",
  });
  expect(await bench.load(SOURCE, "ausearch:nothing like it")).toEqual({ kind: "empty" });
});

test("a name with other letters is passed on as it is written", async () => {
  const { site, bench } = await stand();
  site.addTrack("c4f", { title: "Café", permalink: "/ada/café" });
  expect((await bench.loadTracks(SOURCE, "https://audius.co/ada/caf%C3%A9"))[0]?.info).toMatchObject({ title: "Café" });
});

test("a playlist and a user are lists without what is gone", async () => {
  const { site, bench } = await stand();
  site.listed = ["D7KyD", "gone", "G4ted", "p3Rts"];
  const playlist = playlistOf(await bench.load(SOURCE, PLAYLIST));
  expect(playlist).toMatchObject({ name: "Evening", pluginInfo: { type: "playlist", url: PLAYLIST, author: "Ada" } });
  expect(playlist.tracks.map(({ title }) => title)).toEqual(["Harbour", "Undertow"]);
  const user = playlistOf(await bench.load(SOURCE, "https://audius.co/ada"));
  expect(user.name).toBe("Ada's tracks");
  expect(user.pluginInfo).toEqual({
    ...{ type: "artist", url: "https://audius.co/ada", artworkUrl: null, author: "Ada", totalTracks: 2 },
  });
});

test("of a playlist of 2,000 tracks the first 1,000 are loaded", async () => {
  const { site, bench } = await stand();
  site.listed = Array.from({ length: 2000 }, () => "D7KyD");
  expect(playlistOf(await bench.load(SOURCE, PLAYLIST)).tracks).toHaveLength(1000);
});

test.each(["https://audius.co/ada/none", "https://audius.co/none", "https://audius.co/ada/album/none"])(
  "%s, which does not exist, is an empty result",
  async (identifier) => {
    const { bench } = await stand();
    expect(await bench.load(SOURCE, identifier)).toEqual({ kind: "empty" });
  },
);

test("a track that is not for everybody is refused with the reason, loaded or played", async () => {
  const { bench } = await stand();
  const refusal = { code: "site-unavailable", message: expect.stringContaining("have bought it") };
  expect(await troubleWith(bench.load(SOURCE, "https://audius.co/ada/gated"))).toMatchObject(refusal);
  expect(await troubleWith(bench.resolve(SOURCE, storedTrack("G4ted")))).toMatchObject(refusal);
  const gone = { message: expect.stringContaining("404") };
  expect(await troubleWith(bench.resolve(SOURCE, storedTrack("none")))).toMatchObject(gone);
  expect(await troubleWith(bench.resolve(SOURCE, storedTrack("../x")))).toMatchObject({ code: "site-unavailable" });
});

test("while the API fails, a node that it lists is asked, and its audio is played", async () => {
  const { site, bench } = await stand();
  site.server.fail({ at: /^api\.audius\.co\/v1/, outcome: { text: "<html>" } });
  expect((await bench.loadTracks(SOURCE, "ausearch:harbour"))[0]?.info).toMatchObject({ title: "Harbour" });
  expect(await bench.resolve(SOURCE, storedTrack("D7KyD"))).toMatchObject({ kind: "link", variant: "mp3" });
  expect(site.server.requests.map(({ host, path }) => `${host}${path}`)).toEqual([
    ...["api.audius.co/v1/tracks/search", "api.audius.co/"],
    ...["node.audius.example/v1/tracks/search", "node.audius.example/v1/tracks/D7KyD/stream"],
  ]);
});

test.each([
  ["HTTP 404", { status: 404 }],
  ["a page with HTTP 404", { status: 404, text: "<html>" }],
  ["a page with HTTP 403", { status: 403, text: "<html>" }],
])("while the API answers %s, which is no error of Audius, a node is asked", async (_name, outcome) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /^api\.audius\.co\/v1/, outcome });
  expect(await bench.loadTracks(SOURCE, TRACK)).toHaveLength(1);
  expect(await bench.resolve(SOURCE, storedTrack("D7KyD"))).toMatchObject({ kind: "link" });
});

test("Audius' own refusal is not asked for again, and a page that refuses is not one", async () => {
  const { site, bench } = await stand();
  const at = /stream/;
  site.server.fail({ at, outcome: { status: 403, json: { code: 403, error: "no access" } } });
  expect(await troubleWith(bench.resolve(SOURCE, storedTrack("D7KyD")))).toMatchObject({
    message: expect.stringContaining("have bought it"),
  });
  expect(site.server.requests).toHaveLength(1);
  site.server.fail({ at, outcome: { status: 403, text: "<html>" } });
  expect(await troubleWith(bench.resolve(SOURCE, storedTrack("D7KyD")))).toMatchObject({
    code: "site-unavailable",
    message: expect.stringContaining("HTTP 403"),
  });
  site.server.fail({ at: /v1/, outcome: { status: 404, json: { code: 404, error: "not found" } } });
  const before = site.server.requests.length;
  expect(await bench.load(SOURCE, TRACK)).toEqual({ kind: "empty" });
  expect(site.server.requests).toHaveLength(before + 1);
});

test("an expired link is replaced, and a node that sends the file itself is linked", async () => {
  const { site, bench } = await stand();
  const first = await bench.resolve(SOURCE, storedTrack("D7KyD"));
  site.server.expireLinks();
  const second = await bench.resolve(SOURCE, storedTrack("D7KyD"), { reason: "refused", status: 403 });
  if (first.kind !== "link" || second.kind !== "link") throw new Error("no link");
  expect([(await fetch(first.url)).status, (await fetch(second.url)).status]).toEqual([403, 200]);
  site.server.fail({ at: /stream/, outcome: { status: 206, bytes: new Uint8Array(1) } });
  expect(await bench.resolve(SOURCE, storedTrack("p3Rts"))).toMatchObject({
    url: "https://api.audius.co/v1/tracks/p3Rts/stream?app_name=Tonearm",
  });
});

test("when that node fails, the API is asked again", async () => {
  const { site, bench } = await stand();
  site.server.fail({ at: /^api\.audius\.co\/v1/, times: 1, outcome: { status: 503 } });
  await bench.load(SOURCE, "ausearch:harbour");
  site.server.fail({ at: /^node/, outcome: "cut" });
  expect(await bench.loadTracks(SOURCE, "ausearch:undertow")).toHaveLength(1);
  const before = site.server.requests.length;
  expect(await bench.loadTracks(SOURCE, "ausearch:harb")).toHaveLength(1);
  expect(site.server.requests.slice(before).map(({ host }) => host)).toEqual(["api.audius.co"]);
});

test.each([
  ["a page", { text: "<html>" }, "site-changed"],
  ["no data", { json: { message: "x" } }, "site-changed"],
  ["an object for a list", { json: { data: {} } }, "site-changed"],
  ["HTTP 429", { status: 429, headers: { "retry-after": "9" } }, "site-busy"],
  ["HTTP 503", { status: 503 }, "site-busy"],
])("sites that answer %s are an error", async (_name, outcome, code) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /./, outcome });
  expect(await troubleWith(bench.load(SOURCE, "ausearch:x"))).toMatchObject({ code });
});

test("members of other types read as missing", async () => {
  const { site, bench } = await stand();
  const odd = { id: "odd", title: "Odd", duration: "201", user: 5, artwork: [1], permalink: {}, isrc: 3 };
  site.server.fail({ at: /v1/, outcome: { json: { data: [null, 5, { id: 3, title: "x" }, { id: "a" }, odd] } } });
  const tracks = await bench.loadTracks(SOURCE, "ausearch:x");
  expect(tracks.map(({ info }) => info)).toMatchObject([{ title: "Odd", uri: null, artworkUrl: null, isrc: null }]);
});
