import { afterEach, beforeEach, expect, test } from "vitest";
import type { SearchReply } from "../../../../src/bridge/plugin-extensions.ts";
import type { PluginManifest } from "../../../../src/bridge/plugin-messages.ts";
import { allowedSources, UNLIMITED } from "../../../../src/control/access/identity.ts";
import { TrackLoader } from "../../../../src/control/sources/track-loader.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import type { SearchType } from "../../../../src/plugin-api/plugin.ts";
import { listedPlugins } from "../../../../src/plugin-host/manage/listed-plugins.ts";
import { LyricsProviders } from "../../../../src/plugin-host/manage/lyrics-providers.ts";
import { SearchProviders } from "../../../../src/plugin-host/manage/search-providers.ts";
import { writeTracks } from "../../../../src/track/written-tracks.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { manifestOf } from "../../../support/fake-plugin-threads.ts";
import { settle } from "../../../support/fake-workers.ts";
import { PluginThreadsBench } from "../../../support/plugin-threads-bench.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const OWNER = ["address test"];
const ALL: readonly SearchType[] = ["track", "album", "artist", "playlist", "text"];
const SIGNAL = new AbortController().signal;
const TRACKS = writeTracks([buildTrack({ sourceName: "songs" })]);
const FOUND: SearchReply = {
  kind: "found",
  tracks: TRACKS,
  albums: [{ name: "Harbour", pluginInfo: { type: "album" } }],
  artists: [],
  playlists: [],
  texts: [],
};
const ONLY_TUNES = allowedSources({ name: "bot", limits: { ...UNLIMITED, sources: new Set(["tunes"]) } });

let clock: FakeClock;
let bench: PluginThreadsBench;
let searches: SearchProviders;

function create(...manifests: PluginManifest[]): void {
  bench = new PluginThreadsBench(clock, manifests);
  const loader = new TrackLoader({ listSources: () => bench.plugins.sources("middle"), clock });
  bench.plugins.loader = loader;
  searches = new SearchProviders({ plugins: () => bench.plugins.working, loader });
}

beforeEach(() => {
  clock = new FakeClock();
});
afterEach(() => bench.plugins.close());

const SONGS = manifestOf("songs", { searchProviders: [{ source: "songs", prefixes: ["sgsearch:"] }] });
const TUNES = manifestOf("tunes", { sources: [{ name: "tunes", prefixes: ["tnsearch:", "tune:"], fields: [] }] });

function search(query: string, more: Partial<Parameters<SearchProviders["search"]>[1]> = {}) {
  return searches.search(query, { types: ALL, owner: OWNER, allowed: undefined, signal: SIGNAL, ...more });
}

test("a search is answered by the provider that takes its prefix", async () => {
  create(SONGS, TUNES);
  const found = search("sgsearch:harbour", { types: ["track", "album"] });
  await settle();
  expect(bench.threadOf("songs").all("search")).toMatchObject([
    { index: 0, query: "sgsearch:harbour", types: ["track", "album"], owner: OWNER },
  ]);
  await bench.threadOf("songs").reply(FOUND);
  expect(await found).toMatchObject({ albums: FOUND.albums, tracks: TRACKS });
});

test("a search that no provider takes is loaded from its source, which has tracks only", async () => {
  create(SONGS, TUNES);
  const found = search("tnsearch:harbour");
  await settle();
  expect(bench.threadOf("tunes").all("load")).toMatchObject([{ identifier: "tnsearch:harbour" }]);
  await bench.threadOf("tunes").reply({ kind: "search", tracks: TRACKS });
  expect(await found).toEqual({ tracks: TRACKS, albums: [], artists: [], playlists: [], texts: [] });
});

test("a source is not asked where no tracks are wanted, nor for what is no search", async () => {
  create(SONGS, TUNES);
  expect(await search("tnsearch:harbour", { types: ["album", "text"] })).toBeUndefined();
  expect(await search("tune:1")).toBeUndefined();
  expect(await search("https://songs.example/1")).toBeUndefined();
  expect(bench.threads.started).toEqual([]);
});

test("with the prefix of a source that is off nothing is found", async () => {
  create(TUNES);
  const absent = { refusing: () => ({ name: "songs", reason: "songs is off" }), reasonOf: () => undefined };
  const loader = new TrackLoader({ listSources: () => [], absent, clock });
  searches = new SearchProviders({ plugins: () => [], loader });
  expect(await search("sgsearch:harbour")).toBeUndefined();
});

test("a failed load is the search's error", async () => {
  create(TUNES);
  const found = search("tnsearch:x");
  await settle();
  await bench.threadOf("tunes").replyError(new Error("broken"));
  await expect(found).rejects.toMatchObject({ code: "internal" });
});

test("a client that may not use the provider's source is refused", async () => {
  create(SONGS, TUNES);
  await expect(search("sgsearch:x", { allowed: ONLY_TUNES })).rejects.toMatchObject({ code: "key-forbidden" });
  expect(bench.threads.started).toEqual([]);
});

test("a search that takes 20 s is given up, and so is one whose client has gone", async () => {
  create(SONGS);
  const slow = search("sgsearch:x").catch((error: unknown) => error);
  await settle();
  clock.advance(20_000);
  expect(await slow).toMatchObject({ code: "load-timeout" });
  const abort = new AbortController();
  const gone = search("sgsearch:x", { signal: abort.signal }).catch((error: unknown) => error);
  await settle();
  abort.abort(new Error("gone"));
  expect(await gone).toMatchObject({ message: "gone" });
  expect(bench.threadOf("songs").all("abort")).toHaveLength(1);
});

test("too long a query is refused", async () => {
  create(SONGS);
  await expect(search("x".repeat(5000))).rejects.toMatchObject({ code: "request-refused" });
});

test("clients are told of LavaSearch where there is a search, and of LavaLyrics where there are lyrics", () => {
  const namesFor = (...manifests: PluginManifest[]): readonly string[] => {
    create(...manifests);
    const provided = {
      plugins: () => bench.plugins.working,
      loader: new TrackLoader({ listSources: () => [], clock }),
    };
    const lyrics = new LyricsProviders({ ...provided, order: [], clock, logger: silentLogger });
    return listedPlugins({ infos: [{ name: "lavasrc-plugin", version: "1" }], searches, lyrics }).map(
      ({ name }) => name,
    );
  };
  expect(namesFor(manifestOf("songs"))).toEqual(["lavasrc-plugin"]);
  expect(namesFor(TUNES)).toEqual(["lavasrc-plugin", "lavasearch-plugin"]);
  expect(namesFor(SONGS)).toEqual(["lavasrc-plugin", "lavasearch-plugin"]);
  expect(namesFor(manifestOf("a", { lyricsProviders: [{ name: "a" }] }))).toEqual([
    "lavasrc-plugin",
    "lavalyrics-plugin",
  ]);
});
