import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import type { Stereo } from "../../../../opus-encoder/lab/ear-model.ts";
import { encoderKindOf } from "../../../../opus-encoder/lab/encoders.ts";
import { EncoderJudge, type Judgement } from "../../../../opus-encoder/lab/judge.ts";
import { delayOf, roundTrip } from "../../../../opus-encoder/lab/round-trip.ts";
import { ENCODER_DELAY_SAMPLES } from "../../../../src/media/format/audio-format.ts";
import { beatSong, chordSong, noiseSong } from "../../../support/judged-songs.ts";

const SONGS = { chord: chordSong(1.5), beat: beatSong(1.5), noise: noiseSong(1.5) };
const names = Object.keys(SONGS) as (keyof typeof SONGS)[]; // these are its keys
/** Judged from here on. */
const LEAD_SAMPLES = 24_000;
const judge = new EncoderJudge();

function judged(song: Stereo, coded: Stereo): Judgement {
  judge.setOriginal(song);
  return judge.judge(coded, LEAD_SAMPLES);
}

async function throughLibopus(song: Stereo, complexity: number, bitrateBps: number): Promise<Stereo> {
  const kind = encoderKindOf(`libopus:${complexity}`);
  const passage = { audio: song, bitrateBps, delaySamples: ENCODER_DELAY_SAMPLES, countedFrom: LEAD_SAMPLES };
  return (await roundTrip(kind, passage)).audio;
}

test("the delay of an encoder is measured from its output", async () => {
  expect(await delayOf(encoderKindOf("libopus:0"))).toBe(ENCODER_DELAY_SAMPLES);
});

test.each(names)("a %s that is returned unchanged is indistinguishable from the original", (name) => {
  const { scores } = judged(SONGS[name], SONGS[name]);
  expect(scores.noiseToMaskDb).toBeLessThan(-100);
  expect(scores.audibleSteps).toBe(0);
  expect(scores.modulationDifference).toBe(0);
  expect(scores.dissimilarity).toBeLessThan(1e-6);
});

test.each(names)("both measures detect every step from 64 to 192 kbit/s in a %s", async (name) => {
  const scores = [];
  for (const bitrateBps of [64_000, 96_000, 128_000, 192_000]) {
    scores.push(judged(SONGS[name], await throughLibopus(SONGS[name], 10, bitrateBps)).scores);
  }
  for (const measure of ["noiseToMaskDb", "dissimilarity"] as const) {
    const values = scores.map((score) => score[measure]);
    expect(values).toEqual(values.toSorted((a, b) => b - a));
  }
});

test("an encoder without transient detection scores worse at a beat", async () => {
  const [careless, careful] = [
    judged(SONGS.beat, await throughLibopus(SONGS.beat, 0, 96_000)).scores,
    judged(SONGS.beat, await throughLibopus(SONGS.beat, 5, 96_000)).scores,
  ];
  expect(careless.noiseToMaskDb).toBeGreaterThan(careful.noiseToMaskDb);
  expect(careless.dissimilarity).toBeGreaterThan(careful.dissimilarity);
});

/** Faults of an encoder, on top of those of libopus. */
const FAULTS: Readonly<Record<string, (coded: Stereo) => Stereo>> = {
  "noise added on the right": ([left, right]) => {
    const random = seededRandom(3);
    return [left, right.map((value) => value + 0.02 * (random() - 0.5))];
  },
  "the sides mixed": ([left, right]) => {
    const middle = left.map((value, at) => (value + right[at]!) / 2);
    return [middle, middle];
  },
  "beats smeared over 10 ms before": ([left, right]) => {
    const smeared = (channel: Float32Array): Float32Array =>
      channel.map((value, at) => value + 0.1 * (channel[at + 240] ?? 0) + 0.1 * (channel[at + 480] ?? 0));
    return [smeared(left), smeared(right)];
  },
  "the high end lost": ([left, right]) => {
    const dulled = (channel: Float32Array): Float32Array =>
      channel.map((value, at) => (value + (channel[at - 1] ?? 0) + (channel[at - 2] ?? 0)) / 3);
    return [dulled(left), dulled(right)];
  },
};

test.each(Object.keys(FAULTS))("both measures detect a fault: %s", async (fault) => {
  const song: Stereo = [
    SONGS.beat[0].map((value, at) => value + SONGS.noise[0][at]! * 0.2),
    SONGS.beat[1].map((value, at) => value + SONGS.noise[1][at]! * 0.2),
  ];
  const coded = await throughLibopus(song, 10, 128_000);
  const [good, bad] = [judged(song, coded).scores, judged(song, FAULTS[fault]!(coded)).scores];
  expect(bad.noiseToMaskDb).toBeGreaterThan(good.noiseToMaskDb + 1);
  expect(bad.dissimilarity).toBeGreaterThan(good.dissimilarity * 1.2);
});

test("noise far below the masking threshold is not counted as audible", () => {
  const random = seededRandom(4);
  const soft = SONGS.noise.map((channel) => channel.map((value) => value + 1e-5 * (random() - 0.5)));
  const { scores } = judged(SONGS.noise, [soft[0]!, soft[1]!]);
  expect(scores.noiseToMaskDb).toBeLessThan(-30);
  expect(scores.audibleSteps).toBe(0);
  expect(scores.dissimilarity).toBeLessThan(0.1);
});

test("the damaged second is reported as the worst", () => {
  const song = chordSong(4);
  const random = seededRandom(5);
  const damaged = song.map((channel) =>
    channel.map((value, at) => (at > 2 * 48_000 && at < 3 * 48_000 ? value + 0.05 * (random() - 0.5) : value)),
  );
  const { noisiestSecond, leastSimilarSecond } = judged(song, [damaged[0]!, damaged[1]!]);
  // Seconds of the excerpt itself: its lead-in is not counted.
  expect(Math.abs(noisiestSecond - 1.5)).toBeLessThan(0.1);
  expect(Math.abs(leastSimilarSecond - 1.5)).toBeLessThan(0.1);
});
