// The previous track. It plays until the next one is audible or, with crossfade, fades out while the next one fades in.
// Both are decoded and filtered separately, then mixed and encoded by one encoder, so that listeners hear no seam. At
// most two tracks play at once. Drives both inside the tick, for player-tracks.ts. Audio thread.

import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { Fade } from "../effects/fade-curve.ts";
import { FRAME_SAMPLES } from "../format/audio-format.ts";
import { clamp } from "../format/clamp.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import { type AudioFrame, PRIMING_SAMPLES } from "../pipeline/transcoder.ts";

/** A track that must make space for a third one fades out in 100 ms. */
const MAKE_SPACE_FADE: Fade = { lengthSamples: 4800, curve: "sine" };
/** Fades are at least one frame (20 ms) long. */
const FADE_SAMPLES_MIN = FRAME_SAMPLES;

interface LeavingTrackOptions {
  readonly pipeline: Pipeline;
  /** Its fade out. Undefined: none, it ends when the next track becomes audible. */
  readonly crossfade: Fade | undefined;
  /** The track that it has faded in over, if that is still audible. */
  readonly before: LeavingTrack | undefined;
}

export class LeavingTrack {
  readonly #pipeline: Pipeline;
  readonly #crossfade: Fade | undefined;
  #before: LeavingTrack | undefined;
  /** The pipeline it is mixed with, whose encoder makes the packets of the mix. */
  #partner: Pipeline | undefined;
  #isPartnerObsolete = false;
  #isOver = false;
  #isNextAudible = false;

  constructor({ pipeline, crossfade, before }: LeavingTrackOptions) {
    this.#pipeline = pipeline;
    this.#crossfade = crossfade;
    this.#before = before;
    if (crossfade !== undefined) pipeline.keepDecoded();
  }

  /** It is no longer audible, and closed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The last result of `produce` contains audio of the next track. */
  get isNextAudible(): boolean {
    return this.#isNextAudible;
  }

  /** False for a track that only waits for the next one. */
  get canFade(): boolean {
    return this.#crossfade !== undefined;
  }

  /** True while both this track and the next one are audible. */
  get isMixing(): boolean {
    return this.#partner !== undefined && !this.#isPartnerObsolete;
  }

  /**
   * The next 20 ms as one Opus packet: of this track, of both, or of the next one only. Undefined when all are starved.
   */
  produce(next: Pipeline | undefined): Uint8Array | undefined {
    this.#isNextAudible = false;
    const partner = this.#partner;
    if (partner !== undefined) return this.#mix(partner, partner === next ? undefined : next);
    if (this.#crossfade === undefined) return this.#produceNextOrOwn(next);
    if (next?.canRender() === true) {
      // Space for the third track first.
      if (this.#before === undefined) return this.#begin(next, this.#crossfade);
      this.#before.crossfadeOut(MAKE_SPACE_FADE);
    }
    return this.#produceOwnOrNext(next);
  }

  /** Fades out, whether or not another track follows. */
  crossfadeOut(fade: Fade | undefined = this.#crossfade): void {
    if (fade === undefined) return;
    const lengthSamples = Math.max(FADE_SAMPLES_MIN, Math.min(fade.lengthSamples, this.#pipeline.remainingSamples));
    this.#pipeline.crossfadeOut({ lengthSamples, curve: fade.curve });
  }

  /**
   * The track that this one is mixed with has been replaced before it was the louder one: that track fades out quickly,
   * and this one continues its fade out until a third track is available. False when this track is to make space, or no
   * track.
   */
  dropNext(): boolean {
    const partner = this.#partner;
    if (partner === undefined || this.#isPartnerObsolete) return false;
    if (partner.gain >= this.#pipeline.gain) return false;
    partner.crossfadeOut(MAKE_SPACE_FADE);
    this.#isPartnerObsolete = true;
    return true;
  }

  setVolume(volume: number): void {
    this.#pipeline.setVolume(volume);
    this.#before?.setVolume(volume);
    if (this.#isPartnerObsolete) this.#partner?.setVolume(volume);
  }

  setFilters(filters: FilterSettings): void {
    this.#pipeline.setFilters(filters);
    this.#before?.setFilters(filters);
    if (this.#isPartnerObsolete) this.#partner?.setFilters(filters);
  }

  onSilenceSent(): void {
    (this.#partner ?? this.#pipeline).onSilenceSent();
    this.#before?.onSilenceSent();
  }

  close(): void {
    this.#isOver = true;
    this.#before?.close();
    this.#pipeline.close();
    if (this.#isPartnerObsolete) this.#partner?.close();
  }

  /** Starts the mix when the next track has audio. */
  #begin(next: Pipeline, crossfade: Fade): Uint8Array | undefined {
    const own = this.#pipeline;
    const canMix = own.isTranscoding && !own.isEnded && own.remainingFadeOutSamples > 0;
    if (!canMix) return this.#produceOwnOrNext(next);
    const { curve } = crossfade;
    const fadeSamples = Math.min(crossfade.lengthSamples, own.remainingSamples, own.remainingFadeOutSamples);
    const lengthSamples = Math.max(FADE_SAMPLES_MIN, fadeSamples);
    next.crossfadeIn({ lengthSamples, curve });
    const frame = next.render();
    if (frame === undefined) return this.#produceOwnOrNext(next);
    // The next track's first frame begins with silence; this one starts to fade out when that one starts to fade in.
    own.crossfadeOut({ lengthSamples, curve }, PRIMING_SAMPLES);
    own.exchangeEncoders(next);
    this.#partner = next;
    return this.#encodeMix(next, this.#renderOwn(), frame);
  }

  /** `third`: the track after both, when the partner has been replaced. */
  #mix(partner: Pipeline, third: Pipeline | undefined): Uint8Array | undefined {
    const hasMadeSpace = this.#isPartnerObsolete && partner.remainingFadeOutSamples === 0;
    const frame = hasMadeSpace ? undefined : partner.render();
    if (!hasMadeSpace && (frame !== undefined || !partner.isEnded)) {
      return this.#encodeMix(partner, this.#renderOwn(), frame);
    }
    // The partner ends first: this track continues from the position it had in the mix.
    this.#pipeline.exchangeEncoders(partner);
    if (this.#isPartnerObsolete) partner.close();
    this.#partner = undefined;
    this.#isPartnerObsolete = false;
    return this.produce(third);
  }

  /** This track's next frame; its last one ends in silence, so that nothing breaks off. */
  #renderOwn(): AudioFrame | undefined {
    const pipeline = this.#pipeline;
    const frame = pipeline.render();
    if (frame !== undefined && pipeline.hasMore && pipeline.remainingFadeOutSamples > 0) return frame;
    this.#isOver = true;
    if (frame !== undefined) fadeToSilence(frame);
    return frame;
  }

  #encodeMix(partner: Pipeline, own: AudioFrame | undefined, others: AudioFrame | undefined): Uint8Array | undefined {
    this.#isNextAudible = others !== undefined && !this.#isPartnerObsolete;
    if (own !== undefined && others !== undefined) addUp(own, others);
    const mix = own ?? others;
    const packet = mix === undefined ? undefined : partner.encode(mix);
    if (this.#isOver) this.#endMix();
    return packet;
  }

  /** The partner continues by itself, with the encoder it has. */
  #endMix(): void {
    this.#pipeline.close();
    if (this.#isPartnerObsolete) this.#partner?.close();
    this.#partner = undefined;
  }

  #produceNextOrOwn(next: Pipeline | undefined): Uint8Array | undefined {
    const frame = next?.produce();
    if (frame === undefined) return this.#produceOwn();
    this.#isNextAudible = true;
    this.close();
    return frame;
  }

  /** With crossfade this track plays as long as it has audio. */
  #produceOwnOrNext(next: Pipeline | undefined): Uint8Array | undefined {
    const own = this.#produceOwn();
    if (own !== undefined || next === undefined) return own;
    const frame = next.produce();
    if (frame === undefined) return undefined;
    this.#isNextAudible = true;
    this.close();
    return frame;
  }

  #produceOwn(): Uint8Array | undefined {
    const before = this.#before;
    if (before !== undefined) {
      const frame = before.produce(this.#pipeline);
      if (before.isOver) this.#before = undefined;
      if (frame !== undefined || !before.isOver) return frame;
    }
    const isSilent = this.#pipeline.remainingFadeOutSamples === 0;
    const frame = isSilent ? undefined : this.#pipeline.produce();
    if (isSilent || (frame === undefined && this.#pipeline.isEnded)) this.close();
    return frame;
  }
}

function addUp(sum: AudioFrame, other: AudioFrame): void {
  const { left, right } = sum;
  for (let sample = 0; sample < left.length; sample++) {
    left[sample] = clamp(left[sample]! + other.left[sample]!);
    right[sample] = clamp(right[sample]! + other.right[sample]!);
  }
}

function fadeToSilence({ left, right }: AudioFrame): void {
  for (let sample = 0; sample < left.length; sample++) {
    const gain = 1 - (sample + 1) / left.length;
    left[sample] = left[sample]! * gain;
    right[sample] = right[sample]! * gain;
  }
}
