import { expect, test } from "vitest";
import { compareAudio, placeOf } from "../../../../lab/files/compare-audio.ts";
import { soundSamples } from "../../../../lab/files/make/made-file.ts";
import { makeTone } from "../../../../lab/listen/tone.ts";

const RATE_HZ = 48_000;
const MS = 48;
const SONG = { left: soundSamples(0, RATE_HZ), right: soundSamples(1, RATE_HZ) };

function changed(change: (samples: Float32Array) => Float32Array) {
  return { left: change(SONG.left), right: change(SONG.right) };
}

function join(...parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

test("the same audio is heard whole, without delay, shift or change of level", () => {
  const same = { heardShare: 1, delayMs: 0, shiftMs: 0, missingMs: 0, isSilent: false };
  expect(compareAudio(SONG, SONG)).toMatchObject(same);
  expect(compareAudio(SONG, SONG).levelDb).toBeCloseTo(0);
});

test("audio that is missing in the middle shows as a shift of its length", () => {
  const cut = changed((samples) => join(samples.subarray(0, 1000 * MS), samples.subarray(1050 * MS)));
  const { heardShare, shiftMs, missingMs } = compareAudio(SONG, cut);
  expect([shiftMs, missingMs]).toEqual([50, 50]);
  expect(heardShare).toBeGreaterThan(0.95);
});

test("damage costs the moments that it covers, also where less audio comes out of it", () => {
  const damaged = changed((samples) =>
    join(samples.subarray(0, 1000 * MS), new Float32Array(200 * MS), samples.subarray(2000 * MS)),
  );
  const { heardShare } = compareAudio(SONG, damaged);
  expect(heardShare).toBeGreaterThan(0.6);
  expect(heardShare).toBeLessThan(0.7);
});

test("a late start and a lower level are measured", () => {
  const late = changed((samples) => join(new Float32Array(30 * MS), samples).map((value) => value / 2));
  const { delayMs, levelDb, shiftMs, missingMs } = compareAudio(SONG, late);
  expect([delayMs, shiftMs, missingMs]).toEqual([30, 0, -30]);
  expect(levelDb).toBeCloseTo(-6.02, 1);
});

test("a part of a tone is not taken for all of it", () => {
  const tone = (lengthMs: number) => {
    const samples = makeTone({ frequencyHz: 440, sampleRateHz: RATE_HZ, lengthSamples: lengthMs * MS });
    return { left: samples, right: samples };
  };
  const { heardShare } = compareAudio(tone(3000), tone(500));
  expect(heardShare).toBeGreaterThan(0.1);
  expect(heardShare).toBeLessThan(0.25);
});

test("silence is silent, and a silent reference has nothing to hear", () => {
  const silence = changed((samples) => new Float32Array(samples.length));
  expect(compareAudio(SONG, silence)).toMatchObject({ heardShare: 0, isSilent: true });
  expect(compareAudio(silence, silence)).toMatchObject({ heardShare: undefined, isSilent: true });
});

test("one side alone is neither the other side nor both", () => {
  const swapped = { left: soundSamples(3, RATE_HZ), right: SONG.left };
  expect(compareAudio(SONG, swapped).heardShare).toBe(0);
});

test("padding at the end does not count as missing audio", () => {
  const padded = changed((samples) => join(samples, new Float32Array(100 * MS)));
  expect(compareAudio(padded, SONG).missingMs).toBe(0);
  expect(
    compareAudio(
      SONG,
      changed((samples) => samples.subarray(0, 2900 * MS)),
    ).missingMs,
  ).toBeCloseTo(100, 0);
});

test("a piece is found where it is, and silence only where silence belongs", () => {
  const piece = changed((samples) => samples.subarray(1800 * MS, 2300 * MS));
  expect(placeOf(SONG, piece, 1500)).toEqual({ offMs: 300 });
  expect(
    placeOf(
      SONG,
      changed((samples) => samples.map(() => 0)),
      1500,
    ),
  ).toBeUndefined();
  const silent = changed((samples) => samples.map(() => 0));
  expect(placeOf(silent, silent, 1500)).toBe("quiet");
  const other = { left: soundSamples(4, RATE_HZ).subarray(0, 500 * MS), right: SONG.left.subarray(0, 500 * MS) };
  expect(placeOf(SONG, other, 1500)).toBeUndefined();
});
