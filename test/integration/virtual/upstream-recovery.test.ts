// The server of a track cuts the connection, stalls or ends it too early: as long as the rest of the song is available,
// the listener receives every packet of it, in order and without a gap. In virtual time, and a cut in real time.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ReceivedFrame } from "../../../lab/discord/listener.ts";
import { countedSong, numbersFrom } from "../../../lab/media-files/counted-song.ts";
import { type Answer, type AnswerPlan, DROP, plainPlan, statusPlan } from "../../../lab/media-server/answer-plan.ts";
import { pathsIn, UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";
import { narrating, type VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const SONG = countedSong({ seconds: 3 });
const SONG_PACKETS = numbersFrom(0, 150);
const MIDDLE_BYTES = Math.floor(SONG.length / 2);
/** Complete packets before the middle: a page counts only when it was received to its end. */
const MIDDLE_PACKETS = 50;
const SAMPLES_PER_FRAME = 960;
const STUCK_THRESHOLD_MS = 500;
/** Between the arrivals of two frames: they take 5 to 8 ms. */
const ARRIVAL_MS_MAX = 4;

const WHOLE: AnswerPlan = { ...plainPlan(SONG, "audio/ogg"), headers: { "content-type": "audio/ogg", etag: '"1"' } };
const CUT: AnswerPlan = { ...WHOLE, fault: { kind: "cut", afterBytes: MIDDLE_BYTES } };
const STALLED: AnswerPlan = { ...WHOLE, fault: { kind: "stall", afterBytes: MIDDLE_BYTES, forMs: undefined } };
/** Longer than its tests take, and not ended by `release`. */
const LONG_STALL: AnswerPlan = { ...WHOLE, fault: { kind: "stall", afterBytes: MIDDLE_BYTES, forMs: 8000 } };
const CHUNKED = { framing: "chunked", acceptsRanges: false, headers: { "content-type": "audio/ogg" } } as const;

let upstream: UpstreamTestEnvironment;
let virtual: VirtualTestEnvironment;
const narrated = narrating(() => virtual);

beforeAll(async () => {
  ({ upstream, virtual } = await UpstreamTestEnvironment.startVirtual({
    files: { "song.ogg": SONG },
    config: {
      LAVALINK_SERVER_TRACK_STUCK_THRESHOLD_MS: String(STUCK_THRESHOLD_MS),
      // Longer than any wait here: a stall is to last until the test ends it.
      LAVALINK_SERVER_TIMEOUTS_SOCKET_TIMEOUT_MS: "30000",
    },
  }));
});
afterAll(async () => {
  upstream.env.discord.assertClean();
  await virtual.close();
});

/** x for audio, - for silence frames. */
function kindsOf(frames: readonly ReceivedFrame[]): string {
  return frames.map(({ isSilence }) => (isSilence ? "-" : "x")).join("");
}

async function start(path: string, script: (nth: number) => Answer) {
  return startOn(upstream, path, script);
}

async function startOn(upstream: UpstreamTestEnvironment, path: string, script: (nth: number) => Answer) {
  const guild = await upstream.enterGuild();
  const encoded = await upstream.load(path);
  upstream.answer(path, script);
  await guild.play(encoded);
  return guild;
}

describe("a connection cut halfway", () => {
  it.each<[string, Partial<AnswerPlan>]>([
    ["with ranges", {}],
    ["without ranges but of known length", { acceptsRanges: false }],
    [
      "that says it has ranges and sends the whole",
      { acceptsRanges: false, headers: { ...WHOLE.headers, "accept-ranges": "bytes" } },
    ],
  ])(
    "a connection cut halfway %s: the song continues packet for packet, without a gap",
    narrated(async (name, habit) => {
      const path = `song.ogg?cut ${name}`.replaceAll(" ", "-");
      const guild = await start(path, (nth) => (nth === 0 ? { ...CUT, ...habit } : { ...WHOLE, ...habit }));
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(SONG_PACKETS);
      expect(kindsOf(guild.frames)).toMatch(/^x+-{0,5}$/);
      expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);
      const [load, first, second] = upstream.requests(path);
      expect(load && first && second).toBeDefined();
      if (habit.acceptsRanges === undefined) expect(second?.headers.range).toBe(`bytes=${MIDDLE_BYTES}-`);
    }),
  );

  it(
    "a connection cut on every retry, with one error in between: the song continues all the same",
    narrated(async () => {
      const answers: Answer[] = [CUT, DROP, statusPlan(503), WHOLE];
      const guild = await start("song.ogg?rough", (nth) => answers[nth] ?? WHOLE);
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(SONG_PACKETS);
      expect(guild.eventTypes).not.toContain("TrackExceptionEvent");
    }),
  );

  it(
    "a connection cut without length and ranges: the received part plays, then the client gets an exception and the end",
    narrated(async () => {
      const guild = await start("song.ogg?chunked", () => ({ ...CUT, ...CHUNKED }));
      const exception = await guild.exception();
      expect(exception).toMatchObject({ severity: "suspicious" });
      expect(exception.message).toMatch(
        /^receiving http:\/\/127\.0\.0\.1:\d+\/song\.ogg: the server dropped the connection/,
      );
      expect(exception.message).not.toContain("?");
      expect(pathsIn(exception)).toEqual([]);
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(numbersFrom(0, MIDDLE_PACKETS));
      expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackExceptionEvent", "TrackEndEvent"]);
    }),
  );

  it(
    "a connection cut before another file is served: no audio of the other file is mixed in",
    narrated(async () => {
      const other = { ...WHOLE, headers: { "content-type": "audio/ogg", etag: '"2"' } };
      const guild = await start("song.ogg?changed", (nth) => (nth === 0 ? CUT : other));
      const exception = await guild.exception();
      expect(exception.message).toContain("the file has changed since it was opened");
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(numbersFrom(0, MIDDLE_PACKETS));
    }),
  );

  it(
    "while two play the same address: their one connection is opened again, and both play on",
    narrated(async () => {
      const path = "song.ogg?shared";
      const one = await upstream.enterGuild();
      const two = await upstream.enterGuild();
      const encoded = await upstream.load(path);
      upstream.answer(path, (nth) => (nth === 0 ? CUT : WHOLE));
      await one.play(encoded);
      await two.play(encoded);
      expect([await one.ended(), await two.ended()]).toEqual(["finished", "finished"]);
      expect(one.numbers).toEqual(SONG_PACKETS);
      expect(two.numbers).toEqual(SONG_PACKETS);
      expect(upstream.requests(path)).toHaveLength(3);
    }),
  );
});

describe("a server that stalls halfway", () => {
  it(
    "a stalled server is reported once after the threshold, silence is sent, and the song continues with the data",
    narrated(async () => {
      const guild = await start("song.ogg?stall", () => STALLED);
      expect(await guild.event("TrackStuckEvent")).toMatchObject({ thresholdMs: STUCK_THRESHOLD_MS });
      expect(guild.numbers).toEqual(numbersFrom(0, MIDDLE_PACKETS));
      const { position } = (await upstream.bot.player(guild.guildId)).state;
      expect(position).toBeGreaterThanOrEqual(980);
      expect(position).toBeLessThanOrEqual(1020);

      upstream.env.media.release();
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(SONG_PACKETS);
      expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackStuckEvent", "TrackEndEvent"]);

      // Audio, five silence frames, audio: RTP sequence without a gap, RTP time in step with the wall clock.
      const kinds = kindsOf(guild.frames);
      expect(kinds).toMatch(/^x{50}-{5}x{100}-{0,5}$/);
      const sequences = guild.frames.map(({ sequence }) => sequence);
      // frames arrived
      expect(sequences).toEqual(numbersFrom(sequences[0]!, sequences[0]! + sequences.length).map((n) => n & 0xffff));
      const lastSilence = kinds.indexOf("-x");
      const before = guild.frames[lastSilence]!; // matched above
      const after = guild.frames[lastSilence + 1]!;
      const rtpMs = ((after.timestamp - before.timestamp) / SAMPLES_PER_FRAME) * 20;
      expect(Math.abs(rtpMs - (after.arrivalMs - before.arrivalMs))).toBeLessThan(ARRIVAL_MS_MAX);
    }),
  );

  it(
    "can be left by stopping, by the next track and by destroying",
    narrated(async () => {
      const next = await upstream.load("song.ogg?next");
      const guilds = await Promise.all(["a", "b", "c"].map((name) => start(`song.ogg?left-${name}`, () => LONG_STALL)));
      // three
      const [stopped, replaced, destroyed] = guilds as [(typeof guilds)[0], (typeof guilds)[0], (typeof guilds)[0]];
      await Promise.all(guilds.map((guild) => guild.receives(MIDDLE_PACKETS)));
      await stopped.update({ track: { encoded: null } });
      expect(await stopped.ended()).toBe("stopped");
      await replaced.play(next);
      expect(await replaced.ended()).toBe("replaced");
      await upstream.bot.destroy(destroyed.guildId);
      expect(await destroyed.ended()).toBe("stopped");
      await replaced.receives(MIDDLE_PACKETS + 150);
      expect(replaced.numbers).toEqual([...numbersFrom(0, MIDDLE_PACKETS), ...SONG_PACKETS]);
      const left = ["a", "b", "c"].flatMap((name) => upstream.requests(`song.ogg?left-${name}`));
      await virtual.until(() => left.every(({ isOver }) => isOver), "end of the stalled connections");
    }),
  );

  it(
    "does not hinder a seek into what it would send",
    narrated(async () => {
      const guild = await start("song.ogg?seek", (nth) => (nth === 0 ? LONG_STALL : WHOLE));
      await guild.receives(MIDDLE_PACKETS);
      await guild.update({ position: 2000 });
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers.slice(MIDDLE_PACKETS)).toEqual(numbersFrom(100, 150));
    }),
  );
});

it("a cut connection is opened again in real time", { tags: ["real-time"] }, async () => {
  const real = await UpstreamTestEnvironment.start({ files: { "song.ogg": SONG } });
  const guild = await startOn(real, "song.ogg?real", (nth) => (nth === 0 ? CUT : WHOLE));
  expect(await guild.ended()).toBe("finished");
  expect(guild.numbers).toEqual(SONG_PACKETS);
  real.env.discord.assertClean();
  await real.close();
});
