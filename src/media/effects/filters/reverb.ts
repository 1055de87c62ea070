// Tonearm's reverb filter: simulates an acoustic room. Eight delay lines feed each other through a Hadamard matrix,
// which preserves energy, so that one gain per line sets how long the room rings; all-pass filters in front make the
// first echoes dense. As dense as Freeverb's 16 combs with less memory to read. The loop is in reverb-kernel.ts. Audio
// thread; no allocation once created, except small objects in the 5 ms after a change.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import { LINE_SAMPLES, ReverbKernel, type ReverbTuning } from "../../kernels/reverb-kernel.ts";
import { defineFilter } from "./filter-definition.ts";
import { KernelFilter } from "./kernel-filter.ts";

/** Time until the audio is 60 dB softer: 0.4 s in the smallest room, 8 s in the largest. */
const DECAY_SECONDS_MIN = 0.4;
const DECAY_SECONDS_RATIO = 20;
/** Share that a line's low-pass keeps of its last sample at damping 1. */
const DAMPING_MAX = 0.8;
/** 5 ms: a step in the feedback loop would be audible. */
const GLIDE_SAMPLES = 240;

export class ReverbFilter extends KernelFilter {
  readonly isEchoing = true;
  readonly #kernel: ReverbKernel;
  readonly #target: ReverbTuning;
  #now: ReverbTuning;
  #glideSamplesLeft = GLIDE_SAMPLES;

  /** `isSimd` false forces the plain loop (for tests). */
  constructor(
    settings: SettingsOf<"reverb">,
    { previous, isSimd = true }: { readonly previous: ReverbFilter | undefined; readonly isSimd?: boolean },
  ) {
    const kernel = new ReverbKernel({ previous: previous === undefined ? undefined : previous.#kernel, isSimd });
    super(kernel);
    this.#kernel = kernel;
    this.#target = tuningOf(settings);
    // Audio is faded into an empty room.
    this.#now = previous === undefined ? { ...this.#target, input: 0 } : previous.#now;
  }

  override reset(): void {
    this.#kernel.clear();
    this.#now = { ...this.#target, input: 0 };
    this.#glideSamplesLeft = GLIDE_SAMPLES;
  }

  release(): void {
    this.#kernel.release();
  }

  protected override run(count: number): void {
    const kernel = this.#kernel;
    let done = 0;
    while (this.#glideSamplesLeft > 0 && done < count) {
      this.#now = towards(this.#target, this.#now, 1 / this.#glideSamplesLeft--);
      kernel.run(done, ++done, this.#now);
    }
    if (done < count) kernel.run(done, count, this.#target);
  }
}

function tuningOf({ roomSize, damping, width, mix }: SettingsOf<"reverb">): ReverbTuning {
  const decaySamples = SAMPLE_RATE_HZ * DECAY_SECONDS_MIN * DECAY_SECONDS_RATIO ** roomSize;
  const gains = LINE_SAMPLES.map((samples) => 10 ** ((-3 * samples) / decaySamples));
  const keep = damping * DAMPING_MAX;
  // The longer a room rings, the more energy it holds at a time: this makes every room about as loud as its input.
  const shortestGain = Math.max(...gains);
  const level = (mix * Math.sqrt((1 - shortestGain ** 2) * 2)) / shortestGain;
  return {
    // The matrix adds up eight lines.
    shares: gains.map((gain) => (gain / Math.sqrt(8)) * (1 - keep)),
    keep,
    input: 1,
    dry: 1 - mix,
    wet: (level * (1 + width)) / 2,
    cross: (level * (1 - width)) / 2,
  };
}

function towards(target: ReverbTuning, now: ReverbTuning, share: number): ReverbTuning {
  const between = (from: number, to: number) => from + share * (to - from);
  return {
    shares: target.shares.map((value, line) => between(now.shares[line]!, value)),
    keep: between(now.keep, target.keep),
    input: between(now.input, target.input),
    dry: between(now.dry, target.dry),
    wet: between(now.wet, target.wet),
    cross: between(now.cross, target.cross),
  };
}

export const reverb = defineFilter(
  "reverb",
  ReverbFilter,
  (settings, previous) => new ReverbFilter(settings, { previous }),
);
