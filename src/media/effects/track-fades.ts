// The gain of one track at each moment, from its beginning, its end, and the tracks before and after it: fadeIn,
// fadeOut and crossfade of `pluginFilters.tonearm`. Works on output samples, after the filters and before the player's
// volume, so a fade's length does not depend on timescale. Audio thread; no allocation while audio runs.

import { activeSettingsIn, type FilterSettings } from "../../filters/filter-settings.ts";
import { FRAME_SAMPLES, SAMPLE_RATE_HZ, SAMPLES_PER_MS } from "../format/audio-format.ts";
import { type Fade, fadeGain, fadeOf } from "./fade-curve.ts";

/** Curves are calculated once per this many samples (1 ms), with straight lines in between. */
const PIECE_SAMPLES = SAMPLES_PER_MS;
/** A jump (a seek, new settings, another end) is spread over 20 ms. */
const GLIDE_SAMPLES = FRAME_SAMPLES;
/** A difference in gain that does not count as a jump: -66 dB. */
const SAME_GAIN = 0.0005;
/** Decoding for a fade starts this much earlier (500 ms), until when Opus may pass through. */
const DECODE_AHEAD_SAMPLES = 24_000;
/** Audio that continues this long (1 s) behind the declared end: the length was wrong, and so is the silence. */
const OVERRUN_SAMPLES_MAX = SAMPLE_RATE_HZ;

/** A fade: below 0 not started, at its length or beyond it over, in between running. */
interface RunningFade extends Fade {
  doneSamples: number;
  /** Its initial position: 0 or less. */
  readonly firstSamples: number;
}

/** The gain of the audio at a moment, to return to. */
export interface FadeSnapshot {
  lastGain: number | undefined;
  glide: number;
  glideSamples: number;
}

export class TrackFades {
  #fadeIn: RunningFade | undefined;
  #fadeOut: Fade | undefined;
  #crossfade: Fade | undefined;
  /** The crossfade from the previous track, instead of fadeIn. */
  #crossfadeIn: RunningFade | undefined;
  /** The crossfade to the next track, instead of fadeOut. */
  #crossfadeOut: RunningFade | undefined;
  /** The gain when the fade out began. */
  #fadeOutStartGain = 1;
  #isRetained = false;
  #hasBegun = false;
  /** Samples until the end of the track, and from its start to there; Infinity when unknown. */
  #remainingSamples = Number.POSITIVE_INFINITY;
  #wholeSamples = Number.POSITIVE_INFINITY;
  /**
   * The gain that the next samples must continue (1 until something is decoded: packets passed through). Undefined:
   * none.
   */
  #lastGain: number | undefined = 1;
  #glide = 0;
  #glideSamples = 0;

  /** Applies the settings. fadeIn is for tracks that have not begun; removing it ends it at once. */
  set(filters: FilterSettings): void {
    const fadeIn = fadeOf(activeSettingsIn(filters, "fadeIn"));
    if (fadeIn === undefined) this.#fadeIn = undefined;
    else if (!this.#hasBegun) this.#fadeIn = { ...fadeIn, doneSamples: 0, firstSamples: 0 };
    this.#fadeOut = fadeOf(activeSettingsIn(filters, "fadeOut"));
    this.#crossfade = fadeOf(activeSettingsIn(filters, "crossfade"));
  }

  /** True when the audio is unchanged, and will be for half a second. */
  get isNeutral(): boolean {
    if (this.#isRetained || this.#runningFade !== undefined || this.#crossfadeOut !== undefined) return false;
    if (this.#glideSamples > 0 || this.#lastGain !== 1) return false;
    return !this.#hasEnd || this.#endSamples === 0 || this.#remainingSamples > this.#endSamples + DECODE_AHEAD_SAMPLES;
  }

  /** True in the last part of a track, over which the next one may fade in. Only while crossfade is on. */
  get isEnding(): boolean {
    return this.#crossfade !== undefined && this.#hasEnd && this.#remainingSamples <= this.#endSamples;
  }

  /** Samples until the fade out reaches silence; Infinity while there is no fade out. */
  get remainingFadeOutSamples(): number {
    if (this.#crossfadeOut === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#crossfadeOut.lengthSamples - this.#crossfadeOut.doneSamples);
  }

  /** Samples until the end of the track; Infinity when unknown. */
  get remainingSamples(): number {
    return this.#hasEnd ? Math.max(0, this.#remainingSamples) : Number.POSITIVE_INFINITY;
  }

  /** The gain of the next sample. */
  get gain(): number {
    return this.#gainAt(0);
  }

  /** Sets the position of the next samples, in output samples: until the end, and from the track's start to there. */
  setPosition(remainingSamples: number, wholeSamples: number): void {
    this.#hasBegun = true;
    this.#remainingSamples = remainingSamples;
    this.#wholeSamples = wholeSamples;
  }

  /** Nothing of the track has been played: fadeIn begins with the next sample. */
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

  /** Fades in over another track. For a track that has not begun. */
  crossfadeIn(fade: Fade): void {
    this.#crossfadeIn = { ...fade, doneSamples: 0, firstSamples: 0 };
  }

  /** Fades out, from the current gain, `delaySamples` from now. A running fade out that ends sooner continues. */
  crossfadeOut(fade: Fade, delaySamples = 0): void {
    if (this.remainingFadeOutSamples <= fade.lengthSamples) return;
    this.#fadeOutStartGain = this.#outGainAt(0);
    this.#crossfadeOut = { ...fade, doneSamples: -delaySamples, firstSamples: -delaySamples };
  }

  /** Saves into `snapshot` the state that `rewind` needs to return here. */
  snapshot(snapshot: FadeSnapshot): void {
    snapshot.lastGain = this.#lastGain;
    snapshot.glide = this.#glide;
    snapshot.glideSamples = this.#glideSamples;
  }

  /**
   * The last `lengthSamples` are never played: continues from `snapshot`, made before them. Settings keep their current
   * values, and a fade out or fade in requested since then begins there. Call `setPosition` afterwards.
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

  /** The running fade in; a finished one is retained, so that `rewind` can return into it. */
  get #runningFade(): RunningFade | undefined {
    const runningFade = this.#crossfadeIn ?? this.#fadeIn;
    return runningFade !== undefined && runningFade.doneSamples < runningFade.lengthSamples ? runningFade : undefined;
  }

  get #hasEnd(): boolean {
    return this.#remainingSamples < Number.POSITIVE_INFINITY && this.#remainingSamples > -OVERRUN_SAMPLES_MAX;
  }

  /** Samples over which the track fades out at its end, 0 for none. Crossfade replaces fadeOut. */
  get #endSamples(): number {
    // Half of a short track at most, or many in a row would have ended before they are audible.
    if (this.#crossfade !== undefined) return Math.min(this.#crossfade.lengthSamples, this.#wholeSamples / 2);
    return this.#fadeOut?.lengthSamples ?? 0;
  }

  #audibleGainAt(aheadSamples: number): number {
    return this.#gainAt(aheadSamples) + this.#glideAt(aheadSamples);
  }

  /** The combined gain of all fades, without glides. */
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
