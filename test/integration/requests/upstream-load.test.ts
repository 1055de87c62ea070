// The answers of loadtracks for addresses that are broken, hostile or merely odd: an answer in bounded time that says
// what is wrong, and a node that works afterwards as before.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noise } from "../../../lab/isolation/generators/mutate.ts";
import { seededRandom } from "../../../lab/seeded-random.ts";
import type { LoadView } from "../../../lab/test-environment/bot.ts";
import { TEST_PASSWORD } from "../../../lab/test-environment/test-environment.ts";
import { readMediaFixture } from "../../support/media-fixture.ts";
import { type ExceptionView, pathsIn, UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";

const MEDIA = new URL("../../fixtures/media/", import.meta.url);
const SECRET = "hunter2";

const FILES = {
  "random.mp3": noise(20_000, seededRandom(1)),
  "empty.mp3": "",
  "text.txt": "Hello!\n",
  "page.html": "<!DOCTYPE html><html><head><title>Video</title></head><body>no sound here</body></html>",
  "picture.mp3": Buffer.from("\x89PNG\r\n\x1a\n and so on", "latin1"),
  "half.mp3": readFileSync(new URL("chord.mp3", MEDIA)).subarray(0, 48_000),
  "half.webm": readFileSync(new URL("chord.webm", MEDIA)).subarray(0, 50_000),
  "stump.m4a": readMediaFixture("aac-faststart.m4a").subarray(0, 300),
  "silent.webm": readMediaFixture("video-only.webm"),
  "chord.m4a": readMediaFixture("aac.m4a"),
  "loop-a.m3u": "#EXTM3U\nloop-b.pls\n",
  "loop-b.pls": "[playlist]\nFile1=loop-a.m3u\n",
  "self.m3u": "#EXTM3U\nself.m3u\n",
  "empty.m3u": "#EXTM3U\n# nothing\n",
  "lists/relative.m3u": "#EXTM3U\n#EXTINF:6,From the list\n../chord.m4a\n",
  "lists/titled.pls": "[playlist]\nnumberofentries=1\nFile1=../half.mp3\nTitle1=Half a song\n",
  "to-nothing.m3u": "#EXTM3U\n404\n",
};

let upstream: UpstreamTestEnvironment;

beforeAll(async () => {
  upstream = await UpstreamTestEnvironment.start({
    root: MEDIA.pathname,
    files: FILES,
    config: { LAVALINK_SERVER_TIMEOUTS_SOCKET_TIMEOUT_MS: "2500", LAVALINK_SERVER_TIMEOUTS_CONNECT_TIMEOUT_MS: "2500" },
  });
});
afterAll(() => upstream.close());

async function load(path: string): Promise<LoadView> {
  const { status, body } = await upstream.bot.load(path.includes("://") ? path : upstream.url(path));
  expect(status).toBe(200);
  return body;
}

async function loadInfo(path: string): Promise<Record<string, unknown>> {
  const { loadType, data } = await load(path);
  expect({ loadType, data }).toMatchObject({ loadType: "track" });
  return (data as { info: Record<string, unknown> }).info; // a track, as just seen
}

describe("an address with nothing to play", () => {
  it.concurrent.each([
    ["403", "suspicious", /answered HTTP 403; the link may have expired or need a login$/],
    ["401", "suspicious", /answered HTTP 401; the link/],
    ["416", "suspicious", /answered HTTP 416$/],
    ["500", "suspicious", /answered HTTP 500$/],
    ["503", "suspicious", /answered HTTP 503$/],
    ["auth/chord.mp3", "suspicious", /answered HTTP 401/],
    ["random.mp3", "common", /^unknown file format: nothing in it looks like audio/],
    ["empty.mp3", "common", /^unknown file format: the file is empty$/],
    ["chunked/empty.mp3", "common", /^unknown file format: the file is empty$/],
    ["text.txt", "common", /^unknown file format: this is a text file/],
    ["page.html", "common", /^unknown file format: this is a web page.*use the address of the media itself$/],
    ["picture.mp3", "common", /^unknown file format: this is a PNG picture/],
    ["huge", "common", /^unknown file format/],
    ["loop", "suspicious", /more than 20 redirects$/],
    ["wrong-range/chord.mp3", "suspicious", /sent other bytes than asked for/],
    ["silent.webm", "common", /no audio/],
    ["stump.m4a", "suspicious", /^the MP4 file cannot be read: its index \(moov\) is cut off$/],
    ["empty.m3u", "suspicious", /names no address that can be loaded$/],
    ["hang/chord.mp3", "suspicious", /^connecting to http:.*: no answer within 5000 ms$/],
    ["http://127.0.0.1:1/song.mp3", "suspicious", /connection refused: no server listens at that port$/],
    ["http://no-such-host.invalid/song.mp3", "suspicious", /no such host; check the address and the node's DNS$/],
  ])("%s: an error of severity %s that says why", async (path, severity, message) => {
    const { loadType, data } = await load(path);
    const error = data as ExceptionView; // checked by what follows
    expect({ loadType, severity: error.severity }).toEqual({ loadType: "error", severity });
    expect(error.message).toMatch(message);
    expect(error.cause).toMatch(/^\w*Error: ./);
    expect(pathsIn(error)).toEqual([]);
  });

  it.concurrent.each(["404", "410", "nowhere.mp3", "loop-a.m3u", "self.m3u", "to-nothing.m3u", "to?/404"])(
    "%s: empty",
    async (path) => {
      expect(await load(path)).toEqual({ loadType: "empty", data: null });
    },
  );

  it.concurrent.each([
    `403?token=${SECRET}`,
    `http://user:${SECRET}@127.0.0.1:1/song.mp3`,
    `http://${SECRET}@no-such-host.invalid/`,
    `random.mp3?token=${SECRET}`,
    `hang/chord.mp3?key=${SECRET}`,
    `to?/403?token=${SECRET}`,
  ])("%s: the error does not contain the secret", async (path) => {
    const { loadType, data } = await load(path);
    expect(loadType).toBe("error");
    expect(JSON.stringify(data)).not.toContain(SECRET);
  });
});

describe("a server with odd habits", () => {
  it.concurrent.each([
    "ranges",
    "norange",
    "noct",
    "chunked",
    "close",
    "slow",
    "cut",
    "cut-norange",
    "ignores-range",
    "gzip",
  ])("a server with the habit %s: the track is found with title and length", async (habit) => {
    const info = await loadInfo(`${habit}/chord.mp3`);
    const url = upstream.url(`${habit}/chord.mp3`);
    expect(info).toMatchObject({ identifier: url, uri: url, title: "Chord", author: "Tonearm Lab", isStream: false });
    expect(info.length).toBeGreaterThanOrEqual(6000);
    expect(info.length).toBeLessThan(6100);
  });

  it.concurrent("a track behind a redirect has the address of the target", async () => {
    expect(await loadInfo("redirect/chord.mp3")).toMatchObject({
      identifier: upstream.url("chord.mp3"),
      title: "Chord",
    });
    expect(await loadInfo("to?/to?/chord.mp3")).toMatchObject({ identifier: upstream.url("chord.mp3") });
  });

  it.concurrent.each(["norange", "chunked", "close"])(
    "a server with the habit %s: an MP4 whose index is at the end is found",
    async (habit) => {
      const info = await loadInfo(`${habit}/chord.m4a`);
      expect(info).toMatchObject({ isStream: false, title: "TestTitle" });
    },
  );

  it.concurrent.each(["truncated/chord.mp3", "truncated/chord.webm", "half.mp3", "half.webm"])(
    "the incomplete file %s is found, so that its beginning can be played",
    async (path) => {
      expect(await loadInfo(path)).toMatchObject({ identifier: upstream.url(path), isStream: false });
    },
  );

  it.concurrent("a password in the address is used, kept for playing, and not sent to other hosts", async () => {
    const url = upstream.url("auth/chord.mp3").replace("http://", "http://user:secret@");
    expect(await loadInfo(url)).toMatchObject({ identifier: url, title: "Chord" });
    const elsewhere = upstream.url("ranges/chord.mp3?elsewhere").replace("127.0.0.1", "localhost");
    const redirect = upstream.url(`to?${encodeURIComponent(elsewhere)}`).replace("http://", "http://user:secret@");
    await loadInfo(redirect);
    const [request] = upstream.requests("ranges/chord.mp3?elsewhere");
    expect(request).toBeDefined();
    expect(request?.headers.authorization).toBeUndefined();
  });
});

describe("a list of links", () => {
  it.concurrent("a playlist loads as the track of its first link; tags have priority over the list's title", async () => {
    const info = await loadInfo("lists/relative.m3u");
    expect(info).toMatchObject({ identifier: upstream.url("chord.m4a"), title: "TestTitle", isStream: false });
  });

  it.concurrent("links of a list are relative to its address after redirects", async () => {
    const info = await loadInfo("to?/lists/titled.pls");
    expect(info).toMatchObject({ identifier: upstream.url("half.mp3"), title: "Chord" });
  });
});

it("50 bad addresses in a row leave no request open and the node as it was", async () => {
  const bad = [
    "random.mp3",
    "huge",
    "403",
    "loop",
    "truncated/chord.webm",
    "empty.mp3",
    "loop-a.m3u",
    "page.html",
    "radio/random.mp3",
    "stump.m4a",
  ];
  const open = () => upstream.env.media.requests.filter(({ isOver }) => !isOver);
  const before = await stats();
  for (let round = 0; round < 5; round++) await Promise.all(bad.map((path) => load(path)));
  await expect.poll(open).toEqual([]);
  expect(await stats()).toEqual(before);
  expect(await loadInfo("chord.mp3")).toMatchObject({ title: "Chord" });
});

async function stats(): Promise<{ players: number; playingPlayers: number }> {
  const { body } = await upstream.bot.request<{ players: number; playingPlayers: number }>("GET", "/v4/stats");
  return { players: body.players, playingPlayers: body.playingPlayers };
}

it("a client that disconnects aborts its load: the connection to the site is closed", async () => {
  const path = "hang/chord.mp3?gone";
  const abort = new AbortController();
  const url = `${upstream.env.url}/v4/loadtracks?identifier=${encodeURIComponent(upstream.url(path))}`;
  const headers = { authorization: TEST_PASSWORD };
  const gone = fetch(url, { headers, signal: abort.signal }).catch((error: Error) => error.name);
  await expect.poll(() => upstream.requests(path).length).toBe(1);
  expect(upstream.requests(path)[0]?.isOver).toBe(false);
  abort.abort();
  expect(await gone).toBe("AbortError");
  await expect.poll(() => upstream.requests(path)[0]?.isOver).toBe(true);
});
