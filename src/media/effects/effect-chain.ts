// Processes one player's decoded track audio before it is encoded: loudness, filters, fades and volume; the parts that
// the protocol defines follow its order (protocol-v4.md section 3.3). Takes track samples from a queue and outputs
// samples to be played, as many or, with timescale, more or fewer. Each track has its own chain, held by its pipeline:
// state in delay lines and phases never passes to the next track. Audio thread.

import { activeSettingsIn, type FilterSettings } from "../../filters/filter-settings.ts";
import { FRAME_SAMPLES, SAMPLES_PER_MS } from "../format/audio-format.ts";
import { FILTERS_AFTER_TIMESCALE, FILTERS_BEFORE_TIMESCALE } from "./filters/builtin.ts";
import type { FilterDefinition } from "./filters/filter-definition.ts";
import { FilterStage } from "./filters/filter-stage.ts";
import type { RateFilter } from "./filters/rate-filter.ts";
import { TimescaleFilter } from "./filters/timescale/timescale.ts";
import { VolumeFilter } from "./filters/volume.ts";
import { LoudnessStage, type SampleQueue } from "./loudness/loudness-stage.ts";
import { type FadeSnapshot, TrackFades } from "./track-fades.ts";

/** The part of a track that is to be played, track time in milliseconds. */
export interface TrackSpan {
  readonly startMs: number;
  /** Infinity when unknown. May change while it plays. */
  readonly endMs: number;
}

/** The level of the audio at a position, to return to. Held and passed in by the caller. */
export class LevelSnapshot implements FadeSnapshot {
  lastGain: number | undefined = undefined;
  glide = 0;
  glideSamples = 0;
  volumeGain = 1;
}

/**
 * Usage in the tick: `begin` or `continueWith` when decoding of the track starts, then for each frame `prepare` until
 * it reports enough, `setPosition`, `render`, `level`; `jump` at a seek; `finish` when no more comes, and the same for
 * the rest. It throws the errors of its filters. Nothing is allocated for a frame; changed settings are applied within
 * these calls.
 */
export class EffectChain {
  /** Positioned by `setPosition`, and applied in `level`. */
  readonly fades = new TrackFades();
  readonly #loudness = new LoudnessStage();
  readonly #before = new FilterStage(() => FILTERS_BEFORE_TIMESCALE);
  readonly #after = new FilterStage(() => FILTERS_AFTER_TIMESCALE);
  readonly #ofPlugins: FilterStage;
  readonly #volume = new VolumeFilter();
  #rate: RateFilter | undefined;
  /** Settings that have not reached the filters yet. */
  #newFilters: FilterSettings | undefined;
  #filterChanges = 0;
  readonly #left = new Float32Array(FRAME_SAMPLES);
  readonly #right = new Float32Array(FRAME_SAMPLES);

  /** `ofPlugins`: the filters of plugins. Default: none. */
  constructor(ofPlugins: () => readonly FilterDefinition[] = () => []) {
    this.#ofPlugins = new FilterStage(ofPlugins);
  }

  /** 0 to 1000; a change is a ramp of 10 ms. */
  setVolume(volume: number): void {
    this.#volume.setVolume(volume);
  }

  /**
   * Replaces all filters; the change takes effect within 20 ms of audio, without a click. They are created when there
   * is audio for them, in the tick: hundreds of players that get filters at once delay nobody, and of many changes only
   * the last one counts.
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
    this.#ofPlugins.set(filters);
    const settings = activeSettingsIn(filters, "timescale");
    if (this.#rate !== undefined) this.#rate.change(settings);
    else if (settings !== undefined) this.#rate = new TimescaleFilter(settings);
    this.#dropIdleRate();
  }

  /** True when audio would come out unchanged, so that Opus packets may pass through undecoded. */
  get isNeutral(): boolean {
    return this.fades.isNeutral && this.areSettingsNeutral;
  }

  /** Like `isNeutral` without the fades, which depend on the position in the track. */
  get areSettingsNeutral(): boolean {
    this.#applyFilters();
    const areFiltersNeutral = this.#before.isNeutral && this.#rate === undefined && this.#after.isNeutral;
    return this.#loudness.isNeutral && areFiltersNeutral && this.#ofPlugins.isNeutral && this.#volume.isNeutral;
  }

  /** True when audio that went through it is audible again later, and must not go through it twice. */
  get isEchoing(): boolean {
    return this.#before.isEchoing || this.#after.isEchoing || this.#ofPlugins.isEchoing;
  }

  /** Track samples per output sample. */
  get rate(): number {
    this.#applyFilters();
    return this.#rate?.rate ?? 1;
  }

  /** Track samples taken from the queue that have not been output. */
  get heldSamples(): number {
    this.#applyFilters();
    return this.#loudness.heldSamples + (this.#rate?.heldSamples ?? 0);
  }

  /** Sets for the fades where in its track the next output sample lies. To be called whenever time has advanced. */
  setPosition(trackMs: number, { startMs, endMs }: TrackSpan): void {
    const samplesPerMs = SAMPLES_PER_MS / this.rate;
    this.fades.setPosition((endMs - trackMs) * samplesPerMs, (endMs - startMs) * samplesPerMs);
  }

  /**
   * Takes the samples from `track` that `lengthSamples` need; returns how many samples `render` can output (maybe
   * more).
   */
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
   * Fills the start of both arrays with the next `lengthSamples` (up to 960), without fades and volume; at the end of
   * the track silence follows.
   */
  render(track: SampleQueue, left: Float32Array, right: Float32Array, lengthSamples: number): void {
    this.#applyFilters();
    const queue = this.#loudness.over(track);
    if (this.#rate === undefined) this.#take(queue, left, right, lengthSamples);
    else if (this.#rate.isIdentity) this.#takeRest(this.#rate, { queue, left, right, lengthSamples });
    else silenceFrom(this.#rate.readInto(left, right, lengthSamples), left, right, lengthSamples);
    this.#after.process(left, right, lengthSamples);
    this.#ofPlugins.process(left, right, lengthSamples);
  }

  /** Applies fades and volume, in place, to the output of `render`. */
  level(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    this.fades.process(left, right, lengthSamples);
    this.#volume.process(left, right, lengthSamples);
  }

  /** Saves the level of the audio at this position to `snapshot`. */
  saveLevel(snapshot: LevelSnapshot): void {
    this.fades.snapshot(snapshot);
    snapshot.volumeGain = this.#volume.gain;
  }

  /**
   * The last `lengthSamples` are never played: fades and volume continue from `snapshot`. Call `setPosition`
   * afterwards.
   */
  rewindLevel(snapshot: LevelSnapshot, lengthSamples: number): void {
    this.fades.rewind(snapshot, lengthSamples);
    this.#volume.continueFrom(snapshot.volumeGain);
  }

  /** The track is over, and everything has been taken from `track`: `prepare` then counts the tail too. */
  finish(): void {
    this.#applyFilters();
    this.#loudness.finish();
    const rate = this.#rate;
    if (rate === undefined) return;
    while (!rate.isIdentity && this.#loudness.lengthSamples > 0) this.#push(this.#loudness, rate);
    rate.flush();
  }

  /** Discards track samples that were taken but not played: a seek. */
  jump(): void {
    this.#applyFilters();
    this.#loudness.jump();
    this.#rate?.reset();
    this.#dropIdleRate();
    this.#before.jump();
    this.#after.jump();
    this.#ofPlugins.jump();
  }

  /**
   * Starts without earlier audio: filters set in the meantime need no cross-fade. `loudnessLufs`: from the track's
   * tags.
   */
  begin(loudnessLufs?: number): void {
    this.jump();
    this.#loudness.begin(loudnessLufs);
    this.#before.settle();
    this.#after.settle();
    this.#ofPlugins.settle();
    this.fades.begin();
    this.#volume.reset();
  }

  /** Continues, maybe with another stream of the same track; `loudnessLufs` comes from its tags. */
  continueWith(loudnessLufs: number | undefined): void {
    this.#applyFilters();
    this.#loudness.continueWith(loudnessLufs);
  }

  /** Nothing is rendered any more. */
  close(): void {
    this.#before.close();
    this.#after.close();
    this.#ofPlugins.close();
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

  /** Timescale has been switched off: its buffered audio is output first, then it is dropped. */
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
