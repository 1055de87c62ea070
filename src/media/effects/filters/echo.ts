// Tonearm's echo filter, and those of LavaDSPX and lavalink-filter-plugin: repeats the audio after `delay`, and again,
// each time softer by `decay`. Left and right are independent. Audio thread; no allocation once created.

import { SAMPLE_RATE_HZ, SAMPLES_PER_MS } from "../../format/audio-format.ts";
import type { AudioFilter } from "./audio-filter.ts";
import { DelayLine, ROUNDING } from "./delay-line.ts";
import { defineFilter } from "./filter-definition.ts";

/** 5 ms. A step in the feedback loop would be audible as a click one delay later, when the cross-fade is long over. */
const GLIDE_SAMPLES = 240;

/** At 1 the feedback would never fade out. */
const DECAY_MAX = 0.95;

interface EchoTuning {
  readonly delaySamples: number;
  /** Feedback of each repeat, 0 to 0.95. */
  readonly decay: number;
  /** Gains of the audio and of its repeats. */
  readonly dry: number;
  readonly wet: number;
}

class EchoFilter implements AudioFilter {
  readonly isEchoing = true;
  readonly #dry: number;
  readonly #wet: number;
  readonly #delaySamples: number;
  readonly #decay: number;
  readonly #line: DelayLine;
  /** While gliding: the previous delay and decay. */
  #fromDelaySamples: number;
  #fromDecay: number;
  #glidedSamples = 0;
  /** True when the line was empty: audio is faded into it. */
  #isFresh: boolean;

  constructor({ delaySamples, decay, dry, wet }: EchoTuning, previous: EchoFilter | undefined) {
    this.#dry = dry;
    this.#wet = wet;
    this.#decay = decay;
    this.#delaySamples = delaySamples;
    this.#isFresh = previous === undefined;
    this.#fromDelaySamples = previous === undefined ? this.#delaySamples : previous.#delaySamples;
    this.#fromDecay = previous === undefined ? decay : previous.#decay;
    this.#line = new DelayLine(
      Math.max(this.#delaySamples, this.#fromDelaySamples),
      previous === undefined ? undefined : previous.#line,
    );
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const glideSamples = Math.min(GLIDE_SAMPLES - this.#glidedSamples, lengthSamples);
    if (glideSamples > 0) this.#glide(left, right, glideSamples);
    this.#repeat(left, right, { start: glideSamples, end: lengthSamples });
  }

  reset(): void {
    this.#line.clear();
    this.#fromDelaySamples = this.#delaySamples;
    this.#fromDecay = this.#decay;
    this.#isFresh = true;
    this.#glidedSamples = 0;
  }

  #repeat(left: Float32Array, right: Float32Array, { start, end }: { start: number; end: number }): void {
    const { left: lineLeft, right: lineRight, mask } = this.#line;
    const [dry, wet, decay, delaySamples] = [this.#dry, this.#wet, this.#decay, this.#delaySamples];
    let { at } = this.#line;
    for (let sample = start; sample < end; sample++) {
      const index = (at - delaySamples) & mask;
      const l = left[sample]!;
      const r = right[sample]!;
      const echoLeft = lineLeft[index]!;
      const echoRight = lineRight[index]!;
      lineLeft[at] = l + echoLeft * decay + ROUNDING - ROUNDING;
      lineRight[at] = r + echoRight * decay + ROUNDING - ROUNDING;
      at = (at + 1) & mask;
      left[sample] = dry * l + wet * echoLeft;
      right[sample] = dry * r + wet * echoRight;
    }
    this.#line.at = at;
  }

  /** Processes samples while gliding from the old delay and decay to the new ones. */
  #glide(left: Float32Array, right: Float32Array, count: number): void {
    const { left: lineLeft, right: lineRight, mask } = this.#line;
    const [dry, wet, decay, fromDecay] = [this.#dry, this.#wet, this.#decay, this.#fromDecay];
    let { at } = this.#line;
    for (let sample = 0; sample < count; sample++) {
      const share = ++this.#glidedSamples / GLIDE_SAMPLES;
      const input = this.#isFresh ? share : 1;
      const index = (at - this.#delaySamples) & mask;
      const from = (at - this.#fromDelaySamples) & mask;
      const l = left[sample]!;
      const r = right[sample]!;
      const echoLeft = between(lineLeft[from]!, lineLeft[index]!, share);
      const echoRight = between(lineRight[from]!, lineRight[index]!, share);
      lineLeft[at] = l * input + between(fromDecay * lineLeft[from]!, decay * lineLeft[index]!, share);
      lineRight[at] = r * input + between(fromDecay * lineRight[from]!, decay * lineRight[index]!, share);
      at = (at + 1) & mask;
      left[sample] = dry * l + wet * echoLeft;
      right[sample] = dry * r + wet * echoRight;
    }
    this.#line.at = at;
  }
}

function between(from: number, to: number, share: number): number {
  return from + share * (to - from);
}

export const echo = defineFilter("echo", EchoFilter, ({ delay, decay, mix }, previous) => {
  const delaySamples = Math.round(delay * SAMPLES_PER_MS);
  return new EchoFilter({ delaySamples, decay, dry: 1 - mix, wet: mix }, previous);
});

export const lavadspxEcho = defineFilter("lavadspx.echo", EchoFilter, ({ echoLength, decay }, previous) => {
  return new EchoFilter(addedEcho(echoLength, decay), previous);
});

export const filterPluginEcho = defineFilter(
  "lavalink-filter-plugin.echo",
  EchoFilter,
  ({ delay, decay }, previous) => {
    return new EchoFilter(addedEcho(delay, decay), previous);
  },
);

/** As both plugins make it: each repeat is softer by `decay` than the one before, the first than the audio. */
function addedEcho(delaySeconds: number, decay: number): EchoTuning {
  const gain = Math.min(decay, DECAY_MAX);
  return { delaySamples: Math.max(1, Math.round(delaySeconds * SAMPLE_RATE_HZ)), decay: gain, dry: 1, wet: gain };
}
