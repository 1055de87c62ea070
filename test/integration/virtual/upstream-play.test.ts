// A track loads and has changed by the time it is played: gone, forbidden, garbage, cut short, another format. The
// client receives the error events in the right order, and the listener all available audio. In virtual time.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noise } from "../../../lab/isolation/generators/mutate.ts";
import { countedSong, numbersFrom } from "../../../lab/media-files/counted-song.ts";
import { type Answer, type AnswerPlan, DROP, plainPlan, statusPlan } from "../../../lab/media-server/answer-plan.ts";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { readMediaFixture } from "../../support/media-fixture.ts";
import { pathsIn, UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";
import { narrating, type VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const SECRET = "hunter2";
const GARBAGE = noise(5000, seededRandom(1));
const SONG = countedSong({ seconds: 2 });
/** Three of its four pages end before this byte. */
const THREE_PAGES_BYTES = 8000;
const THREE_PAGES = numbersFrom(0, 75);
/** Longer than the sockets' buffers: the server is still sending as long as the connection exists. */
const LONG_SONG = countedSong({ seconds: 200, packetBytes: 1200 });
const CHORD_MP3 = readFileSync(new URL("../../fixtures/media/chord.mp3", import.meta.url));

const text = (body: string): AnswerPlan => plainPlan(Buffer.from(body), undefined);

let upstream: UpstreamTestEnvironment;
let virtual: VirtualTestEnvironment;
const narrated = narrating(() => virtual);

beforeAll(async () => {
  ({ upstream, virtual } = await UpstreamTestEnvironment.startVirtual({
    files: { "song.ogg": SONG, "chord.mp3": CHORD_MP3, "chained.ogg": readMediaFixture("chained.ogg") },
  }));
});
afterAll(async () => {
  upstream.env.discord.assertClean();
  await virtual.close();
});

/** Loads the song, then plays it from a server that has thought better of it. */
async function start(path: string, script: (nth: number) => Answer) {
  const guild = await upstream.enterGuild();
  const encoded = await upstream.load(path);
  upstream.answer(path, script);
  await guild.play(encoded);
  return guild;
}

describe("a track that cannot be played any more", () => {
  it.each<[string, string, RegExp, Answer]>([
    ["gone", "common", /^loading http:\/\/[^?]*: nothing there \(HTTP 404\)$/, statusPlan(404)],
    ["forbidden", "suspicious", /^loading .*HTTP 403; the link may have expired or need a login$/, statusPlan(403)],
    ["broken", "suspicious", /^loading .*: the server answered HTTP 500$/, statusPlan(500)],
    ["garbage", "common", /^unknown file format/, plainPlan(GARBAGE, "audio/ogg")],
    ["empty", "common", /^unknown file format: the file is empty$/, text("")],
    ["a web page", "common", /web page/, text("<html><title>Sorry</title></html>")],
    ["a text", "common", /text file/, text("Too many requests")],
    ["dropped", "suspicious", /^connecting to .*: the server dropped the connection$/, DROP],
    ["a loop", "suspicious", /more than 20 redirects$/, { ...statusPlan(302), headers: { location: "/loop" } }],
  ])(
    "%s: exception (%s) and loadFailed, and no audio",
    narrated(async (name, severity, message, answer) => {
      const guild = await start(`song.ogg?token=${SECRET}&case=${name.replaceAll(" ", "-")}`, () => answer);
      const exception = await guild.exception();
      expect(exception.severity).toBe(severity);
      expect(exception.message).toMatch(message);
      expect(exception.cause).toMatch(/^\w*Error: ./);
      expect(JSON.stringify(exception)).not.toContain(SECRET);
      expect(pathsIn(exception)).toEqual([]);
      expect(await guild.ended()).toBe("loadFailed");
      expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackExceptionEvent", "TrackEndEvent"]);
      expect(guild.audio).toEqual([]);
      expect((await upstream.bot.player(guild.guildId)).track).toBeNull();
    }),
  );

  it(
    "leaves the player ready for the next one",
    narrated(async () => {
      const guild = await start("song.ogg?first", () => statusPlan(404));
      expect(await guild.ended()).toBe("loadFailed");
      await guild.play(await upstream.load("song.ogg?second"));
      await guild.receives(100);
      expect(guild.numbers).toEqual(numbersFrom(0, 100));
    }),
  );
});

describe("a file that is less than it says", () => {
  it(
    "a file that was cut short plays to its end, and the track has finished",
    narrated(async () => {
      const guild = await start("song.ogg?cut-short", () =>
        plainPlan(SONG.subarray(0, THREE_PAGES_BYTES), "audio/ogg"),
      );
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(THREE_PAGES);
      expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);
    }),
  );

  it(
    "damaged in the middle: only the damaged page is missing",
    narrated(async () => {
      const damaged = Buffer.from(SONG);
      damaged.fill(0x55, 4000, 4100);
      const guild = await start("song.ogg?damaged", () => plainPlan(damaged, "audio/ogg"));
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual([...numbersFrom(0, 25), ...numbersFrom(50, 100)]);
    }),
  );

  it(
    "a file that changes to another container plays up to there, and the track ends",
    narrated(async () => {
      const mixed = Buffer.concat([SONG.subarray(0, THREE_PAGES_BYTES), CHORD_MP3]);
      const guild = await start("song.ogg?mixed", () => plainPlan(mixed, "audio/ogg"));
      expect(await guild.ended()).toBe("finished");
      expect(guild.numbers).toEqual(THREE_PAGES);
    }),
  );

  it(
    "a file that changes to another codec plays both parts",
    narrated(async () => {
      const guild = await upstream.enterGuild();
      await guild.play(await upstream.load("chained.ogg"));
      expect(await guild.ended()).toBe("finished");
      // Two seconds of Opus and two of Vorbis, of which the last frame may be padding.
      expect(guild.audio.length).toBeGreaterThanOrEqual(199);
      expect(guild.audio.length).toBeLessThanOrEqual(202);
    }),
  );
});

it(
  "a server that never sends the second half is given up after its retries, reported once",
  narrated(async () => {
    const half: AnswerPlan = { ...plainPlan(SONG, "audio/ogg"), fault: { kind: "cut", afterBytes: THREE_PAGES_BYTES } };
    const guild = await start("song.ogg?half", () => ({ ...half, acceptsRanges: false }));
    const exception = await guild.exception(40_000);
    expect(exception).toMatchObject({
      severity: "suspicious",
      message: expect.stringMatching(/dropped the connection/),
    });
    expect(await guild.ended()).toBe("finished");
    expect(guild.numbers).toEqual(THREE_PAGES);
    expect(guild.eventTypes.filter((type) => type !== "TrackStuckEvent")).toEqual([
      "TrackStartEvent",
      "TrackExceptionEvent",
      "TrackEndEvent",
    ]);
    expect(upstream.requests("song.ogg?half")).toHaveLength(1 + 7);
  }),
);

it(
  "a paused player closes its connection, and continues at the exact packet when resumed",
  narrated(async () => {
    const path = "long.ogg?paused";
    upstream.answer(path, () => plainPlan(LONG_SONG, "audio/ogg"));
    const guild = await upstream.enterGuild();
    const encoded = await upstream.load(path);
    const loadRequests = upstream.requests(path).length;
    await guild.play(encoded);
    await guild.receives(25);
    await guild.update({ paused: true });
    const playing = upstream.requests(path)[loadRequests];
    expect(playing?.isOver).toBe(false);
    await virtual.until(() => playing?.isOver === true, "end of the paused player's connection");
    const receivedBefore = guild.audio.length;
    expect(receivedBefore).toBeLessThan(100);
    await guild.update({ paused: false });
    // Further than the read-ahead before the pause.
    await guild.receives(receivedBefore + 620);
    expect(guild.numbers).toEqual(numbersFrom(0, guild.numbers.length));
    expect(upstream.requests(path)).toHaveLength(loadRequests + 2);
    expect(guild.eventTypes).toEqual(["TrackStartEvent"]);
  }),
);
