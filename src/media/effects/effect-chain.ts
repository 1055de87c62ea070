// What one player does to a track's decoded sound before it is encoded: loudness, filters, fades and volume; what is
// the protocol's in its order (protocol-v4.md section 3.3). Takes track samples from a queue and gives samples to be
// heard, as many or, where timescale is on, more or fewer. Each track has its own, held by its pipeline: what the last
// one left in delay lines and phases is none of the next one's. Audio thread.

import { activeSettingsIn, type FilterSettings } from "../../filters/filter-settings.ts";
import { FRAME_SAMPLES, SAMPLES_PER_MS } from "../format/audio-format.ts";
import { FILTERS_AFTER_TIMESCALE, FILTERS_BEFORE_TIMESCALE } from "./filters/builtin.ts";
import { FilterStage } from "./filters/filter-stage.ts";
import type { RateFilter } from "./filters/rate-filter.ts";
import { TimescaleFilter } from "./filters/timescale/timescale.ts";
import { VolumeFilter } from "./filters/volume.ts";
import { LoudnessStage, type SampleQueue } from "./loudness/loudness-stage.ts";
import { type FadeSnapshot, TrackFades } from "./track-fades.ts";

/** The part of a track that is to be heard, track time in milliseconds. */
export interface TrackSpan {
  readonly startMs: number;
  /** Infinity when nobody knows. May become another while it plays. */
  readonly endMs: number;
}

/** How loud sound was left at a place, to be gone back to. Held and handed in by the caller. */
export class LevelSnapshot implements FadeSnapshot {
  lastGain: number | undefined = undefined;
  glide = 0;
  glideSamples = 0;
  volumeGain = 1;
}

/**
 * How it is used, in the tick: `begin` or `continueWith` when the track starts to be decoded, then for each frame
 * `prepare` until it says there is enough, `setPosition`, `render`, `level`; `jump` at a seek; `finish` when no more comes,
 * and the same for the rest. It throws what a filter throws. Nothing is allocated for a frame; changed
 * settings are taken up within these calls.
 */
export class EffectChain {
  /** Placed by `setPosition`, and heard in `level`. */
  readonly fades = new TrackFades();
  readonly #loudness = new LoudnessStage();
  readonly #before = new FilterStage(FILTERS_BEFORE_TIMESCALE);
  readonly #after = new FilterStage(FILTERS_AFTER_TIMESCALE);
  readonly #volume = new VolumeFilter();
  #rate: RateFilter | undefined;
  /** Settings that the filters do not have yet. */
  #newFilters: FilterSettings | undefined;
  #filterChanges = 0;
  readonly #left = new Float32Array(FRAME_SAMPLES);
  readonly #right = new Float32Array(FRAME_SAMPLES);

  /** 0 to 1000; a change is a ramp of 10 ms. */
  setVolume(volume: number): void {
    this.#volume.setVolume(volume);
  }

  /**
   * Replaces all filters; the change is heard within 20 ms of sound, without a click. They are made when there is sound
   * for them, in the tick: hundreds of players that are given some at once hold up nobody, and of many changes only the
   * last one counts.
   */
  setFilters(filters: FilterSettings): void {
    this.fades.set(filters);
    this.#newFilters = filters;
    this.#filterChanges += 1;
  }

  /** Counts how often filters were set. */
  get filterChanges(): number {
    return this.#filterChanges;
  }

  #applyFilters(): void {
    const filters = this.#newFilters;
    if (filters === undefined) return;
    this.#newFilters = undefined;
    this.#loudness.set(activeSettingsIn(filters, "loudness"));
    this.#before.set(filters);
    this.#after.set(filters);
    const settings = activeSettingsIn(filters, "timescale");
    if (this.#rate !== undefined) this.#rate.change(settings);
    else if (settings !== undefined) this.#rate = new TimescaleFilter(settings);
    this.#dropIdleRate();
  }

  /** True when sound would come out as it went in, so that Opus packets may pass through undecoded. */
  get isNeutral(): boolean {
    return this.fades.isNeutral && this.areSettingsNeutral;
  }

  /** The same but for fades, which depend on the place in the track. */
  get areSettingsNeutral(): boolean {
    this.#applyFilters();
    const areFiltersNeutral = this.#before.isNeutral && this.#rate === undefined && this.#after.isNeutral;
    return this.#loudness.isNeutral && areFiltersNeutral && this.#volume.isNeutral;
  }

  /** True when sound that went through it is heard again later, and must not go through it twice. */
  get isEchoing(): boolean {
    return this.#before.isEchoing || this.#after.isEchoing;
  }

  /** Track samples per sample that is heard. */
  get rate(): number {
    this.#applyFilters();
    return this.#rate?.rate ?? 1;
  }

  /** Track samples taken from the queue that have not been heard. */
  get heldSamples(): number {
    this.#applyFilters();
    return this.#loudness.heldSamples + (this.#rate?.heldSamples ?? 0);
  }

  /** Tells the fades where in its track the next sample to be heard lies. To be told whenever time has moved on. */
  setPosition(trackMs: number, { startMs, endMs }: TrackSpan): void {
    const samplesPerMs = SAMPLES_PER_MS / this.rate;
    this.fades.setPosition((endMs - trackMs) * samplesPerMs, (endMs - startMs) * samplesPerMs);
  }

  /** Takes from `track` what is needed for `lengthSamples`; returns how many samples `render` can give (maybe more). */
  prepare(track: SampleQueue, lengthSamples: number): number {
    this.#applyFilters();
    const rate = this.#rate;
    const queue = this.#loudness.over(track);
    if (rate === undefined) return queue.lengthSamples;
    if (rate.isIdentity) return rate.availableSamples + queue.lengthSamples;
    while (rate.availableSamples < lengthSamples && queue.lengthSamples > 0) this.#push(queue, rate);
    return rate.availableSamples;
  }

  /**
   * Fills the start of both arrays with the next `lengthSamples` (up to 960), but for fades and volume; at the end of
   * the track silence follows.
   */
  render(track: SampleQueue, left: Float32Array, right: Float32Array, lengthSamples: number): void {
    this.#applyFilters();
    const queue = this.#loudness.over(track);
    if (this.#rate === undefined) this.#take(queue, left, right, lengthSamples);
    else if (this.#rate.isIdentity) this.#takeRest(this.#rate, { queue, left, right, lengthSamples });
    else silenceFrom(this.#rate.readInto(left, right, lengthSamples), left, right, lengthSamples);
    this.#after.process(left, right, lengthSamples);
  }

  /** Fades and volume, in place, for what `render` gave. */
  level(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    this.fades.process(left, right, lengthSamples);
    this.#volume.process(left, right, lengthSamples);
  }

  /** Notes into `snapshot` how loud the sound is here. */
  saveLevel(snapshot: LevelSnapshot): void {
    this.fades.snapshot(snapshot);
    snapshot.volumeGain = this.#volume.gain;
  }

  /** The last `lengthSamples` are never heard: fades and volume go on from `snapshot`. To be followed by `setPosition`. */
  rewindLevel(snapshot: LevelSnapshot, lengthSamples: number): void {
    this.fades.rewind(snapshot, lengthSamples);
    this.#volume.continueFrom(snapshot.volumeGain);
  }

  /** The track is over, and all that could be taken from `track` has been: `prepare` then counts the tail too. */
  finish(): void {
    this.#applyFilters();
    this.#loudness.finish();
    const rate = this.#rate;
    if (rate === undefined) return;
    while (!rate.isIdentity && this.#loudness.lengthSamples > 0) this.#push(this.#loudness, rate);
    rate.flush();
  }

  /** Forgets track samples that were taken but not heard: a seek. */
  jump(): void {
    this.#applyFilters();
    this.#loudness.jump();
    this.#rate?.reset();
    this.#dropIdleRate();
    this.#before.jump();
    this.#after.jump();
  }

  /** Nothing was heard before: filters set meanwhile need no cross-fade. `loudnessLufs`: what the track's tags say. */
  begin(loudnessLufs?: number): void {
    this.jump();
    this.#loudness.begin(loudnessLufs);
    this.#before.settle();
    this.#after.settle();
    this.fades.begin();
    this.#volume.reset();
  }

  /** Sound goes on, maybe in another stream of the same track, whose tags say so much. */
  continueWith(loudnessLufs: number | undefined): void {
    this.#applyFilters();
    this.#loudness.continueWith(loudnessLufs);
  }

  #push(queue: SampleQueue, rate: RateFilter): void {
    const count = queue.readInto(this.#left, this.#right, FRAME_SAMPLES);
    this.#before.process(this.#left, this.#right, count);
    rate.push(this.#left, this.#right, count);
  }

  #dropIdleRate(): void {
    if (this.#rate?.isIdentity && this.#rate.availableSamples === 0) this.#rate = undefined;
  }

  #take(queue: SampleQueue, left: Float32Array, right: Float32Array, lengthSamples: number): void {
    silenceFrom(queue.readInto(left, right, lengthSamples), left, right, lengthSamples);
    this.#before.process(left, right, lengthSamples);
  }

  /** Timescale has been switched off: what it holds comes first, then it is dropped. */
  #takeRest(
    rate: RateFilter,
    {
      queue,
      left,
      right,
      lengthSamples,
    }: { queue: SampleQueue; left: Float32Array; right: Float32Array; lengthSamples: number },
  ): void {
    const held = rate.readInto(left, right, lengthSamples);
    this.#dropIdleRate();
    if (held === lengthSamples) return;
    this.#take(queue, left.subarray(held), right.subarray(held), lengthSamples - held);
  }
}

function silenceFrom(start: number, left: Float32Array, right: Float32Array, end: number): void {
  if (start === end) return;
  left.fill(0, start, end);
  right.fill(0, start, end);
}
