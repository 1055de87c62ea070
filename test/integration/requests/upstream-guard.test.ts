// Nothing a bot or a server hands in brings the node to a private address or to a file outside its folders: not links,
// not redirects, lists, streams, keys, nor encoded tracks. Only 127.0.0.1 is allowed here; 127.0.0.2 and others are
// not.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countedSong, numbersFrom } from "../../../lab/media-files/counted-song.ts";
import { statusPlan } from "../../../lab/media-server/answer-plan.ts";
import type { LoadView } from "../../../lab/test-environment/bot.ts";
import { createTrack } from "../../../src/track/track.ts";
import { buildTrack } from "../../support/track-builder.ts";
import { type ExceptionView, UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";

/** Lets nothing out to other machines, should the guard ever fail. */
const RECORDING_AUDIO = new URL("../../support/worker-scripts/recording-audio.mjs", import.meta.url);
const RECORDING_PROBE = new URL("../../support/worker-scripts/recording-probe.mjs", import.meta.url);
const SONG = countedSong({ seconds: 1 });
const SEGMENT_HEAD = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n";
const REFUSED =
  /^(?:opening an HLS stream: no segment of it can be played: )?connecting to .+ refused: not a public address; .* tonearm\.network\.allow$/;
const OUTSIDE = /not a regular file below an allowed folder \(tonearm\.local\.roots\)$/;

/** Listens at a forbidden address; counts every connection. */
let forbidden: Server;
let forbiddenPort: number;
let visitorCount = 0;
let folder: string;
let upstream: UpstreamTestEnvironment;

beforeAll(async () => {
  forbidden = createServer((socket) => {
    visitorCount++;
    socket.destroy();
  });
  // The whole of 127.0.0.0/8 and ::1 end here.
  await new Promise<void>((resolve) => forbidden.listen(0, resolve));
  const address = forbidden.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  forbiddenPort = address.port;
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tonearm-guard-")));
  makeFolders();
  upstream = await UpstreamTestEnvironment.start({
    mediaEntry: RECORDING_AUDIO,
    probeEntry: RECORDING_PROBE,
    files: filesOf(`http://127.0.0.2:${forbiddenPort}`),
    config: {
      TONEARM_NETWORK_ALLOW: "127.0.0.1/32",
      LAVALINK_SERVER_SOURCES_LOCAL: "true",
      TONEARM_LOCAL_ROOTS: join(folder, "music"),
    },
  });
});
afterAll(async () => {
  await upstream.close();
  await new Promise((resolve) => forbidden.close(resolve));
  rmSync(folder, { recursive: true });
});

function makeFolders(): void {
  mkdirSync(join(folder, "music", "album"), { recursive: true });
  mkdirSync(join(folder, "music2"));
  writeFileSync(join(folder, "music", "song.ogg"), SONG);
  writeFileSync(join(folder, "music", "list.m3u"), "#EXTM3U\nalbum/../song.ogg\n");
  writeFileSync(join(folder, "music", "escape.m3u"), "#EXTM3U\n../secret.ogg\n");
  writeFileSync(join(folder, "secret.ogg"), SONG);
  writeFileSync(join(folder, "music2", "secret.ogg"), SONG);
  symlinkSync(join(folder, "secret.ogg"), join(folder, "music", "link.ogg"));
  symlinkSync(folder, join(folder, "music", "up"));
  symlinkSync(join(folder, "music", "song.ogg"), join(folder, "music", "album", "inside.ogg"));
}

/** Playlists that link to `there`. */
function filesOf(there: string): Record<string, string | Uint8Array> {
  return {
    "song.ogg": SONG,
    "list.m3u": `#EXTM3U\n${there}/song.ogg\n`,
    "list.pls": `[playlist]\nFile1=${there}/song.ogg\n`,
    "list.txt": `${there}/song.ogg\n`,
    "file.m3u": "#EXTM3U\nfile:///etc/passwd\n",
    "path.pls": "[playlist]\nFile1=/etc/passwd\n",
    "master.m3u8": `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=96000\n${there}/media.m3u8\n`,
    "segment.m3u8": `${SEGMENT_HEAD}#EXTINF:1,\n${there}/0.ts\n#EXT-X-ENDLIST\n`,
    "map.m3u8": `${SEGMENT_HEAD}#EXT-X-MAP:URI="${there}/init.mp4"\n#EXTINF:1,\nsong.ogg\n#EXT-X-ENDLIST\n`,
    "key.m3u8": `${SEGMENT_HEAD}#EXT-X-KEY:METHOD=AES-128,URI="${there}/key"\n#EXTINF:1,\nsong.ogg\n#EXT-X-ENDLIST\n`,
    "redirected-segment.m3u8": `${SEGMENT_HEAD}#EXTINF:1,\nto?${there}/0.ts\n#EXT-X-ENDLIST\n`,
    "file-segment.m3u8": `${SEGMENT_HEAD}#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n`,
  };
}

async function load(identifier: string): Promise<{ loadType: LoadView["loadType"]; data: ExceptionView }> {
  const { body } = await upstream.bot.load(identifier);
  return { loadType: body.loadType, data: body.data as ExceptionView }; // checked only for errors
}

describe("an address that is not public", () => {
  it.concurrent.each([
    "http://127.0.0.2:PORT/song.ogg",
    "http://127.1.2.3:PORT/",
    "http://127.2:PORT/",
    "http://2130706434:PORT/",
    "http://0x7f000002:PORT/",
    "http://0177.0.0.2:PORT/",
    "http://0.0.0.0:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.2]:PORT/",
    "http://[::ffff:7f00:2]:PORT/",
    "icy://127.0.0.2:PORT/",
    "https://127.0.0.2:PORT/",
    "http://user:password@127.0.0.2:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.0.1/",
    "http://172.16.0.1/",
    "http://100.64.0.1/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
  ])("%s is refused", async (address) => {
    const { loadType, data } = await load(address.replace("PORT", String(forbiddenPort)));
    expect(loadType).toBe("error");
    expect(data.severity).toBe("common");
    expect(data.message).toMatch(REFUSED);
  });

  it.concurrent.each([
    "list.m3u",
    "list.pls",
    "list.txt",
    "master.m3u8",
    "segment.m3u8",
    "map.m3u8",
    "key.m3u8",
    "redirected-segment.m3u8",
    "to?http://127.0.0.2:PORT/song.ogg",
    "to?http%3A%2F%2F[%3A%3A1]:PORT/song.ogg",
    "to?/to?http://10.0.0.1/song.ogg",
  ])("a private address reached by %s is refused", async (path) => {
    const { loadType, data } = await load(upstream.url(path.replace("PORT", String(forbiddenPort))));
    expect(loadType).toBe("error");
    expect(data.message).toMatch(REFUSED);
  });

  it.concurrent("a private address in an encoded track is refused when it is played", async () => {
    const guild = await upstream.enterGuild();
    const identifier = `http://127.0.0.2:${forbiddenPort}/song.ogg`;
    await guild.play(buildTrack({ identifier }).encoded);
    expect(await guild.exception()).toMatchObject({ severity: "common", message: expect.stringMatching(REFUSED) });
    expect(await guild.ended()).toBe("loadFailed");
    expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackExceptionEvent", "TrackEndEvent"]);
  });

  it.concurrent("an address that an allowed server redirects to only later is refused when it is played", async () => {
    const path = "song.ogg?turns";
    const guild = await upstream.enterGuild();
    const encoded = await upstream.load(path);
    upstream.answer(path, () => redirectTo(`http://127.0.0.2:${forbiddenPort}/song.ogg`));
    await guild.play(encoded);
    expect((await guild.exception()).message).toMatch(REFUSED);
    expect(await guild.ended()).toBe("loadFailed");
  });
});

describe("a file of this machine", () => {
  it.concurrent.each(["file.m3u", "path.pls", "file-segment.m3u8", "to?file:///etc/passwd"])(
    "named by a server (%s) is not read",
    async (path) => {
      const { loadType } = await load(upstream.url(path));
      expect(["error", "empty"]).toContain(loadType);
    },
  );

  it.concurrent.each([
    "secret.ogg",
    "music/../secret.ogg",
    "music2/secret.ogg",
    "music/link.ogg",
    "music/up/secret.ogg",
    "missing.ogg",
  ])("a file outside the roots (%s) is refused, whether it exists or not", async (path) => {
    const { loadType, data } = await load(`${folder}/${path}`);
    expect({ loadType, severity: data.severity }).toEqual({ loadType: "error", severity: "common" });
    expect(data.message).toMatch(OUTSIDE);
    expect(JSON.stringify(data)).not.toContain(folder);
  });

  it.concurrent.each(["/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/environ", "../../../../etc/passwd"])(
    "%s is refused",
    async (path) => {
      const { loadType, data } = await load(path);
      expect(loadType).toBe("error");
      expect(data.message).toMatch(OUTSIDE);
    },
  );

  it.concurrent("a file outside the roots is refused when a list inside them names it", async () => {
    const { loadType, data } = await load(join(folder, "music", "escape.m3u"));
    expect(loadType).toBe("error");
    expect(data.message).toMatch(OUTSIDE);
  });

  it.concurrent.each([
    ["music/album", "empty"],
    ["music", "empty"],
    ["music/nothing.ogg", "empty"],
    ["music/song.ogg", "track"],
    ["music/album/inside.ogg", "track"],
    ["music/album/../song.ogg", "track"],
    ["music/list.m3u", "track"],
  ])("a file inside the roots, %s, is %s", async (path, loadType) => {
    expect((await load(`${folder}/${path}`)).loadType).toBe(loadType);
  });

  it.concurrent("a file may be named relative to the folder that the node was started in", async () => {
    const path = relative(process.cwd(), join(folder, "music", "song.ogg"));
    expect((await load(path)).loadType).toBe("track");
  });

  it.concurrent.each([
    "secret.ogg",
    "music/../secret.ogg",
    "music/link.ogg",
    "music/up/secret.ogg",
    "music",
    "music/gone.ogg",
  ])("a forbidden file in an encoded track (%s) is not played", async (path) => {
    const guild = await upstream.enterGuild();
    await guild.play(localTrack(`${folder}/${path}`));
    const exception = await guild.exception();
    expect(exception).toMatchObject({ severity: "common", message: expect.stringMatching(/^opening a local file: /) });
    expect(exception.causeStackTrace).not.toContain(folder);
    expect(await guild.ended()).toBe("loadFailed");
    expect(guild.audio).toEqual([]);
  });

  it.concurrent("a file inside the roots is played", async () => {
    const guild = await upstream.enterGuild();
    await guild.play(localTrack(join(folder, "music", "album", "inside.ogg")));
    expect(await guild.ended()).toBe("finished");
    await guild.untilSilent();
    expect(guild.numbers).toEqual(numbersFrom(0, 50));
  });
});

it("with the local source off, no file is found and none is played", async () => {
  const path = join(folder, "music", "song.ogg");
  const other = await UpstreamTestEnvironment.start({
    config: { LAVALINK_SERVER_SOURCES_LOCAL: "false", TONEARM_LOCAL_ROOTS: join(folder, "music") },
  });
  try {
    expect((await other.bot.load(path)).body).toEqual({ loadType: "empty", data: null });
    const guild = await other.enterGuild();
    await guild.play(localTrack(path));
    expect((await guild.exception()).message).toContain("not available on this node: local");
    expect(await guild.ended()).toBe("loadFailed");
  } finally {
    await other.close();
  }
});

it("the forbidden port received no connection", () => {
  expect(visitorCount).toBe(0);
});

function localTrack(path: string): string {
  const { info } = buildTrack({ identifier: path, sourceName: "local" });
  return createTrack(info, { kind: "probe", probeInfo: "ogg" }).encoded;
}

function redirectTo(location: string) {
  return { ...statusPlan(302), headers: { location } };
}
