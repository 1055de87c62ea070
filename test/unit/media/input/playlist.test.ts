import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { MediaServer } from "../../../../lab/media-server/media-server.ts";
import type { PlayableInput } from "../../../../src/bridge/playable-input.ts";
import { openInput } from "../../../../src/media/input/open-input.ts";
import { type PlaylistTarget, readPlaylist } from "../../../../src/media/input/playlist.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps, patternBytes } from "../../../support/input-builders.ts";

const FILES = {
  "lists/one.m3u": "#EXTM3U\n#EXTINF:1,A title\nsong.mp3\n",
  "lists/one.pls": "[playlist]\nFile1=http://radio.example/live\n",
  "lists/private.m3u": "#EXTM3U\nhttp://10.0.0.1/song.mp3\n",
  "live.m3u8": `#EXTM3U\n${"# padding\n".repeat(300)}#EXT-X-TARGETDURATION:5\n#EXTINF:5,\na.ts\n`,
  "song.mp3": patternBytes(100_000),
  "empty.m3u": "#EXTM3U\n",
};

let server: MediaServer;
let folder: string;
let cleanups: (() => void)[] = [];

beforeAll(async () => {
  server = await MediaServer.start({ files: FILES });
  folder = realpathSync(mkdtempSync(join(tmpdir(), "playlist-")));
  writeFileSync(join(folder, "list.m3u"), "song.mp3\n#EXTM3U");
  writeFileSync(join(folder, "list2.m3u"), "#EXTM3U\nsong.mp3");
  writeFileSync(join(folder, "hls.m3u8"), FILES["live.m3u8"]);
});

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

afterEach(() => {
  for (const cleanup of cleanups) cleanup();
  cleanups = [];
});

async function read(location: string): Promise<PlaylistTarget | undefined> {
  const isLocal = location.startsWith(folder);
  const input: PlayableInput = isLocal
    ? { kind: "local", path: location, container: undefined }
    : { kind: "http", url: `${server.url}${location}`, container: undefined };
  const deps = createInputDeps({ clock: new FakeClock(), settings: { localRoots: [folder] } });
  const opened = await openInput(input, deps);
  cleanups.push(
    () => opened.source.close(),
    () => deps.client.close(),
  );
  return readPlaylist(input, opened);
}

it("a list returns its first link, relative to the list's final address", async () => {
  expect(await read("/to?/lists/one.m3u")).toEqual({
    kind: "link",
    input: { kind: "http", url: `${server.url}/lists/song.mp3`, container: undefined },
    title: "A title",
  });
  expect(await read("/lists/one.pls")).toMatchObject({ input: { url: "http://radio.example/live" } });
});

it("an HLS playlist is distinguished from a list by any of its tags", async () => {
  const url = new URL("/live.m3u8", server.url);
  expect(await read("/live.m3u8")).toEqual({ kind: "hls", url, originUrl: url });
});

it("an HLS playlist behind a redirect is opened there, as the redirect may work once", async () => {
  expect(await read("/to?/live.m3u8")).toEqual({
    kind: "hls",
    url: new URL("/live.m3u8", server.url),
    originUrl: new URL("/to?/live.m3u8", server.url),
  });
});

it("media is not a playlist, and an empty list is an error", async () => {
  expect(await read("/song.mp3")).toBeUndefined();
  await expect(read("/empty.m3u")).rejects.toMatchObject({ code: "playlist-empty" });
});

it("a private link is refused when it is loaded", async () => {
  const playlist = await read("/lists/private.m3u");
  if (playlist?.kind !== "link") throw new Error("no link");
  const deps = createInputDeps({ clock: new FakeClock() });
  await expect(openInput(playlist.input, deps)).rejects.toMatchObject({ code: "address-refused" });
  deps.client.close();
});

it("local lists lead to local files, and local HLS fails with an explanation", async () => {
  expect(await read(join(folder, "list2.m3u"))).toMatchObject({
    input: { kind: "local", path: join(folder, "song.mp3") },
  });
  expect(await read(join(folder, "list.m3u"))).toBeUndefined();
  await expect(read(join(folder, "hls.m3u8"))).rejects.toMatchObject({ code: "hls-unsupported" });
});
