// Every filter except timescale compared with measurements of upstream, within the tolerances that its README calls
// fair, and one table of deliberate differences.

import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  chainWith,
  filtered,
  impulseResponse,
  instantFrequency10,
  type Parsed,
  peak,
  readVector,
  resolved,
  responseAt,
  rms,
  rms10,
  type SignalName,
  type Stereo,
  signals,
  toSixteenBit,
  vectorNames,
} from "../../../../support/filter-vectors.ts";

/**
 * Deliberate differences from upstream, and what the result sounds like instead: like another recording, or like the
 * input. (Behaviours with their own tests: state survives an update, changes are cross-faded, bad values never reach
 * the audio.)
 */
const DELIBERATE_DIFFERENCES: Readonly<Record<string, { readonly soundsLike: string; readonly why: string }>> = {
  "quirk_lowpass0.75_with_other": {
    soundsLike: "volume_filter_0.5",
    why: "a filter that is off stays off, whatever other filters are set; at 0.75 the low pass would boost",
  },
  quirk_timescale_identity_with_other: {
    soundsLike: "volume_filter_0.5",
    why: "as above: timescale at 1 would only stretch by nothing, late",
  },
};

/** Accepted by upstream, refused here. */
const OUT_OF_RANGE = "eq_gain_out_of_range";

const own = vectorNames.filter((name) => {
  const vector = readVector(name);
  if (name === OUT_OF_RANGE) return false;
  return vector.config !== undefined && vector.kind !== "player" && vector.filters.timescale === undefined;
});
const players = vectorNames.filter((name) => readVector(name).kind === "player" && name !== "player_volume_0");

/** Upstream's tremolo runs on a 32-bit phase: after 1.5 s it has drifted too far to be compared. */
const TREMOLO_SAMPLES = 72_000;

/**
 * Largest of the filters in it. For the equalizer in proportion to the gain: what differs is upstream's 32-bit noise.
 */
function sparseTolerance(filters: Parsed): number {
  const gains = (filters.equalizer ?? []).map(({ gain = 1 }: Parsed) => gain);
  const equalizer = 5e-4 * Math.max(1, 1.5 * Math.max(0, ...gains));
  const tolerances: Record<string, number> = { karaoke: 1e-4, equalizer, tremolo: 0.02, vibrato: 2 };
  return Math.max(1e-5, ...Object.keys(filters).map((name) => tolerances[name] ?? 0));
}

function expectClose(actual: number, expected: number, { by, what }: { by: number; what: string }): void {
  if (!(Math.abs(actual - expected) <= by)) expect.fail(`${what}: ${actual} instead of ${expected} (± ${by})`);
}

const sides = [
  ["L", "left", 0],
  ["R", "right", 1],
] as const;

function expectAudio(name: SignalName, rendered: Stereo, vector: Parsed): void {
  const expected = vector[name];
  for (const [letter, side, index] of sides) {
    const audio = rendered[side];
    const what = `${name} ${letter}`;
    // The vibrato's highest peak depends on where exactly its delay is.
    const decibel = 10 ** ((vector.filters.vibrato === undefined ? 0.05 : 0.15) / 20) - 1;
    const comparable = vector.filters.tremolo === undefined ? audio.length : TREMOLO_SAMPLES;
    expectClose(peak(audio), expected.peak[index], { by: expected.peak[index] * decibel + 1e-5, what: `${what} peak` });
    expectClose(rms(audio), expected.rms[index], { by: expected.rms[index] * decibel + 1e-5, what: `${what} rms` });
    const full = audio.filter((value) => Math.abs(value) >= 1).length;
    const fullExpected = expected.samples_at_or_over_full_scale[index];
    expectClose(full, fullExpected, { by: Math.max(10, fullExpected * 0.01), what: `${what} at full scale` });
    if (expected.sparse !== undefined) {
      const by = sparseTolerance(vector.filters);
      for (const [sampleIndex, value] of resolved(expected.sparse, letter).entries()) {
        const at = sampleIndex * expected.sparse.stride;
        if (at >= comparable) break;
        expectClose(audio[at]!, value, { by, what: `${what} at ${at}` });
      }
    }
    if (expected.rms_10ms !== undefined) {
      const least =
        vector.filters.tremolo?.frequency === 14 ? 0.015 : vector.filters.vibrato?.frequency === 14 ? 0.003 : 0.002;
      const windows = rms10(audio);
      for (const [sampleIndex, value] of resolved(expected.rms_10ms, letter).entries()) {
        if (sampleIndex * 480 >= comparable) break;
        expectClose(windows[sampleIndex]!, value, {
          by: Math.max(least, value * 0.01),
          what: `${what} rms of window ${sampleIndex}`,
        });
      }
    }
    if (vector.filters.vibrato !== undefined && expected.inst_freq_10ms !== undefined) {
      const measuredHz = instantFrequency10(audio, expected.inst_freq_10ms.carrier_hz[index]);
      for (const [sampleIndex, value] of resolved(expected.inst_freq_10ms, letter).entries()) {
        if (sampleIndex > 0)
          expectClose(measuredHz[sampleIndex]!, value, { by: index + 1, what: `${what} Hz in window ${sampleIndex}` });
      }
    }
    if (expected.first1000 !== undefined) {
      for (const [at, value] of expected.first1000[letter].entries()) {
        expectClose(audio[at]!, value, { by: 1e-5, what: `${what} at ${at}` });
      }
    }
  }
}

function expectHarmonics(rendered: Stereo, expected: Parsed): void {
  for (const [key, side, carrierHz] of [
    ["L_440", "left", 440],
    ["R_1000", "right", 1000],
  ] as const) {
    const audio = rendered[side].subarray(24_000, 72_000);
    for (const [harmonic, db] of expected[key].entries()) {
      const { magnitude } = responseAt(audio, harmonic * carrierHz);
      const level = 20 * Math.log10((magnitude / audio.length) * (harmonic === 0 ? 1 : 2) + 1e-12);
      if (db > -80) expectClose(level, db, { by: 0.2, what: `${key} harmonic ${harmonic}` });
      else expect(level).toBeLessThanOrEqual(-75);
    }
  }
}

function expectResponses(vector: Parsed): void {
  for (const [from, input] of sides) {
    const response = impulseResponse(vector.filters, input);
    for (const [to, output] of sides) {
      const path = `${from}_to_${to}`;
      const expected = resolved(vector.impulse_first256, path);
      const rendered = response[output];
      if (expected === "zero") {
        expect(peak(rendered)).toBe(0);
        continue;
      }
      const by = 2e-4 * Math.max(1, ...expected.map(Math.abs));
      for (const [at, value] of expected.entries()) {
        expectClose(rendered[at]!, value, { by, what: `${path} impulse at ${at}` });
      }
      expectSpectrum(rendered, resolved(vector.response64, path), path);
    }
  }
}

function expectSpectrum(rendered: Float32Array, expected: Parsed, path: string): void {
  if (typeof expected === "string" || expected === undefined) return;
  for (const [index, db] of expected.db.entries()) {
    const { magnitude, degrees } = responseAt(rendered, 20 * 1000 ** (index / 63));
    const linear = 10 ** (db / 20);
    expectClose(magnitude, linear, { by: linear * 0.01 + 0.01, what: `${path} magnitude ${index}` });
    if (db <= -30) continue;
    const off = degrees - expected.deg[index];
    expectClose(off - 360 * Math.round(off / 360), 0, { by: 1, what: `${path} phase ${index}` });
  }
}

it("the test signals are those of the recordings", () => {
  const hash = ({ left, right }: Stereo) => {
    const bytes = Buffer.alloc(left.length * 4);
    for (let at = 0; at < left.length; at++) {
      bytes.writeInt16LE(left[at]! * 32_768, at * 4);
      bytes.writeInt16LE(right[at]! * 32_768, at * 4 + 2);
    }
    return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  };
  expect(hash(signals.sweep)).toBe("faa20f665bc7380b");
  expect(hash(signals.tone)).toBe("1e10d1b78616b922");
  expect(hash(signals.noise)).toBe("cab3fded92ce3000");
  expect(hash(signals.loud)).toBe("1b48fca5d21e884c");
  expect(hash(signals.clicks)).toBe("f1e9ae2edb91f55e");
});

describe("sounds as recorded", () => {
  it.each(own)("the filters of %s sound as recorded", (name) => {
    const difference = DELIBERATE_DIFFERENCES[name];
    const { filters } = readVector(name);
    const vector = difference === undefined ? readVector(name) : readVector(difference.soundsLike);
    for (const signal of ["sweep", "tone", "noise", "loud"] as const) {
      const rendered = filtered(chainWith(filters), signals[signal]);
      expectAudio(signal, rendered, { ...vector, filters });
      if (signal === "tone" && vector.tone.harmonics_0_to_10_db !== undefined) {
        expectHarmonics(rendered, vector.tone.harmonics_0_to_10_db);
      }
    }
    if (vector.kind === "lti") expectResponses({ ...vector, filters });
    if (vector.transfer_curve !== undefined) {
      const left = Float32Array.from(vector.transfer_curve.in_s16, (value: number) => value / 32_768);
      const rendered = filtered(chainWith(filters), { left, right: left });
      for (const [at, value] of vector.transfer_curve.out.entries()) {
        expectClose(rendered.left[at]!, value, { by: 1e-5, what: `curve at ${left[at]}` });
      }
    }
  });

  it(`${OUT_OF_RANGE}, which upstream accepts, is refused`, () => {
    expect(() => chainWith(readVector(OUT_OF_RANGE).filters)).toThrow("must be from -0.25 to 1");
  });

  it("player_volume_0 is silent (upstream leaves the samples and flags the frame)", () => {
    const rendered = filtered(chainWith({}, 0), signals.loud);
    expect(peak(rendered.left)).toBe(0);
  });

  it.each(players)("the player settings of %s sound as recorded", (name) => {
    const vector = readVector(name);
    const chain = () => chainWith(vector.filters, vector.player_volume);
    for (const signal of ["sweep", "tone", "noise", "loud"] as const) {
      const rendered = filtered(chain(), signals[signal]);
      for (const [letter, side] of sides) {
        const { stride } = vector[signal].sparse_s16;
        for (const [sampleIndex, value] of resolved(vector[signal].sparse_s16, letter).entries()) {
          const sample = toSixteenBit(rendered[side][sampleIndex * stride]!);
          // Upstream rounds to 16 bits twice, with the player's gain in between.
          const by = vector.filters.volume === undefined ? 2 : 4;
          expectClose(sample, value, { by, what: `${signal} ${letter} at ${sampleIndex * stride}` });
        }
      }
    }
  });
});
