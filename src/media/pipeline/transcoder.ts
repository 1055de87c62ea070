// Decodes, filters and encodes one track, just in time: packets in, 20 ms Opus frames out, with a look-ahead of a few
// frames at most. Hides the encoder's delay: the encoder is always fed 312 samples (6.5 ms) ahead, so a frame lands
// where the packet it replaces would have landed, and a switch from or to passthrough is inaudible. Frames that were
// made and not sent can be rewound, and are made again with the current settings. Audio thread.

import type { FrameRecorder } from "../demux/demuxer.ts";
import type { EffectChain, TrackSpan } from "../effects/effect-chain.ts";
import type { FrameEncoder } from "../encode/frame-encoder.ts";
import {
  ENCODER_DELAY_SAMPLES,
  FRAME_MS,
  FRAME_SAMPLES,
  FRAMES_AHEAD_MAX,
  SAMPLES_PER_MS,
} from "../format/audio-format.ts";
import { readFrameHead } from "../opus/frame-head.ts";
import { DECODER_WARM_UP_MS } from "./packet-queue.ts";
import type { QueuedPacket } from "./packet-store.ts";
import type { PacketSupply } from "./packet-supply.ts";
import { RecentFrames } from "./recent-frames.ts";
import { TrackDecoder, type TrackDecoderOptions } from "./track-decoder.ts";

/** The part of the priming frame before the first audible sample. */
export const PRIMING_SAMPLES = FRAME_SAMPLES - ENCODER_DELAY_SAMPLES;
/** Old and new audio overlap this long at a seek (5 ms), so that the jump does not click. */
const SEEK_FADE_SAMPLES = 240;
/**
 * Limit of decoded audio retained for frames that are made again (0.6 s): enough for all of them at three times the
 * speed.
 */
const READ_RETAINED_SAMPLES_MAX = 28_800;

/** Frames that are made and not sent before one that continues those of another transcoder: filters and encoder know what came before. */
const WARM_UP_FRAMES = 11;
/** Where packets are needed from, before the position of `continueAt`, milliseconds. */
export const CONTINUE_BEFORE_MS = DECODER_WARM_UP_MS + WARM_UP_FRAMES * FRAME_MS;

/** The previous pitch filter still applies at the beginning of the first, which is then louder than all the rest. */
const MATCHING_FRAMES = 2;

/** 20 ms of audio. */
export interface AudioFrame {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/**
 * Parts of one transcoder. Each of its methods throws the errors of a decoder, a filter or the encoder: the track is
 * over then (see pipeline.ts).
 */
export interface TranscoderOptions extends Omit<TrackDecoderOptions, "onStream"> {
  readonly chain: EffectChain;
  readonly encoder: FrameEncoder;
  /** The audible part of the track. */
  readonly span: TrackSpan;
}

export class Transcoder {
  /** Encodes one continuous stream: passed to another track's transcoder when that track continues this one's audio. */
  encoder: FrameEncoder;
  readonly #options: TranscoderOptions;
  readonly #decoder: TrackDecoder;
  readonly #left = new Float32Array(FRAME_SAMPLES);
  readonly #right = new Float32Array(FRAME_SAMPLES);
  readonly #frame: AudioFrame = { left: this.#left, right: this.#right };
  readonly #recentFrames = new RecentFrames();
  /** Track time of the first sample in the fifo. */
  #headMs = 0;
  /** "no": the fifo begins with samples before the first audible one; "half": those are in the frame buffers. */
  #primed: "no" | "half" | "yes" = "no";
  /** Nothing is audible before this transcoder's audio. */
  #isFirst = true;
  /** Frames before the first one that is sent, yet to be made. */
  #warmUpFrames = 0;
  /** The track's audio is followed by the padding that flushes the last of it out of the encoder. */
  #isClosedOff = false;
  /** True when the chain has been notified of the end of the track. */
  #isFinished = false;
  /** How many of the last frames begin with the same header as the packets they replace. */
  #matchingFrames = 0;
  /** Takes the frames, as long as they are the whole track so far, unchanged. */
  #recorder: FrameRecorder | undefined;
  /** The audio that would have followed without a jump: faded out over the first new samples. */
  #fade: { readonly left: Float32Array; readonly right: Float32Array } | undefined;

  constructor(options: TranscoderOptions) {
    this.#options = options;
    this.encoder = options.encoder;
    this.#decoder = new TrackDecoder({
      ...options,
      onStream: (stream) => options.chain.continueWith(stream.loudnessLufs),
    });
  }

  /** Track time at the end of the encoded audio, as the listener receives it. */
  get encodedUntilMs(): number {
    const { chain } = this.#options;
    if (this.#recentFrames.isRepeating) return this.#recentFrames.last.endMs;
    if (this.#primed === "no") return this.#headMs + PRIMING_SAMPLES / SAMPLES_PER_MS;
    const encoderSamples = this.#primed === "yes" ? ENCODER_DELAY_SAMPLES * chain.rate : 0;
    return this.#headMs - (chain.heldSamples + encoderSamples) / SAMPLES_PER_MS;
  }

  /** True while a decoder works on a packet: an empty `encode` is then the decoder's fault, not the input's. */
  get isWaiting(): boolean {
    return this.#decoder.isWaiting;
  }

  /** Starts at a track time with nothing before it (a new track, or no history). */
  startAt(positionMs: number): void {
    this.#decoder.startAt(positionMs);
    this.#headMs = positionMs;
    this.#prependSilence();
  }

  /** To be called behind `startAt`, at the beginning of the track. */
  recordTo(recorder: FrameRecorder | undefined): void {
    this.#recorder = recorder;
  }

  /** The frames are not, or not only, the track as it is. */
  stopRecording(): void {
    this.#recorder?.giveUp();
    this.#recorder = undefined;
  }

  /** Listeners received silence frames in between: the next frame must not depend on the audio before them. */
  onSilenceSent(): void {
    if (this.#recorder?.isEmpty === false) this.stopRecording();
    this.encoder.makeNextIndependent();
  }

  /** Starts behind packets that were passed through: `history` (oldest first) warms decoder and encoder up. */
  startAfter(history: readonly QueuedPacket[]): void {
    this.#isFirst = false;
    this.#options.chain.continueWith(this.#decoder.stream.loudnessLufs);
    this.#headMs = history[0]?.packet.timestampMs ?? 0;
    this.#decoder.decodeHistory(history);
    const spareSamples = this.#decoder.fifo.lengthSamples - PRIMING_SAMPLES;
    if (spareSamples > 0) this.#discard(spareSamples);
  }

  /**
   * Starts where listeners have heard another transcoder's audio of this track, with the same settings, up to
   * `positionMs`. The supply begins at `packetsMs`, best CONTINUE_BEFORE_MS earlier: that audio warms up decoder,
   * filters and encoder.
   */
  continueAt(positionMs: number, packetsMs: number): void {
    this.#warmUpFrames = WARM_UP_FRAMES;
    const startMs = positionMs - WARM_UP_FRAMES * FRAME_MS + ENCODER_DELAY_SAMPLES / SAMPLES_PER_MS;
    const fromMs = Math.max(startMs, packetsMs);
    this.#decoder.startAt(fromMs);
    this.#headMs = startMs;
    const silence = new Float32Array(Math.round((fromMs - startMs) * SAMPLES_PER_MS));
    this.#decoder.fifo.append(silence, silence, 0, silence.length);
  }

  /** Jumps: audio decoded from the next packet on is audible from `positionMs`. A short cross-fade hides the seam. */
  jumpTo(positionMs: number): void {
    this.stopRecording();
    this.#matchingFrames = 0;
    this.#warmUpFrames = 0;
    this.#startFade();
    this.#options.chain.jump();
    this.#isClosedOff = false;
    this.#isFinished = false;
    // The encoder outputs old audio for the length of its delay; primed again it would begin with silence.
    const encoderSamples = this.#primed === "yes" ? ENCODER_DELAY_SAMPLES * this.#options.chain.rate : 0;
    this.#headMs = positionMs + encoderSamples / SAMPLES_PER_MS;
    this.#decoder.jumpTo(this.#headMs);
    this.#recentFrames.dropRewound();
    this.#recentFrames.settle();
    if (this.#primed === "no") this.#prependSilence();
    else this.#savePosition();
  }

  /** How many of the frames encoded last can be rewound: those of one run, in one encoder, and not of a mix. */
  get rewindFramesMax(): number {
    return this.#recentFrames.rewindFramesMax;
  }

  /**
   * The last `frameCount` frames (up to `rewindFramesMax`) were not sent. The next frames are their audio again, with
   * the fades and volume of then; the same audio, sample for sample, unless filters are set.
   */
  rewind(frameCount: number): void {
    const { chain, span } = this.#options;
    this.#recorder?.rewind(frameCount);
    this.#matchingFrames = 0;
    this.#recentFrames.rewind(frameCount);
    this.encoder.rewind(frameCount);
    const { level, contentMs } = this.#recentFrames.last;
    chain.rewindLevel(level, frameCount * FRAME_SAMPLES);
    chain.setPosition(contentMs, span);
  }

  /**
   * Skips forward to a track time less than 40 ms ahead, so that frames lie where packets do and packets can be passed
   * through again. Only while the chain is neutral. False when that much has not been decoded.
   */
  skipTo(positionMs: number): boolean {
    const lengthSamples = Math.round((positionMs - this.encodedUntilMs) * SAMPLES_PER_MS);
    const isReady = this.#primed === "yes" && !this.#recentFrames.isRepeating && lengthSamples >= SEEK_FADE_SAMPLES;
    if (!isReady || lengthSamples > FRAME_SAMPLES * 2 || this.#decoder.fifo.lengthSamples < lengthSamples) return false;
    this.#matchingFrames = 0;
    this.#startFade();
    this.#discard(lengthSamples - (this.#fade?.left.length ?? 0));
    this.#headMs = positionMs + ENCODER_DELAY_SAMPLES / SAMPLES_PER_MS;
    return true;
  }

  /**
   * The next Opus frame, or undefined when there is not enough audio yet, or (with `isDrained`) no more at all.
   * `replaced`: the packet that the frame replaces, when those behind it may come next.
   */
  encode(supply: PacketSupply, replaced?: Uint8Array): Uint8Array | undefined {
    if (!this.prime(supply) || !this.#renderFrame(supply)) return undefined;
    this.#matchingFrames = replaced === undefined ? 0 : this.#matchingFrames + 1;
    const head = replaced === undefined ? undefined : readFrameHead(replaced);
    const frame = this.encoder.encode(this.#left, this.#right, head);
    if (this.#recorder !== undefined) this.#record(this.#recorder, frame);
    return frame;
  }

  /** True when the next frame continues the audio before it: filters and encoder have processed that. */
  prime(supply: PacketSupply): boolean {
    if (this.#primed === "yes") return true;
    if (this.#warmUpFrames > 0) return this.#warmUp(supply);
    if (!this.#renderPriming(supply)) return false;
    // A frame that is never sent, so that the encoder has the audio before the first one that is sent.
    this.encoder.encode(this.#left, this.#right);
    this.encoder.makeNextIndependent();
    return true;
  }

  /** True when the last frames were made so that the packet behind the last replaced one can follow. */
  get canResumePassthrough(): boolean {
    return this.#matchingFrames >= MATCHING_FRAMES;
  }

  /**
   * The next frame as audio, to be encoded by another's encoder: it may be written to, and is valid until the next
   * call. The first one of a track begins with silence as long as the delay of an encoder that is already running.
   */
  render(supply: PacketSupply): AudioFrame | undefined {
    this.stopRecording();
    this.#matchingFrames = 0;
    const isThere = this.#primed === "yes" ? this.#renderFrame(supply) : this.#renderPriming(supply);
    this.#recentFrames.settle();
    return isThere ? this.#frame : undefined;
  }

  /** True when its audio continues something that a listener has received, or is about to. */
  get isRunning(): boolean {
    return this.#primed === "yes";
  }

  /** True when there is audio to begin with. */
  canBegin(supply: PacketSupply): boolean {
    this.#fill(supply);
    return this.#primed !== "no" || this.#decoder.fifo.lengthSamples >= FRAME_SAMPLES || this.#isClosedOff;
  }

  /** True when there is audio for another frame. */
  hasMore(supply: PacketSupply): boolean {
    this.#remakeWithNewFilters();
    if (this.#recentFrames.isRepeating) return true;
    const readySamples = this.#gather(supply, FRAME_SAMPLES);
    return readySamples >= FRAME_SAMPLES || (this.#isFinished && readySamples > 0);
  }

  /** True when every packet has been decoded and every sample encoded. */
  get isDrained(): boolean {
    if (this.#recentFrames.isRepeating) return false;
    if (!this.#isClosedOff || this.#decoder.fifo.lengthSamples > 0) return false;
    const { chain } = this.#options;
    return chain.heldSamples === 0 || (this.#isFinished && chain.prepare(this.#decoder.fifo, 1) === 0);
  }

  close(): void {
    const recorder = this.#recorder;
    this.#recorder = undefined;
    const { tally } = this.#options;
    const isDamaged = tally === undefined || tally.undecodedCount > 0 || tally.gapMs > 0;
    if (recorder !== undefined && this.isDrained && !isDamaged)
      recorder.finish(Math.round(this.encodedUntilMs * SAMPLES_PER_MS));
    else recorder?.giveUp();
    this.#decoder.close();
  }

  #record(recorder: FrameRecorder, frame: Uint8Array): void {
    if (this.#options.chain.isNeutral) recorder.add(frame);
    else this.stopRecording();
  }

  /**
   * Sees that the chain can render `lengthSamples`; returns how many it can now, fewer at the end or while decoding.
   */
  #gather(supply: PacketSupply, lengthSamples: number): number {
    const { chain } = this.#options;
    for (;;) {
      this.#fill(supply);
      const before = this.#decoder.fifo.lengthSamples;
      const readySamples = chain.prepare(this.#decoder.fifo, lengthSamples);
      this.#headMs += (before - this.#decoder.fifo.lengthSamples) / SAMPLES_PER_MS;
      if (readySamples >= lengthSamples) return readySamples;
      // This call's limit is reached.
      if (this.#decoder.isWaiting) return readySamples;
      if (this.#decoder.fifo.lengthSamples !== before) continue;
      // Nothing moved: more has to be decoded first, or there is no more.
      if (!this.#isClosedOff || this.#isFinished) return readySamples;
      this.#isFinished = true;
      chain.finish();
    }
  }

  /** Filters the next track samples, and mixes in the end of the audio before a jump. */
  #render(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const { chain, span } = this.#options;
    const before = this.#decoder.fifo.lengthSamples;
    chain.setPosition(this.#headMs - chain.heldSamples / SAMPLES_PER_MS, span);
    chain.render(this.#decoder.fifo, left, right, lengthSamples);
    this.#headMs += (before - this.#decoder.fifo.lengthSamples) / SAMPLES_PER_MS;
    const fade = this.#fade;
    if (fade === undefined) return;
    this.#fade = undefined;
    const fadeSamples = Math.min(fade.left.length, lengthSamples);
    for (let sample = 0; sample < fadeSamples; sample++) {
      const share = sample / fadeSamples;
      left[sample] = left[sample]! * share + fade.left[sample]! * (1 - share);
      right[sample] = right[sample]! * share + fade.right[sample]! * (1 - share);
    }
  }

  /** Renders the audio that would follow without a jump, to be faded out. */
  #startFade(): void {
    if (this.#recentFrames.isRepeating) {
      const { left, right } = this.#recentFrames.next;
      this.#fade = { left: left.slice(0, SEEK_FADE_SAMPLES), right: right.slice(0, SEEK_FADE_SAMPLES) };
    }
    if (this.#primed !== "yes" || this.#fade !== undefined) return;
    const readySamples = this.#options.chain.prepare(this.#decoder.fifo, SEEK_FADE_SAMPLES);
    const fadeSamples = Math.min(SEEK_FADE_SAMPLES, readySamples);
    if (fadeSamples === 0) return;
    const left = new Float32Array(fadeSamples);
    const right = new Float32Array(fadeSamples);
    this.#options.chain.render(this.#decoder.fifo, left, right, fadeSamples);
    this.#fade = { left, right };
  }

  /**
   * Filters were set after the rewound frames were made: returns to their position in the track, as at a jump. When
   * that is no longer available, or would be audible twice in an echo, they are output again unchanged.
   */
  #remakeWithNewFilters(): void {
    const { chain } = this.#options;
    const { fifo } = this.#decoder;
    const { last, next, isRepeating } = this.#recentFrames;
    if (!isRepeating || next.filterChanges === chain.filterChanges) return;
    const backSamples = fifo.readSamples - last.readSamples;
    if (backSamples > fifo.unreadableSamples || chain.isEchoing) return;
    this.#startFade();
    chain.jump();
    fifo.unread(backSamples);
    this.#warmUpFilters();
    this.#headMs = last.contentMs + (fifo.readSamples - last.readSamples) / SAMPLES_PER_MS;
    this.#isFinished = false;
    this.#recentFrames.dropRewound();
  }

  /** Runs the new filters over the 20 ms before, without output, as far as those are available. */
  #warmUpFilters(): void {
    const { chain } = this.#options;
    const { fifo } = this.#decoder;
    const neededSamples = Math.round(FRAME_SAMPLES * chain.rate);
    if (fifo.unreadableSamples < neededSamples) return;
    fifo.unread(neededSamples);
    const start = fifo.readSamples;
    if (chain.prepare(fifo, FRAME_SAMPLES) >= FRAME_SAMPLES) {
      chain.render(fifo, this.#left, this.#right, FRAME_SAMPLES);
      return;
    }
    chain.jump();
    fifo.unread(fifo.readSamples - start);
    fifo.discard(neededSamples);
  }

  #fill(supply: PacketSupply): void {
    this.#decoder.fill(supply);
    if (!this.#decoder.isFlushed || this.#isClosedOff) return;
    this.#isClosedOff = true;
    // The same number of extra samples flushes the encoder's delay.
    const silenceSamples = Math.ceil(ENCODER_DELAY_SAMPLES * this.#options.chain.rate);
    const silence = new Float32Array(silenceSamples);
    this.#decoder.fifo.append(silence, silence, 0, silenceSamples);
  }

  #renderFrame(supply: PacketSupply): boolean {
    if (!this.hasMore(supply)) return false;
    const { chain, span } = this.#options;
    const { isRepeating, last, next } = this.#recentFrames;
    if (isRepeating) chain.setPosition(last.contentMs, span);
    else this.#render(next.left, next.right, FRAME_SAMPLES);
    this.#left.set(next.left);
    this.#right.set(next.right);
    chain.level(this.#left, this.#right, FRAME_SAMPLES);
    this.#recentFrames.advance();
    chain.saveLevel(next.level);
    if (!isRepeating) this.#savePosition();
    return true;
  }

  /** Saves the position of the audio, so that later frames can be rewound. */
  #savePosition(): void {
    const { chain } = this.#options;
    const { fifo } = this.#decoder;
    const { last } = this.#recentFrames;
    const heldSamples = chain.heldSamples;
    last.endMs = this.encodedUntilMs;
    last.contentMs = this.#headMs - heldSamples / SAMPLES_PER_MS;
    last.readSamples = fifo.readSamples - Math.round(heldSamples);
    last.filterChanges = chain.filterChanges;
    // One more for the new filters to warm up with.
    const aheadSamples = (FRAMES_AHEAD_MAX + 1) * FRAME_SAMPLES * chain.rate;
    fifo.keepRead(Math.min(READ_RETAINED_SAMPLES_MAX, Math.ceil(aheadSamples + heldSamples)));
  }

  /** Frames that are never sent, up to the one that ends with the samples of the encoder's delay. */
  #warmUp(supply: PacketSupply): boolean {
    const { chain } = this.#options;
    if (this.#warmUpFrames === WARM_UP_FRAMES) chain.begin(this.#decoder.stream.loudnessLufs);
    for (; this.#warmUpFrames > 0; this.#warmUpFrames--) {
      if (this.#gather(supply, FRAME_SAMPLES) < FRAME_SAMPLES && !this.#isClosedOff) return false;
      this.#render(this.#left, this.#right, FRAME_SAMPLES);
      chain.level(this.#left, this.#right, FRAME_SAMPLES);
      this.encoder.encode(this.#left, this.#right);
    }
    this.encoder.makeNextIndependent();
    this.#becomePrimed();
    return true;
  }

  #becomePrimed(): void {
    this.#primed = "yes";
    this.#options.chain.saveLevel(this.#recentFrames.last.level);
    this.#savePosition();
  }

  /** The samples before the first frame, and as many of the frame as the encoder's delay. */
  #renderPriming(supply: PacketSupply): boolean {
    const { chain } = this.#options;
    if (this.#primed === "no") {
      this.#fill(supply);
      if (this.#decoder.fifo.lengthSamples < FRAME_SAMPLES && !this.#isClosedOff) return false;
      if (this.#isFirst) chain.begin(this.#decoder.stream.loudnessLufs);
      this.#readRaw(PRIMING_SAMPLES);
      this.#primed = "half";
    }
    const readySamples = this.#gather(supply, ENCODER_DELAY_SAMPLES);
    if (readySamples < ENCODER_DELAY_SAMPLES && !this.#isFinished) return false;
    const newLeft = this.#left.subarray(PRIMING_SAMPLES);
    const newRight = this.#right.subarray(PRIMING_SAMPLES);
    this.#render(newLeft, newRight, ENCODER_DELAY_SAMPLES);
    chain.level(newLeft, newRight, ENCODER_DELAY_SAMPLES);
    this.#becomePrimed();
    return true;
  }

  #prependSilence(): void {
    this.#left.fill(0);
    this.#decoder.fifo.append(this.#left, this.#left, 0, PRIMING_SAMPLES);
    this.#headMs -= PRIMING_SAMPLES / SAMPLES_PER_MS;
  }

  /** Track samples as they are. */
  #readRaw(lengthSamples: number): void {
    const count = this.#decoder.fifo.readInto(this.#left, this.#right, lengthSamples);
    this.#left.fill(0, count);
    this.#right.fill(0, count);
    this.#headMs += count / SAMPLES_PER_MS;
  }

  #discard(lengthSamples: number): void {
    for (let left = lengthSamples; left > 0; left -= FRAME_SAMPLES) {
      this.#readRaw(Math.min(left, FRAME_SAMPLES));
    }
  }
}
