// Streams: stations that drop and come back, live and encrypted HLS, and what a bot sees of them. In virtual time.

import { createDecipheriv } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countedSong, numbersFrom } from "../../../lab/media-files/counted-song.ts";
import { HANG, plainPlan, statusPlan } from "../../../lab/media-server/answer-plan.ts";
import { BEHAVIOURS } from "../../../lab/media-server/behaviours.ts";
import { finishedHls, LiveHls } from "../../../lab/media-server/hls.ts";
import type { LoggedRequest } from "../../../lab/media-server/media-server.ts";
import { UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";
import { narrating, type VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

/** Segments of a second; number n holds the packets from 50 n on. */
const SEGMENTS = Array.from({ length: 12 }, (_, index) => ({
  name: `${index}.ogg`,
  bytes: countedSong({ seconds: 1, firstNumber: 50 * index, packetBytes: 400 }),
  seconds: 1,
}));
const KEY = Buffer.alloc(16, 1);
const SEALED = finishedHls(SEGMENTS.slice(0, 4), { key: KEY });
const live = new LiveHls(SEGMENTS, 5);
let upstream: UpstreamTestEnvironment;
let virtual: VirtualTestEnvironment;
const narrated = narrating(() => virtual);

beforeAll(async () => {
  ({ upstream, virtual } = await UpstreamTestEnvironment.startVirtual({
    files: {
      ...inFolder("plain", finishedHls(SEGMENTS.slice(0, 4))),
      ...inFolder("sealed", SEALED),
      ...inFolder("wrong-key", { ...SEALED, "hls.key": wrongKey({ isPaddingValid: false }) }),
      ...inFolder("key-of-right-padding", {
        ...finishedHls(SEGMENTS.slice(0, 1), { key: KEY }),
        "hls.key": wrongKey({ isPaddingValid: true }),
      }),
      ...inFolder("short-key", { ...SEALED, "hls.key": "short" }),
      ...inFolder("gap", finishedHls(SEGMENTS.slice(0, 4))),
      "master.m3u8": "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=64000\nsealed/index.m3u8\n",
      "station.ogg": SEGMENTS[0]?.bytes ?? "",
    },
    fallback: live.answer,
  }));
});
afterAll(async () => {
  upstream.env.discord.assertClean();
  await virtual.close();
});

function inFolder(
  folder: string,
  files: Readonly<Record<string, Uint8Array | string>>,
): Record<string, Uint8Array | string> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));
}

/** A key that is not KEY, by whether the padding of the first segment looks right with it: so it does in one of 256. */
function wrongKey({ isPaddingValid }: { readonly isPaddingValid: boolean }): Uint8Array {
  for (let number = 0; ; number++) {
    const key = Buffer.alloc(16);
    key.writeUInt32BE(number);
    const decipher = createDecipheriv("aes-128-cbc", key, Buffer.alloc(16));
    decipher.update(Buffer.from(SEALED["0.ogg"] ?? ""));
    try {
      decipher.final();
      if (isPaddingValid) return key;
    } catch {
      if (!isPaddingValid) return key;
    }
  }
}

async function loadTrack(path: string): Promise<{ encoded: string; info: Record<string, unknown> }> {
  const { body } = await upstream.bot.load(upstream.url(path));
  expect(body).toMatchObject({ loadType: "track" });
  return body.data as { encoded: string; info: Record<string, unknown> }; // a track, as just seen
}

describe("a station", () => {
  const broadcast = (second: number, { headers, path, earlierRequests }: LoggedRequest) =>
    // a few seconds only
    BEHAVIOURS.icy?.({ file: SEGMENTS[second]!.bytes, mimeType: "audio/ogg", path, headers, earlierRequests });

  it(
    "that drops its listeners is joined again at once, and again after a refusal",
    narrated(async () => {
      const path = "station.ogg?live";
      upstream.answer(path, (_nth, request) => broadcast(0, request));
      const { encoded, info } = await loadTrack(path);
      expect(info).toMatchObject({ isStream: true, isSeekable: false, title: "Tones all day", author: "Test Station" });
      // Dropped twice, refused once, then no more data arrives.
      upstream.answer(
        path,
        (nth, request) =>
          [broadcast(0, request), broadcast(1, request), statusPlan(503), broadcast(2, request)][nth] ?? HANG,
      );
      const guild = await upstream.enterGuild();
      await guild.play(encoded);
      await guild.receives(150);
      expect(guild.numbers).toEqual(numbersFrom(0, 150));
      expect(guild.eventTypes).toEqual(["TrackStartEvent"]);
      await guild.update({ track: { encoded: null } });
      expect(await guild.ended()).toBe("stopped");
    }),
  );

  it(
    "a live stream whose server closes for good ends after the audio sent",
    narrated(async () => {
      const path = "station.ogg?closes";
      upstream.answer(path, (_nth, request) => broadcast(0, request));
      const { encoded } = await loadTrack(path);
      upstream.answer(path, (nth, request) => (nth === 0 ? broadcast(0, request) : statusPlan(404)));
      const guild = await upstream.enterGuild();
      await guild.play(encoded);
      expect((await guild.exception()).message).toContain("HTTP 404");
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(numbersFrom(0, 50));
    }),
  );
});

describe("HLS", () => {
  it.each(["plain/index.m3u8", "sealed/index.m3u8", "master.m3u8"])(
    "%s, finished: has a length, arrives packet for packet, and can be sought",
    narrated(async (path) => {
      const { encoded, info } = await loadTrack(path);
      expect(info).toMatchObject({ isStream: false, isSeekable: true, length: 4000 });
      const guild = await upstream.enterGuild();
      await guild.play(encoded);
      await guild.receives(75);
      await guild.update({ position: 3000 });
      expect(await guild.ended()).toBe("finished");
      const jumpAt = guild.numbers.findIndex((number, index) => number !== index);
      expect(guild.numbers.slice(0, jumpAt)).toEqual(numbersFrom(0, jumpAt));
      expect(guild.numbers.slice(jumpAt)).toEqual(numbersFrom(150, 200));
    }),
  );

  it.each(["wrong-key/index.m3u8", "key-of-right-padding/index.m3u8", "short-key/index.m3u8"])(
    "%s: an error that names the key",
    narrated(async (path) => {
      const { body } = await upstream.bot.load(upstream.url(path));
      expect(body).toMatchObject({ loadType: "error", data: { message: expect.stringContaining("key") } });
    }),
  );

  it(
    "a missing HLS segment is skipped, and the stream continues",
    narrated(async () => {
      const { encoded } = await loadTrack("gap/index.m3u8");
      upstream.answer("gap/1.ogg", () => statusPlan(404));
      const guild = await upstream.enterGuild();
      await guild.play(encoded);
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual([...numbersFrom(0, 50), ...numbersFrom(100, 200)]);
      expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);
    }),
  );

  it(
    "a segment that fails for a moment is asked for again",
    narrated(async () => {
      const { encoded } = await loadTrack("plain/index.m3u8?again");
      // there are twelve
      upstream.answer("plain/2.ogg", (nth) => (nth === 0 ? statusPlan(500) : plainPlan(SEGMENTS[2]!.bytes, undefined)));
      const guild = await upstream.enterGuild();
      await guild.play(encoded);
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(numbersFrom(0, 200));
    }),
  );

  it(
    "live: joined near its edge, followed as it grows, ended with it",
    narrated(async () => {
      const { encoded, info } = await loadTrack("live/index.m3u8");
      expect(info).toMatchObject({ isStream: true, isSeekable: false });
      const guild = await upstream.enterGuild();
      await guild.play(encoded);
      for (let receivedSeconds = 1; receivedSeconds <= 4; receivedSeconds++) {
        await guild.receives(receivedSeconds * 50);
        live.advance(1);
      }
      live.end();
      expect(await guild.ended()).toBe("finished");
      // A window of five seconds, joined three before its end: from the third segment up to the ninth.
      expect(guild.numbers).toEqual(numbersFrom(100, 450));
      expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);
    }),
  );
});
