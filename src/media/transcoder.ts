// Decoding, shaping and encoding of one track, just in time: packets in, 20 ms Opus frames out, with a look-ahead of a few
// frames at most. Keeps the encoder's delay out of the sound: the encoder is always fed 312 samples (6.5 ms) ahead, so a
// frame made here lands where the packet it replaces would have landed, and a switch from or to passthrough is not heard.
// Audio thread.

import { StereoFifo } from "../lib/stereo-fifo.ts";
import type { Decoder, PcmBlock } from "./decode/decoder.ts";
import { StereoConverter } from "./decode/stereo-converter.ts";
import type { AudioStream } from "./demux/demuxer.ts";
import type { OpusFrameEncoder } from "./encode/opus-encoder.ts";
import type { QueuedPacket } from "./packet-queue.ts";
import type { SoundChain } from "./sound-chain.ts";

const FRAME_SAMPLES = 960;
const SAMPLES_PER_MS = 48;
/** libopus' look-ahead at 48 kHz with the AUDIO application (OPUS_GET_LOOKAHEAD). */
const ENCODER_DELAY_SAMPLES = 312;
/** The part of the priming frame that lies before the first sample to be heard. */
export const PRIMING_SAMPLES = FRAME_SAMPLES - ENCODER_DELAY_SAMPLES;
/** Old and new sound overlap this long at a seek (5 ms), so that the jump does not click. */
const SEEK_FADE_SAMPLES = 240;
/** Decoded sound kept ready: two frames for decoders that answer at once, 100 ms for those that answer later. */
const TARGET_SAMPLES_SYNC = 2 * FRAME_SAMPLES;
const TARGET_SAMPLES_ASYNC = 5 * FRAME_SAMPLES;
/** Times of packets may wander by this much against the decoded samples before they are believed again. */
const DRIFT_MS_MAX = 60;

/** Where packets come from and whether more will come. */
export interface PacketSupply {
  take(): QueuedPacket | undefined;
  readonly isFinished: boolean;
}

/** 20 ms of sound. */
export interface SoundFrame {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/** Decoders are made elsewhere, asynchronously; see `TranscoderOptions.createDecoder`. */
export interface TranscoderOptions {
  readonly chain: SoundChain;
  readonly encoder: OpusFrameEncoder;
  readonly decoder: Decoder;
  readonly stream: AudioStream;
  readonly createDecoder: (stream: AudioStream) => Promise<Decoder>;
  readonly onFailure: (error: unknown) => void;
  /** Told the song time of what is heard next, before it goes through the chain's last stages. */
  readonly onRender: (songMs: number) => void;
}

export class Transcoder {
  /** Its packets follow on each other: it changes hands when another song goes on where this one was heard. */
  encoder: OpusFrameEncoder;
  readonly #options: TranscoderOptions;
  readonly #fifo = new StereoFifo();
  readonly #left = new Float32Array(FRAME_SAMPLES);
  readonly #right = new Float32Array(FRAME_SAMPLES);
  readonly #frame: SoundFrame = { left: this.#left, right: this.#right };
  #converter: StereoConverter;
  #decoder: Decoder;
  #stream: AudioStream;
  /** A decode or a change of decoder that has not answered yet. */
  #isWaiting = false;
  #isAsync = false;
  #isFlushed = false;
  #isClosed = false;
  /** Song time of the first sample in the fifo. */
  #headMs = 0;
  /** Decoded sound before this song time is dropped. */
  #dropBeforeMs = 0;
  /** Song time of the next decoded sample; undefined after a jump, until a packet tells. */
  #nextMs: number | undefined;
  /** "no": the fifo begins with what lies before the first sample to be heard; "half": that is in the frame buffers. */
  #primed: "no" | "half" | "yes" = "no";
  /** Nothing is heard before this transcoder's sound. */
  #isFirst = true;
  /** The chain knows that the song is over. */
  #isFinished = false;
  /** What would have been heard without a jump: faded out over the first new samples. */
  #fade: { readonly left: Float32Array; readonly right: Float32Array } | undefined;
  #run = 0;

  constructor(options: TranscoderOptions) {
    this.#options = options;
    this.encoder = options.encoder;
    this.#decoder = options.decoder;
    this.#stream = options.stream;
    this.#converter = new StereoConverter({ codec: options.stream.codec });
  }

  /** Song time at the end of what has been encoded, as the listener hears it. */
  get encodedUntilMs(): number {
    const { chain } = this.#options;
    if (this.#primed === "no") return this.#headMs + PRIMING_SAMPLES / SAMPLES_PER_MS;
    const encoderSamples = this.#primed === "yes" ? ENCODER_DELAY_SAMPLES * chain.rate : 0;
    return this.#headMs - (chain.heldSamples + encoderSamples) / SAMPLES_PER_MS;
  }

  /** True while a decoder works on a packet: an empty `encode` is then the decoder's fault, not the input's. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Starts at a song time with nothing before it (a new track, or no history). */
  startAt(positionMs: number): void {
    this.#dropBeforeMs = positionMs;
    this.#headMs = positionMs;
    this.#prependSilence();
  }

  /** Starts behind packets that were passed through: `history` (oldest first) warms decoder and encoder up. */
  startAfter(history: readonly QueuedPacket[]): void {
    this.#isFirst = false;
    this.#options.chain.continueWith(this.#stream.loudnessLufs);
    this.#dropBeforeMs = Number.NEGATIVE_INFINITY;
    this.#headMs = history[0]?.packet.timestampMs ?? 0;
    for (const entry of history) {
      const block = this.#decoder.decode(entry.packet.data);
      // Only Opus is passed through, and its decoder answers at once.
      if (block instanceof Promise) throw new Error("the Opus decoder must be synchronous");
      this.#append(block, entry);
    }
    const spareSamples = this.#fifo.lengthSamples - PRIMING_SAMPLES;
    if (spareSamples > 0) this.#discard(spareSamples);
  }

  /** Jumps: what is decoded from the next packet on is heard from `positionMs`. A short cross-fade hides the seam. */
  jumpTo(positionMs: number): void {
    this.#run += 1;
    this.#startFade();
    this.#fifo.clear();
    this.#converter.reset();
    void Promise.resolve(this.#decoder.reset()).catch(this.#options.onFailure);
    this.#options.chain.jump();
    this.#isFlushed = false;
    this.#isFinished = false;
    this.#nextMs = undefined;
    // The encoder still gives old sound for as long as it is behind; primed anew it would begin with silence.
    const encoderSamples = this.#primed === "yes" ? ENCODER_DELAY_SAMPLES * this.#options.chain.rate : 0;
    this.#dropBeforeMs = positionMs + encoderSamples / SAMPLES_PER_MS;
    this.#headMs = this.#dropBeforeMs;
    if (this.#primed === "no") this.#prependSilence();
  }

  /**
   * Skips forward to a song time less than 40 ms ahead, so that frames lie where packets do and packets can be passed
   * through again. Only while the chain is neutral. False when that much has not been decoded.
   */
  skipTo(positionMs: number): boolean {
    const lengthSamples = Math.round((positionMs - this.encodedUntilMs) * SAMPLES_PER_MS);
    const isReady = this.#primed === "yes" && lengthSamples >= SEEK_FADE_SAMPLES;
    if (!isReady || lengthSamples > FRAME_SAMPLES * 2 || this.#fifo.lengthSamples < lengthSamples) return false;
    this.#startFade();
    this.#discard(lengthSamples - (this.#fade?.left.length ?? 0));
    this.#headMs = positionMs + ENCODER_DELAY_SAMPLES / SAMPLES_PER_MS;
    return true;
  }

  /** The next Opus frame, or undefined when there is not enough sound yet, or (with `isDrained`) no more at all. */
  encode(supply: PacketSupply): Uint8Array | undefined {
    if (this.#primed !== "yes") {
      // A frame that nobody hears, so that the encoder knows what came before the first one that is sent.
      if (!this.#renderPriming(supply)) return undefined;
      this.encoder.encode(this.#left, this.#right);
      this.encoder.makeNextIndependent();
    }
    return this.#renderFrame(supply) ? this.encoder.encode(this.#left, this.#right) : undefined;
  }

  /**
   * The next frame as sound, to be encoded by another's encoder: it may be written to, and holds until the next call. The
   * first one of a song begins with silence, as an encoder that is under way gives sound later by as much as it is behind.
   */
  render(supply: PacketSupply): SoundFrame | undefined {
    const isThere = this.#primed === "yes" ? this.#renderFrame(supply) : this.#renderPriming(supply);
    return isThere ? this.#frame : undefined;
  }

  /** True when its sound follows on something: a listener has heard it, or is about to. */
  get isRunning(): boolean {
    return this.#primed === "yes";
  }

  /** True when there is sound to begin with. */
  canBegin(supply: PacketSupply): boolean {
    this.#fill(supply);
    return this.#primed !== "no" || this.#fifo.lengthSamples >= FRAME_SAMPLES || this.#isFlushed;
  }

  /** True when there is sound for another frame. */
  hasMore(supply: PacketSupply): boolean {
    const readySamples = this.#gather(supply, FRAME_SAMPLES);
    return readySamples >= FRAME_SAMPLES || (this.#isFinished && readySamples > 0);
  }

  /** True when every packet has been decoded and every sample encoded. */
  get isDrained(): boolean {
    if (!this.#isFlushed || this.#fifo.lengthSamples > 0) return false;
    const { chain } = this.#options;
    return chain.heldSamples === 0 || (this.#isFinished && chain.prepare(this.#fifo, 1) === 0);
  }

  close(): void {
    this.#isClosed = true;
    this.#run += 1;
    this.#decoder.close();
  }

  /** Sees that the chain can render `lengthSamples`; returns how many it can now, fewer at the end or while decoding. */
  #gather(supply: PacketSupply, lengthSamples: number): number {
    const { chain } = this.#options;
    for (;;) {
      this.#fill(supply);
      const before = this.#fifo.lengthSamples;
      const readySamples = chain.prepare(this.#fifo, lengthSamples);
      this.#headMs += (before - this.#fifo.lengthSamples) / SAMPLES_PER_MS;
      if (readySamples >= lengthSamples) return readySamples;
      if (this.#fifo.lengthSamples !== before) continue;
      // Nothing moved: more has to be decoded first, or there is no more.
      if (!this.#isFlushed || this.#isFinished) return readySamples;
      this.#isFinished = true;
      chain.finish();
    }
  }

  /** What the chain makes of the next song samples, with the end of what was before a jump. */
  #render(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const { chain } = this.#options;
    const before = this.#fifo.lengthSamples;
    this.#options.onRender(this.#headMs - chain.heldSamples / SAMPLES_PER_MS);
    chain.render(this.#fifo, left, right, lengthSamples);
    this.#headMs += (before - this.#fifo.lengthSamples) / SAMPLES_PER_MS;
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

  /** Renders what would come next without a jump, to be faded out. */
  #startFade(): void {
    if (this.#primed !== "yes" || this.#fade !== undefined) return;
    const readySamples = this.#options.chain.prepare(this.#fifo, SEEK_FADE_SAMPLES);
    const fadeSamples = Math.min(SEEK_FADE_SAMPLES, readySamples);
    if (fadeSamples === 0) return;
    const left = new Float32Array(fadeSamples);
    const right = new Float32Array(fadeSamples);
    this.#options.chain.render(this.#fifo, left, right, fadeSamples);
    this.#fade = { left, right };
  }

  #fill(supply: PacketSupply): void {
    const targetSamples = this.#isAsync ? TARGET_SAMPLES_ASYNC : TARGET_SAMPLES_SYNC;
    while (!this.#isWaiting && !this.#isFlushed && this.#fifo.lengthSamples < targetSamples) {
      const entry = supply.take();
      if (entry === undefined) {
        if (supply.isFinished) this.#flush();
        return;
      }
      if (entry.stream !== this.#stream) this.#changeDecoder(entry, supply);
      else this.#decode(entry, supply);
    }
  }

  #decode(entry: QueuedPacket, supply: PacketSupply): void {
    const block = this.#tryDecode(entry.packet.data);
    if (!(block instanceof Promise)) {
      if (block !== undefined) this.#append(block, entry);
      return;
    }
    this.#isAsync = true;
    this.#await(block, supply, (pcm) => this.#append(pcm, entry));
  }

  /** A decoder throws only when it cannot go on at all. */
  #tryDecode(packet: Uint8Array): PcmBlock | Promise<PcmBlock> | undefined {
    try {
      return this.#decoder.decode(packet);
    } catch (error) {
      this.#options.onFailure(error);
      return undefined;
    }
  }

  /** Chained files: the next packet belongs to another stream. */
  #changeDecoder(entry: QueuedPacket, supply: PacketSupply): void {
    this.#stream = entry.stream;
    this.#nextMs = undefined;
    const run = this.#run;
    const whenChanged = this.#options.createDecoder(entry.stream).then((decoder) => {
      if (this.#isClosed) {
        decoder.close();
        return;
      }
      // Also behind a jump: what comes next is of this stream, or changes the decoder again.
      this.#decoder.close();
      this.#decoder = decoder;
      if (run === this.#run) this.#converter.flush(this.#fifo);
      this.#converter = new StereoConverter({ codec: entry.stream.codec });
      this.#options.chain.continueWith(entry.stream.loudnessLufs);
    });
    this.#await(whenChanged, supply, () => this.#decode(entry, supply));
  }

  #flush(): void {
    this.#isFlushed = true;
    const block = this.#decoder.flush();
    const finish = (pcm: PcmBlock) => {
      this.#append(pcm, undefined);
      this.#converter.flush(this.#fifo);
      // What the encoder still holds back comes out with as many samples more.
      const silenceSamples = Math.ceil(ENCODER_DELAY_SAMPLES * this.#options.chain.rate);
      const silence = new Float32Array(silenceSamples);
      this.#fifo.append(silence, silence, 0, silenceSamples);
    };
    if (!(block instanceof Promise)) {
      finish(block);
      return;
    }
    this.#isFlushed = false;
    this.#await(block, undefined, (pcm) => {
      this.#isFlushed = true;
      finish(pcm);
    });
  }

  /** Waits for a decoder without holding the tick; answers that belong to a time before a jump are dropped. */
  #await<T>(promise: Promise<T>, supply: PacketSupply | undefined, accept: (value: T) => void): void {
    const run = this.#run;
    this.#isWaiting = true;
    promise.then(
      (value) => {
        this.#isWaiting = false;
        if (this.#isClosed) return;
        if (run === this.#run) accept(value);
        if (supply !== undefined) this.#fill(supply);
      },
      (error: unknown) => {
        this.#isWaiting = false;
        if (!this.#isClosed) this.#options.onFailure(error);
      },
    );
  }

  /** Converts a block and puts it into the fifo, without what lies before the start and behind the end. */
  #append(block: PcmBlock, entry: QueuedPacket | undefined): void {
    let lengthSamples = block.lengthSamples;
    if (entry !== undefined) {
      lengthSamples = Math.max(0, lengthSamples - entry.packet.trimEndSamples);
      const isOff = this.#nextMs === undefined || Math.abs(this.#nextMs - entry.packet.timestampMs) > DRIFT_MS_MAX;
      if (isOff && lengthSamples > 0) this.#nextMs = entry.packet.timestampMs;
    }
    if (lengthSamples === 0 || this.#nextMs === undefined) return;
    const startMs = this.#nextMs;
    this.#nextMs = startMs + (lengthSamples / block.sampleRateHz) * 1000;
    const skipMs = this.#dropBeforeMs - startMs;
    const skipSamples = skipMs > 0 ? Math.min(lengthSamples, Math.round((skipMs / 1000) * block.sampleRateHz)) : 0;
    if (skipSamples === lengthSamples) return;
    const isWhole = skipSamples === 0 && lengthSamples === block.lengthSamples;
    this.#converter.push(isWhole ? block : slice(block, skipSamples, lengthSamples), this.#fifo);
  }

  #renderFrame(supply: PacketSupply): boolean {
    if (!this.hasMore(supply)) return false;
    this.#render(this.#left, this.#right, FRAME_SAMPLES);
    return true;
  }

  /** What lies before the first frame, and as much of that as the encoder is behind. */
  #renderPriming(supply: PacketSupply): boolean {
    const { chain } = this.#options;
    if (this.#primed === "no") {
      this.#fill(supply);
      if (this.#fifo.lengthSamples < FRAME_SAMPLES && !this.#isFlushed) return false;
      if (this.#isFirst) chain.begin(this.#stream.loudnessLufs);
      this.#readRaw(PRIMING_SAMPLES);
      this.#primed = "half";
    }
    const readySamples = this.#gather(supply, ENCODER_DELAY_SAMPLES);
    if (readySamples < ENCODER_DELAY_SAMPLES && !this.#isFinished) return false;
    const newLeft = this.#left.subarray(PRIMING_SAMPLES);
    const newRight = this.#right.subarray(PRIMING_SAMPLES);
    this.#render(newLeft, newRight, ENCODER_DELAY_SAMPLES);
    this.#primed = "yes";
    return true;
  }

  #prependSilence(): void {
    this.#left.fill(0);
    this.#fifo.append(this.#left, this.#left, 0, PRIMING_SAMPLES);
    this.#headMs -= PRIMING_SAMPLES / SAMPLES_PER_MS;
  }

  /** Song samples as they are. */
  #readRaw(lengthSamples: number): void {
    const count = this.#fifo.readInto(this.#left, this.#right, lengthSamples);
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

function slice(block: PcmBlock, fromSample: number, toSample: number): PcmBlock {
  return {
    channels: block.channels.map((channel) => channel.subarray(fromSample, toSample)),
    lengthSamples: toSample - fromSample,
    sampleRateHz: block.sampleRateHz,
  };
}
