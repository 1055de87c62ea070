// How loud one track is at each moment for the sake of its beginning, its end, and the tracks before and behind it:
// fadeIn, fadeOut and crossfade of `pluginFilters.tonearm`. Works on sound as it is heard, behind the filters and
// before the player's volume, so a fade lasts as long whatever timescale does. Audio thread; no allocation while sound
// runs.

import { activeSettingsIn, type FilterSettings } from "../../filters/filter-settings.ts";
import { FRAME_SAMPLES, SAMPLE_RATE_HZ, SAMPLES_PER_MS } from "../format/audio-format.ts";
import { type Fade, fadeGain, fadeOf } from "./fade-curve.ts";

/** Curves are calculated once in so many samples (1 ms), straight lines lie between. */
const PIECE_SAMPLES = SAMPLES_PER_MS;
/** A jump (a seek, new settings, another end) is spread over 20 ms. */
const GLIDE_SAMPLES = FRAME_SAMPLES;
/** A difference in loudness that is no jump: -66 dB. */
const SAME_GAIN = 0.0005;
/** What has to be decoded for a fade is decoded this much earlier (500 ms), until when Opus may pass through. */
const DECODE_AHEAD_SAMPLES = 24_000;
/** Sound that goes on this long (1 s) behind the end that was told: the length was wrong, and so is the silence. */
const OVERRUN_SAMPLES_MAX = SAMPLE_RATE_HZ;

/** A fade: under way, below 0 still to begin, at its length or beyond it over. */
interface RunningFade extends Fade {
  doneSamples: number;
  /** What it began with: 0 or less. */
  readonly firstSamples: number;
}

/** How loud sound was left, to be gone back to. */
export interface FadeSnapshot {
  lastGain: number | undefined;
  glide: number;
  glideSamples: number;
}

export class TrackFades {
  #fadeIn: RunningFade | undefined;
  #fadeOut: Fade | undefined;
  #crossfade: Fade | undefined;
  /** The crossfade from the track before, in place of fadeIn. */
  #crossfadeIn: RunningFade | undefined;
  /** On the way out, in place of fadeOut. */
  #crossfadeOut: RunningFade | undefined;
  /** How loud it was when it began to fall. */
  #fadeOutStartGain = 1;
  #isRetained = false;
  #hasBegun = false;
  /** Until the end of the track, and from its start to there; Infinity when nobody knows. */
  #remainingSamples = Number.POSITIVE_INFINITY;
  #wholeSamples = Number.POSITIVE_INFINITY;
  /**
   * What comes next has to follow on this (until something is decoded: packets as they came). Undefined: on nothing.
   */
  #lastGain: number | undefined = 1;
  #glide = 0;
  #glideSamples = 0;

  /** Takes over the settings. fadeIn is for tracks that have not begun; taken away it lets go at once. */
  set(filters: FilterSettings): void {
    const fadeIn = fadeOf(activeSettingsIn(filters, "fadeIn"));
    if (fadeIn === undefined) this.#fadeIn = undefined;
    else if (!this.#hasBegun) this.#fadeIn = { ...fadeIn, doneSamples: 0, firstSamples: 0 };
    this.#fadeOut = fadeOf(activeSettingsIn(filters, "fadeOut"));
    this.#crossfade = fadeOf(activeSettingsIn(filters, "crossfade"));
  }

  /** True when sound is left as it is, and will be for half a second. */
  get isNeutral(): boolean {
    if (this.#isRetained || this.#runningFade !== undefined || this.#crossfadeOut !== undefined) return false;
    if (this.#glideSamples > 0 || this.#lastGain !== 1) return false;
    return !this.#hasEnd || this.#endSamples === 0 || this.#remainingSamples > this.#endSamples + DECODE_AHEAD_SAMPLES;
  }

  /** True in the last part of a track, over which the next one may come in. Only while crossfade is on. */
  get isEnding(): boolean {
    return this.#crossfade !== undefined && this.#hasEnd && this.#remainingSamples <= this.#endSamples;
  }

  /** Samples until it has fallen silent; Infinity while it does not fall. */
  get remainingFadeOutSamples(): number {
    if (this.#crossfadeOut === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#crossfadeOut.lengthSamples - this.#crossfadeOut.doneSamples);
  }

  /** Samples until the end of the track; Infinity when nobody knows. */
  get remainingSamples(): number {
    return this.#hasEnd ? Math.max(0, this.#remainingSamples) : Number.POSITIVE_INFINITY;
  }

  /** How loud what comes next is. */
  get gain(): number {
    return this.#gainAt(0);
  }

  /**
   * Tells where the next samples are, in samples as they are heard: until the end, and from the track's start to there.
   */
  setPosition(remainingSamples: number, wholeSamples: number): void {
    this.#hasBegun = true;
    this.#remainingSamples = remainingSamples;
    this.#wholeSamples = wholeSamples;
  }

  /** Nothing of the track has been heard: fadeIn begins with the next sample. */
  begin(): void {
    this.#hasBegun = true;
    this.#lastGain = undefined;
    this.#glideSamples = 0;
    if (this.#fadeIn !== undefined) this.#fadeIn.doneSamples = 0;
  }

  /** The track will be mixed: it must be decoded from now on. */
  keepDecoded(): void {
    this.#isRetained = true;
  }

  /** It comes in over another track. For a track that has not begun. */
  crossfadeIn(fade: Fade): void {
    this.#crossfadeIn = { ...fade, doneSamples: 0, firstSamples: 0 };
  }

  /** It goes, from as loud as it is now, `delaySamples` from now. A fall under way that is over sooner goes on. */
  crossfadeOut(fade: Fade, delaySamples = 0): void {
    if (this.remainingFadeOutSamples <= fade.lengthSamples) return;
    this.#fadeOutStartGain = this.#outGainAt(0);
    this.#crossfadeOut = { ...fade, doneSamples: -delaySamples, firstSamples: -delaySamples };
  }

  /** Notes into `snapshot` what `rewind` needs to come back to here. */
  snapshot(snapshot: FadeSnapshot): void {
    snapshot.lastGain = this.#lastGain;
    snapshot.glide = this.#glide;
    snapshot.glideSamples = this.#glideSamples;
  }

  /**
   * The last `lengthSamples` are never heard: goes on from `snapshot`, made before them. Settings stay as they are now, and
   * a fall or rise asked for meanwhile begins there. To be followed by `setPosition`.
   */
  rewind(snapshot: FadeSnapshot, lengthSamples: number): void {
    this.#lastGain = snapshot.lastGain;
    this.#glide = snapshot.glide;
    this.#glideSamples = snapshot.glideSamples;
    for (const runningFade of [this.#crossfadeIn, this.#fadeIn, this.#crossfadeOut]) {
      if (runningFade !== undefined)
        runningFade.doneSamples = Math.max(runningFade.firstSamples, runningFade.doneSamples - lengthSamples);
    }
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (this.isNeutral) {
      this.#advance(lengthSamples);
      return;
    }
    for (let start = 0; start < lengthSamples; start += PIECE_SAMPLES) {
      this.#spreadJump();
      const count = Math.min(PIECE_SAMPLES, lengthSamples - start);
      let gain = this.#audibleGainAt(0);
      const endGain = this.#audibleGainAt(count);
      const step = (endGain - gain) / count;
      if (gain !== 1 || endGain !== 1) {
        for (let sample = start; sample < start + count; sample++) {
          left[sample] = left[sample]! * gain;
          right[sample] = right[sample]! * gain;
          gain += step;
        }
      }
      this.#lastGain = this.#gainAt(count);
      this.#advance(count);
    }
  }

  /** The rise under way; what is over stays at hand to be gone back into. */
  get #runningFade(): RunningFade | undefined {
    const runningFade = this.#crossfadeIn ?? this.#fadeIn;
    return runningFade !== undefined && runningFade.doneSamples < runningFade.lengthSamples ? runningFade : undefined;
  }

  get #hasEnd(): boolean {
    return this.#remainingSamples < Number.POSITIVE_INFINITY && this.#remainingSamples > -OVERRUN_SAMPLES_MAX;
  }

  /** Over what the track falls at its end, 0 for not at all. Crossfade stands in place of fadeOut. */
  get #endSamples(): number {
    // Half of a short track at most, or many in a row would have ended before they are heard.
    if (this.#crossfade !== undefined) return Math.min(this.#crossfade.lengthSamples, this.#wholeSamples / 2);
    return this.#fadeOut?.lengthSamples ?? 0;
  }

  #audibleGainAt(aheadSamples: number): number {
    return this.#gainAt(aheadSamples) + this.#glideAt(aheadSamples);
  }

  /** What all fades together come to, without glides. */
  #gainAt(aheadSamples: number): number {
    const runningFade = this.#runningFade;
    const inGain =
      runningFade === undefined
        ? 1
        : fadeGain(runningFade.curve, (runningFade.doneSamples + aheadSamples) / runningFade.lengthSamples);
    return inGain * this.#outGainAt(aheadSamples);
  }

  #outGainAt(aheadSamples: number): number {
    const crossfadeOut = this.#crossfadeOut;
    if (crossfadeOut !== undefined) {
      const share = (crossfadeOut.doneSamples + aheadSamples) / crossfadeOut.lengthSamples;
      return this.#fadeOutStartGain * fadeGain(crossfadeOut.curve, 1 - share);
    }
    const end = this.#crossfade ?? this.#fadeOut;
    if (end === undefined || !this.#hasEnd) return 1;
    return fadeGain(end.curve, (this.#remainingSamples - aheadSamples) / this.#endSamples);
  }

  #glideAt(aheadSamples: number): number {
    return this.#glide * Math.max(0, (this.#glideSamples - aheadSamples) / GLIDE_SAMPLES);
  }

  #spreadJump(): void {
    if (this.#lastGain === undefined) return;
    const jump = this.#lastGain - this.#gainAt(0);
    if (Math.abs(jump) < SAME_GAIN) return;
    this.#glide = jump + this.#glideAt(0);
    this.#glideSamples = GLIDE_SAMPLES;
  }

  #advance(lengthSamples: number): void {
    const runningFade = this.#crossfadeIn ?? this.#fadeIn;
    if (runningFade !== undefined) runningFade.doneSamples += lengthSamples;
    if (this.#crossfadeOut !== undefined) this.#crossfadeOut.doneSamples += lengthSamples;
    this.#remainingSamples -= lengthSamples;
    this.#glideSamples = Math.max(0, this.#glideSamples - lengthSamples);
  }
}
