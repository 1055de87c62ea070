// A row of filters that can be replaced while audio runs through it: for 20 ms the old row and the new one work side by
// side, with a cross-fade from one to the other. A filter that stays continues from a copy of its state. Audio thread;
// allocates only when filters are set.

import type { FilterSettings } from "../../../filters/filter-settings.ts";
import type { AudioFilter } from "./audio-filter.ts";
import type { FilterDefinition } from "./filter-definition.ts";

/** New filters run inaudibly for 5 ms, until their delay lines are full. */
const WARM_UP_SAMPLES = 240;
/** Length of their fade in after that: 15 ms. */
const FADE_SAMPLES = 720;
const CHANGE_SAMPLES = WARM_UP_SAMPLES + FADE_SAMPLES;

/** As long as the fade over a seek (see Transcoder): 5 ms. */
const SEAM_SAMPLES = 240;

type Row = readonly { readonly definition: FilterDefinition; readonly filter: AudioFilter }[];

interface Change {
  readonly from: Row;
  doneSamples: number;
  /** The old row's output. */
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/**
 * One for each side of timescale in each track's EffectChain. Neutral until `set` switches a filter on. Throws what a
 * filter throws.
 */
export class FilterStage {
  readonly #definitions: () => readonly FilterDefinition[];
  #row: Row = [];
  #change: Change | undefined;
  /** Settings that arrived during a change; they apply after it. Only the newest count. */
  #waiting: FilterSettings | undefined;
  /** The last input sample. */
  #lastLeft = 0;
  #lastRight = 0;
  /** The last input sample before a jump, until the fade over the jump ends. */
  #seamLeft = 0;
  #seamRight = 0;
  #seamSamplesLeft = 0;

  /** `definitions` is asked whenever filters are set. */
  constructor(definitions: () => readonly FilterDefinition[]) {
    this.#definitions = definitions;
  }

  /** True when audio passes through unchanged. */
  get isNeutral(): boolean {
    return this.#row.length === 0 && this.#change === undefined && this.#waiting === undefined;
  }

  /** True when audio that went through it is audible again later. */
  get isEchoing(): boolean {
    if (this.#change === undefined) return isEchoing(this.#row);
    return isEchoing(this.#change.from) || (this.#change.doneSamples > 0 && isEchoing(this.#row));
  }

  /** Replaces all filters. Takes effect at once, or after the change in progress (20 ms at most). */
  set(settings: FilterSettings): void {
    if (this.#change !== undefined) {
      this.#waiting = settings;
      return;
    }
    const from = this.#row;
    this.#row = this.#create(settings);
    if (from.length === 0 && this.#row.length === 0) return;
    const [left, right] = [new Float32Array(CHANGE_SAMPLES), new Float32Array(CHANGE_SAMPLES)];
    this.#change = { from, doneSamples: 0, left, right };
  }

  /** Nothing was played before: ends a change at once, and clears the filters' state. */
  settle(): void {
    this.#endChange();
    const before = this.#row;
    if (this.#waiting !== undefined) {
      this.#row = this.#create(this.#waiting);
      release(before);
    }
    this.#waiting = undefined;
    this.#seamSamplesLeft = 0;
    for (const { filter } of this.#row) filter.reset();
  }

  /**
   * Marks a seek: the next audio does not continue the last. The seam is faded over elsewhere, but filters with a
   * memory would repeat it. For them the audio moves from its last value to the new position without a step. Ringing
   * continues, except of filters of plugins, which have a `jump`.
   */
  jump(): void {
    if (this.isNeutral) return;
    this.#seamLeft = this.#lastLeft;
    this.#seamRight = this.#lastRight;
    this.#seamSamplesLeft = SEAM_SAMPLES;
    for (const { filter } of this.#row) filter.jump?.();
    for (const { filter } of this.#change?.from ?? []) filter.jump?.();
  }

  /** No more audio comes. */
  close(): void {
    this.#endChange();
    release(this.#row);
    this.#row = [];
    this.#waiting = undefined;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (lengthSamples === 0 || this.isNeutral) return;
    if (this.#seamSamplesLeft > 0) this.#closeSeam(left, right, lengthSamples);
    this.#lastLeft = left[lengthSamples - 1]!;
    this.#lastRight = right[lengthSamples - 1]!;
    let done = 0;
    while (this.#change !== undefined && done < lengthSamples) {
      const count = Math.min(CHANGE_SAMPLES - this.#change.doneSamples, lengthSamples - done);
      const isWhole = done === 0 && count === lengthSamples;
      if (isWhole) this.#crossFade(this.#change, { left, right, count });
      else {
        const [pieceLeft, pieceRight] = [left.subarray(done, done + count), right.subarray(done, done + count)];
        this.#crossFade(this.#change, { left: pieceLeft, right: pieceRight, count });
      }
      done += count;
    }
    if (done === lengthSamples || this.#row.length === 0) return;
    if (done === 0) run(this.#row, { left, right, count: lengthSamples });
    else run(this.#row, { left: left.subarray(done), right: right.subarray(done), count: lengthSamples - done });
  }

  #endChange(): void {
    const change = this.#change;
    this.#change = undefined;
    if (change !== undefined) release(change.from);
  }

  #create(settings: FilterSettings): Row {
    return this.#definitions().flatMap((definition) => {
      const previous = this.#row.find((entry) => entry.definition === definition)?.filter;
      const filter = definition.create(settings, previous);
      return filter === undefined ? [] : [{ definition, filter }];
    });
  }

  #closeSeam(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const count = Math.min(this.#seamSamplesLeft, lengthSamples);
    for (let sample = 0; sample < count; sample++) {
      const share = 1 - this.#seamSamplesLeft-- / SEAM_SAMPLES;
      left[sample] = this.#seamLeft + share * (left[sample]! - this.#seamLeft);
      right[sample] = this.#seamRight + share * (right[sample]! - this.#seamRight);
    }
  }

  #crossFade(change: Change, audio: AudioBlock): void {
    const { left, right, count } = audio;
    for (let sample = 0; sample < count; sample++) {
      change.left[sample] = left[sample]!;
      change.right[sample] = right[sample]!;
    }
    run(change.from, { left: change.left, right: change.right, count });
    run(this.#row, audio);
    for (let sample = 0; sample < count; sample++) {
      const share = Math.max(0, (change.doneSamples + sample - WARM_UP_SAMPLES) / FADE_SAMPLES);
      left[sample] = change.left[sample]! + share * (left[sample]! - change.left[sample]!);
      right[sample] = change.right[sample]! + share * (right[sample]! - change.right[sample]!);
    }
    change.doneSamples += count;
    if (change.doneSamples < CHANGE_SAMPLES) return;
    this.#endChange();
    const next = this.#waiting;
    this.#waiting = undefined;
    if (next !== undefined) this.set(next);
  }
}

function release(row: Row): void {
  for (const { filter } of row) filter.release?.();
}

function isEchoing(row: Row): boolean {
  return row.some(({ filter }) => filter.isEchoing === true);
}

interface AudioBlock {
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly count: number;
}

function run(row: Row, { left, right, count }: AudioBlock): void {
  for (let index = 0; index < row.length; index++) row[index]!.filter.process(left, right, count);
}
