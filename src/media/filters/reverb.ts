// Tonearm's filter of that name: a room. Eight delay lines feed each other through a Hadamard matrix, which keeps energy, so
// that how long the room rings is decided by one gain per line; all-pass filters in front make the first echoes dense.
// Audio thread; no allocation once made.

import type { TonearmSettings } from "../../bridge/tonearm-filters.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { ROUNDING } from "./delay-line.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { isPresent, tonearmSettings } from "./setting.ts";

/** 29 to 58 ms, and primes, so that echoes do not meet. */
const LINE_SAMPLES = [1399, 1567, 1747, 1931, 2137, 2341, 2551, 2789] as const;
const LINE_SIZE = 4096;
const LINE_MASK = LINE_SIZE - 1;
const DIFFUSER_SIZE = 512;
const DIFFUSER_MASK = DIFFUSER_SIZE - 1;
const DIFFUSION = 0.6;
/** Until the sound is 60 dB softer: 0.4 s in the smallest room, 8 s in the largest. */
const DECAY_SECONDS_MIN = 0.4;
const DECAY_SECONDS_RATIO = 20;
/** Share that a line's low-pass keeps of its last sample at damping 1. */
const DAMPING_MAX = 0.8;
/** 5 ms: a step in what goes round would be heard. */
const GLIDE_SAMPLES = 240;

class ReverbFilter implements AudioFilter {
  readonly #target: Room;
  #now: Room;
  #glideSamplesLeft: number;
  #at: number;
  readonly #lines: Float32Array;
  readonly #diffusers: Float32Array;
  /** What each line's low-pass gave last. */
  readonly #damped: Float64Array;

  constructor(settings: TonearmSettings<"reverb">, previous: ReverbFilter | undefined) {
    this.#target = roomOf(settings);
    this.#now = previous === undefined ? { ...this.#target, input: 0 } : previous.#now;
    this.#glideSamplesLeft = GLIDE_SAMPLES;
    this.#at = previous === undefined ? 0 : previous.#at;
    this.#lines = previous === undefined ? new Float32Array(8 * LINE_SIZE) : previous.#lines.slice();
    this.#diffusers = previous === undefined ? new Float32Array(4 * DIFFUSER_SIZE) : previous.#diffusers.slice();
    this.#damped = previous === undefined ? new Float64Array(8) : previous.#damped.slice();
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    let done = 0;
    while (this.#glideSamplesLeft > 0 && done < lengthSamples) {
      this.#now = towards(this.#target, this.#now, 1 / this.#glideSamplesLeft--);
      this.#run(left, right, { start: done, end: ++done });
    }
    if (done < lengthSamples) this.#run(left, right, { start: done, end: lengthSamples });
  }

  reset(): void {
    this.#lines.fill(0);
    this.#diffusers.fill(0);
    this.#damped.fill(0);
    this.#now = { ...this.#target, input: 0 };
    this.#glideSamplesLeft = GLIDE_SAMPLES;
  }

  #run(left: Float32Array, right: Float32Array, { start, end }: { start: number; end: number }): void {
    const lines = this.#lines;
    const damped = this.#damped;
    const diffusers = this.#diffusers;
    const { gains, damping, input, wet, cross, dry } = this.#now;
    const [g0, g1, g2, g3, g4, g5, g6, g7] = gains;
    let d0 = damped[0]!;
    let d1 = damped[1]!;
    let d2 = damped[2]!;
    let d3 = damped[3]!;
    let d4 = damped[4]!;
    let d5 = damped[5]!;
    let d6 = damped[6]!;
    let d7 = damped[7]!;
    let at = this.#at;
    for (let sample = start; sample < end; sample++) {
      const l = left[sample]!;
      const r = right[sample]!;
      const inLeft = l * input;
      const inRight = r * input;
      const here = at & DIFFUSER_MASK;
      const past0 = diffusers[(at - 142) & DIFFUSER_MASK]!;
      const past1 = diffusers[512 + ((at - 379) & DIFFUSER_MASK)]!;
      const past2 = diffusers[1024 + ((at - 107) & DIFFUSER_MASK)]!;
      const past3 = diffusers[1536 + ((at - 277) & DIFFUSER_MASK)]!;
      const v0 = inLeft - DIFFUSION * past0 + ROUNDING - ROUNDING;
      const in1 = past0 + DIFFUSION * v0;
      const v1 = in1 - DIFFUSION * past1 + ROUNDING - ROUNDING;
      const fromLeft = past1 + DIFFUSION * v1;
      const v2 = inRight - DIFFUSION * past2 + ROUNDING - ROUNDING;
      const in3 = past2 + DIFFUSION * v2;
      const v3 = in3 - DIFFUSION * past3 + ROUNDING - ROUNDING;
      const fromRight = past3 + DIFFUSION * v3;
      diffusers[here] = v0;
      diffusers[512 + here] = v1;
      diffusers[1024 + here] = v2;
      diffusers[1536 + here] = v3;

      const x0 = lines[(at - 1399) & LINE_MASK]!;
      const x1 = lines[LINE_SIZE + ((at - 1567) & LINE_MASK)]!;
      const x2 = lines[2 * LINE_SIZE + ((at - 1747) & LINE_MASK)]!;
      const x3 = lines[3 * LINE_SIZE + ((at - 1931) & LINE_MASK)]!;
      const x4 = lines[4 * LINE_SIZE + ((at - 2137) & LINE_MASK)]!;
      const x5 = lines[5 * LINE_SIZE + ((at - 2341) & LINE_MASK)]!;
      const x6 = lines[6 * LINE_SIZE + ((at - 2551) & LINE_MASK)]!;
      const x7 = lines[7 * LINE_SIZE + ((at - 2789) & LINE_MASK)]!;
      d0 = x0 + damping * (d0 - x0);
      d1 = x1 + damping * (d1 - x1);
      d2 = x2 + damping * (d2 - x2);
      d3 = x3 + damping * (d3 - x3);
      d4 = x4 + damping * (d4 - x4);
      d5 = x5 + damping * (d5 - x5);
      d6 = x6 + damping * (d6 - x6);
      d7 = x7 + damping * (d7 - x7);
      const e0 = d0 * g0 + d1 * g1;
      const e1 = d0 * g0 - d1 * g1;
      const e2 = d2 * g2 + d3 * g3;
      const e3 = d2 * g2 - d3 * g3;
      const e4 = d4 * g4 + d5 * g5;
      const e5 = d4 * g4 - d5 * g5;
      const e6 = d6 * g6 + d7 * g7;
      const e7 = d6 * g6 - d7 * g7;
      const f0 = e0 + e2;
      const f1 = e1 + e3;
      const f2 = e0 - e2;
      const f3 = e1 - e3;
      const f4 = e4 + e6;
      const f5 = e5 + e7;
      const f6 = e4 - e6;
      const f7 = e5 - e7;
      const w = at & LINE_MASK;
      lines[w] = f0 + f4 + fromLeft + ROUNDING - ROUNDING;
      lines[LINE_SIZE + w] = f1 + f5 + fromRight + ROUNDING - ROUNDING;
      lines[2 * LINE_SIZE + w] = f2 + f6 - fromLeft + ROUNDING - ROUNDING;
      lines[3 * LINE_SIZE + w] = f3 + f7 - fromRight + ROUNDING - ROUNDING;
      lines[4 * LINE_SIZE + w] = f0 - f4 + fromLeft + ROUNDING - ROUNDING;
      lines[5 * LINE_SIZE + w] = f1 - f5 + fromRight + ROUNDING - ROUNDING;
      lines[6 * LINE_SIZE + w] = f2 - f6 - fromLeft + ROUNDING - ROUNDING;
      lines[7 * LINE_SIZE + w] = f3 - f7 - fromRight + ROUNDING - ROUNDING;
      const wetLeft = d0 - d2 + d4 - d6;
      const wetRight = d1 - d3 + d5 - d7;
      left[sample] = dry * l + wet * wetLeft + cross * wetRight;
      right[sample] = dry * r + wet * wetRight + cross * wetLeft;
      at = (at + 1) & LINE_MASK;
    }
    this.#at = at;
    damped[0] = d0;
    damped[1] = d1;
    damped[2] = d2;
    damped[3] = d3;
    damped[4] = d4;
    damped[5] = d5;
    damped[6] = d6;
    damped[7] = d7;
  }
}

type EightNumbers = readonly [number, number, number, number, number, number, number, number];

interface Room {
  readonly gains: EightNumbers;
  readonly damping: number;
  readonly input: number;
  readonly wet: number;
  readonly cross: number;
  readonly dry: number;
}

function roomOf({ roomSize, damping, width, mix }: TonearmSettings<"reverb">): Room {
  const decaySamples = 48_000 * DECAY_SECONDS_MIN * DECAY_SECONDS_RATIO ** roomSize;
  const gains = LINE_SAMPLES.map((samples) => 10 ** ((-3 * samples) / decaySamples) / Math.sqrt(8));
  const energy = 8 * (gains[0] ?? 0) ** 2;
  const level = mix * Math.sqrt(1 - energy) * 0.5;
  return {
    gains: gains as unknown as EightNumbers,
    damping: damping * DAMPING_MAX,
    input: 1,
    wet: (level * (1 + width)) / 2,
    cross: (level * (1 - width)) / 2,
    dry: 1 - mix,
  };
}

function towards(target: Room, now: Room, share: number): Room {
  const to = (member: "damping" | "input" | "wet" | "cross" | "dry") =>
    now[member] + share * (target[member] - now[member]);
  return {
    gains: target.gains.map(
      (gain, line) => now.gains[line]! + share * (gain - now.gains[line]!),
    ) as unknown as EightNumbers,
    damping: to("damping"),
    input: to("input"),
    wet: to("wet"),
    cross: to("cross"),
    dry: to("dry"),
  };
}

export const reverb: FilterDefinition = {
  plugin: "tonearm",
  name: "reverb",
  isEnabled: (settings) => isPresent(settings) && tonearmSettings("reverb", settings).mix !== 0,
  create: (settings, previous) =>
    new ReverbFilter(tonearmSettings("reverb", settings), previous instanceof ReverbFilter ? previous : undefined),
};
