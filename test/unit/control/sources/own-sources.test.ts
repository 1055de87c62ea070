import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { PlayableInput, ProbeResult } from "../../../../src/bridge/playable-input.ts";
import { createOwnSources } from "../../../../src/control/sources/own-sources.ts";
import { TrackLoader } from "../../../../src/control/sources/track-loader.ts";
import { NodeError } from "../../../../src/errors.ts";
import { trackToJson } from "../../../../src/track/track.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { buildTrack } from "../../../support/track-builder.ts";

type FoundTrack = Extract<ProbeResult, { kind: "track" }>;

const FOUND: FoundTrack = {
  kind: "track",
  container: "mp3",
  location: undefined,
  title: "TestTitle",
  author: "TestArtist",
  artworkUrl: undefined,
  isrc: undefined,
  lengthMs: 30_048,
  isSeekable: true,
};

const BY_SOMEBODY = { owner: ["somebody"], signal: new AbortController().signal };

let probed: PlayableInput[];
let results: Map<string, ProbeResult>;
let folder: string;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tonearm-sources-")));
  mkdirSync(join(folder, "media/inner"), { recursive: true });
  writeFileSync(join(folder, "media/tronc é.mp3"), "x");
  writeFileSync(join(folder, "secret.mp3"), "x");
  symlinkSync(join(folder, "secret.mp3"), join(folder, "media/link.mp3"));
});
afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(() => {
  probed = [];
  results = new Map();
});

function loader(isEnabled = { http: true, local: true }): TrackLoader {
  const probe = async (input: PlayableInput): Promise<ProbeResult> => {
    probed.push(input);
    return results.get("url" in input ? input.url : "path" in input ? input.path : "") ?? FOUND;
  };
  const { local, http } = createOwnSources({ isEnabled, localRoots: [join(folder, "media")], probe });
  return new TrackLoader({ listSources: () => [...local, ...http], clock: new FakeClock() });
}

async function load(identifier: string) {
  const result = await loader().load(identifier, BY_SOMEBODY);
  return result.kind === "track" ? trackToJson(result.track) : result;
}

test("a feed is a reference to the podcasts, and what else cannot be read is an error", async () => {
  const asked: string[] = [];
  const podcasts = {
    name: "podcast",
    isClaimed: () => false,
    load: async ({ identifier }: { readonly identifier: string }) => {
      asked.push(identifier);
      return identifier.startsWith("podcast:") ? { kind: "empty" as const } : undefined;
    },
    playableInput: () => expect.fail("nothing is played"),
  };
  const codes = new Map([["http://a.example/b.xml", "media-feed" as const]]);
  const probe = async (input: PlayableInput): Promise<ProbeResult> => {
    const code = codes.get("url" in input ? (input.url.split("#", 1)[0] ?? "") : "") ?? "media-unknown-format";
    throw new NodeError(code, "no audio");
  };
  const { http } = createOwnSources({ isEnabled: { http: true, local: false }, localRoots: [], probe });
  const of = new TrackLoader({ listSources: () => [podcasts, ...http], clock: new FakeClock() });
  expect(await of.load("http://a.example/b.xml#latest", BY_SOMEBODY)).toEqual({ kind: "empty" });
  expect(asked).toEqual(["http://a.example/b.xml#latest", "podcast:http://a.example/b.xml"]);
  expect(await of.load("http://a.example/c.xml", BY_SOMEBODY)).toMatchObject({
    kind: "error",
    error: { code: "media-unknown-format" },
  });
});

test("sources are asked in the published order: local before http", () => {
  expect(loader().sourceNames).toEqual(["local", "http"]);
  expect(loader({ http: false, local: true }).sourceNames).toEqual(["local"]);
});

describe("http", () => {
  // Each as the published server answered when recorded: its JSON, and its encoded form byte for byte.
  test.each<[string, string, Partial<FoundTrack>, object]>([
    [
      "http://127.0.0.1:8088/tone.mp3?a=1&b=2",
      "QAAAhwMACVRlc3RUaXRsZQAKVGVzdEFydGlzdAAAAAAAAHVgACZodHRwOi8vMTI3LjAuMC4xOjgwODgvdG9uZS5tcDM/YT0xJmI9MgABACZodHRwOi8vMTI3LjAuMC4xOjgwODgvdG9uZS5tcDM/YT0xJmI9MgAAAARodHRwAANtcDMAAAAAAAAAAA==",
      {},
      { title: "TestTitle", author: "TestArtist", length: 30_048, isSeekable: true, isStream: false },
    ],
    [
      "http://127.0.0.1:8088/notags.mp3",
      "QAAAgwMADVVua25vd24gdGl0bGUADlVua25vd24gYXJ0aXN0AAAAAAAAdWAAIGh0dHA6Ly8xMjcuMC4wLjE6ODA4OC9ub3RhZ3MubXAzAAEAIGh0dHA6Ly8xMjcuMC4wLjE6ODA4OC9ub3RhZ3MubXAzAAAABGh0dHAAA21wMwAAAAAAAAAA",
      { title: undefined, author: undefined },
      { title: "Unknown title", author: "Unknown artist" },
    ],
    [
      "http://127.0.0.1:8089/tone.aac",
      "QAAAgAMADVVua25vd24gdGl0bGUADlVua25vd24gYXJ0aXN0f/////////8AHmh0dHA6Ly8xMjcuMC4wLjE6ODA4OS90b25lLmFhYwEBAB5odHRwOi8vMTI3LjAuMC4xOjgwODkvdG9uZS5hYWMAAAAEaHR0cAAEYWR0cwAAAAAAAAAA",
      { container: "adts", title: undefined, author: undefined, lengthMs: undefined, isSeekable: true },
      { length: 9223372036854775807n, isStream: true, isSeekable: false },
    ],
  ])("%s gives the recorded track", async (url, encoded, more, info) => {
    results.set(url, { ...FOUND, ...more });
    const probeInfo = more.container ?? "mp3";
    expect(await load(url)).toMatchObject({
      encoded,
      info: { ...info, identifier: url, uri: url, sourceName: "http", position: 0, artworkUrl: null, isrc: null },
      pluginInfo: { probeInfo },
      userData: {},
    });
  });

  test("icy:// is http:// and shows as that", async () => {
    const url = "http://127.0.0.1:8088/tone.mp3";
    expect(await load("icy://127.0.0.1:8088/tone.mp3")).toMatchObject({ info: { identifier: url, uri: url } });
    expect(probed).toEqual([{ kind: "http", url, container: undefined }]);
  });

  test("artwork and ISRC are shown, a fraction of a millisecond is not", async () => {
    const artworkUrl = "http://media.example/cover.jpg";
    results.set("http://media.example/a", { ...FOUND, artworkUrl, isrc: "GBARL9300135", lengthMs: 1234.9 });
    expect(await load("http://media.example/a")).toMatchObject({
      info: { artworkUrl, isrc: "GBARL9300135", length: 1234 },
    });
  });

  test("a track with a length is seekable, as its encoded form says, whatever its server can do", async () => {
    results.set("http://media.example/a", { ...FOUND, isSeekable: false });
    expect(await load("http://media.example/a")).toMatchObject({ info: { isSeekable: true, isStream: false } });
  });

  test("a track is known by where redirects led", async () => {
    results.set("http://media.example/a", { ...FOUND, location: "http://media.example/b" });
    expect(await load("http://media.example/a")).toMatchObject({ info: { uri: "http://media.example/b" } });
  });

  test("the title in a playlist file names a track without its own title, and no other", async () => {
    const input = { kind: "http", url: "http://media.example/b", container: undefined } as const;
    results.set("http://media.example/list.pls", { kind: "reference", input, title: "From the list" });
    expect(await load("http://media.example/list.pls")).toMatchObject({ info: { title: "TestTitle" } });
    results.set("http://media.example/b", { ...FOUND, title: undefined });
    expect(await load("http://media.example/list.pls")).toMatchObject({ info: { title: "From the list" } });
  });

  test("playlist files that name each other without end are empty", async () => {
    const input = { kind: "http", url: "http://media.example/loop", container: undefined } as const;
    results.set(input.url, { kind: "reference", input, title: undefined });
    expect(await load(input.url)).toEqual({ kind: "empty" });
    expect(probed).toHaveLength(6);
  });

  test("no server can name a file of this machine", async () => {
    const input = { kind: "local", path: join(folder, "media/tronc é.mp3"), container: undefined } as const;
    results.set("http://media.example/list", { kind: "reference", input, title: undefined });
    expect(await load("http://media.example/list")).toEqual({ kind: "empty" });
    const dead = { kind: "http", url: "http://media.example/dead", container: undefined } as const;
    const alternatives = [{ input, title: undefined }];
    results.set("http://media.example/list", { kind: "reference", input: dead, title: undefined, alternatives });
    expect(await load("http://media.example/list")).toEqual({ kind: "empty" });
    expect(probed).toHaveLength(2);
  });

  test("a missing file gives an empty result", async () => {
    results.set("http://media.example/gone", { kind: "empty" });
    expect(await load("http://media.example/gone")).toEqual({ kind: "empty" });
  });

  test.each(["HTTP://media.example/a", " http://media.example/a", "http://", "ftp://media.example/a", "a+b", ""])(
    "%j is no identifier of it",
    async (identifier) => {
      expect(await load(identifier)).toEqual({ kind: "empty" });
      expect(probed).toEqual([]);
    },
  );

  test("a decoded track is played from its identifier, its container as a hint", () => {
    const url = "http://media.example/song.mp3";
    expect(loader().playableInput(buildTrack({ identifier: url }))).toEqual({ kind: "http", url, container: "mp3" });
  });

  test("a decoded track that names no http URL is not played", () => {
    expect(() => loader().playableInput(buildTrack({ identifier: "file:///etc/passwd" }))).toThrow(
      expect.objectContaining({ code: "source-unavailable" }),
    );
  });
});

describe("local", () => {
  test("a file below a root is found, by absolute and by relative path, and known by the path as given", async () => {
    const path = join(folder, "media/tronc é.mp3");
    for (const identifier of [path, relative(process.cwd(), path)]) {
      expect(await load(identifier)).toMatchObject({ info: { identifier, uri: identifier, sourceName: "local" } });
      expect(probed.pop()).toEqual({ kind: "local", path, container: undefined });
    }
  });

  test.each(["media/nope.mp3", "media/inner", "media/", "media"])("%s is empty: no file", async (name) => {
    expect(await load(join(folder, name))).toEqual({ kind: "empty" });
    expect(probed).toEqual([]);
  });

  test.each(["secret.mp3", "media/link.mp3", "media/../secret.mp3", "nope.mp3", "media-other/a.mp3"])(
    "%s is refused: outside the roots, there or not",
    async (name) => {
      expect(await load(`${folder}/${name}`)).toMatchObject({ kind: "error", error: { code: "local-file-refused" } });
      expect(probed).toEqual([]);
    },
  );

  test.each(["file:///etc/passwd", "ytsearch:/etc/passwd", "abc", "a\0b", "/tmp/\0"])(
    "%j is no path",
    async (identifier) => {
      const result = await load(identifier);
      expect(result).toEqual({ kind: "empty" });
    },
  );

  test("the message names no path", async () => {
    const result = await load(join(folder, "secret.mp3"));
    expect(JSON.stringify(result)).not.toContain(folder);
  });

  test("a playlist file leads to its entries", async () => {
    const path = join(folder, "media/tronc é.mp3");
    const input = { kind: "http", url: "http://media.example/b", container: undefined } as const;
    results.set(path, { kind: "reference", input, title: undefined });
    expect(await load(path)).toMatchObject({ info: { uri: "http://media.example/b", sourceName: "http" } });
  });

  test("switched off, its files are not looked for and its tracks are not played", async () => {
    const path = join(folder, "media/tronc é.mp3");
    const tracks = loader({ http: true, local: false });
    expect(await tracks.load(path, BY_SOMEBODY)).toEqual({ kind: "empty" });
    const track = buildTrack({ sourceName: "local", identifier: path });
    expect(() => tracks.playableInput(track)).toThrow(expect.objectContaining({ code: "source-unavailable" }));
  });

  test("a decoded track is played from its absolute path; the worker keeps it inside", () => {
    const track = buildTrack({ sourceName: "local", identifier: "song.mp3" });
    expect(loader().playableInput(track)).toEqual({ kind: "local", path: resolve("song.mp3"), container: "mp3" });
  });
});
