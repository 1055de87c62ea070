// Decodes packets of one track to a queue of stereo audio at 48 kHz, in small steps: a packet or a piece of its audio
// at a time, as much as is needed soon and no longer than a tick may take. Errors that a decoder throws reach the
// caller that requested audio; later errors go to `onFailure`. The first half of transcoder.ts. Audio thread.

import { NodeError } from "../../errors.ts";
import { StereoFifo } from "../../lib/stereo-fifo.ts";
import { ChangeLimit } from "../decode/change-limit.ts";
import { EMPTY_BLOCK } from "../decode/damage-limit.ts";
import type { Decoder, PcmBlock } from "../decode/decoder.ts";
import { cutPcm } from "../decode/pcm-pieces.ts";
import { requirePlayableRate } from "../decode/resampler.ts";
import { StereoConverter } from "../decode/stereo-converter.ts";
import { FRAME_SAMPLES } from "../format/audio-format.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import { isRateReady, prepareRate } from "../kernels/resampler-kernel.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { FalseSilence } from "./false-silence.ts";
import type { QueuedPacket } from "./packet-store.ts";
import type { PacketSupply } from "./packet-supply.ts";
import { TrackTally } from "./track-tally.ts";

/** Decoded audio kept ready: two frames for synchronous decoders, 100 ms for asynchronous ones. */
const TARGET_SAMPLES_SYNC = 2 * FRAME_SAMPLES;
const TARGET_SAMPLES_ASYNC = 5 * FRAME_SAMPLES;
/** Initial capacity of the queue of decoded audio: the audio kept ready, and the audio that may be rewound. */
const FIFO_SAMPLES = 11_520;
/** Times of packets may drift by this much from the decoded samples before they are trusted again. */
const DRIFT_MS_MAX = 60;
/** Audio is converted in pieces of this length: a block of it may be a minute long. */
const PIECES_PER_SECOND = 25;
/** Limits of one call of `fill`: this many steps, and after the first none that begins later than this. */
const STEPS_MAX = 64;
const FILL_MS_MAX = 2;
/** Packets in a row without audio: half a minute of the shortest packets, and more than any decoder needs to begin. */
const SILENT_PACKETS_MAX = 2000;

/** Decoders are made elsewhere, asynchronously; see `createDecoder`. */
export interface TrackDecoderOptions {
  readonly decoder: Decoder;
  readonly stream: AudioStream;
  readonly createDecoder: (stream: AudioStream) => Promise<Decoder>;
  readonly budget: TrackBudget;
  /** Default: nobody asks. */
  readonly tally?: TrackTally | undefined;
  /** Audio that took more than one call of `fill` may be ready now. */
  readonly onProgress: () => void;
  /** An asynchronous step has failed. Decoding is over then. */
  readonly onFailure: (error: unknown) => void;
  /** The audio continues in another stream of the same track. */
  readonly onStream: (stream: AudioStream) => void;
}

export class TrackDecoder {
  /** Decoded audio, in order. */
  readonly fifo = new StereoFifo({ capacitySamples: FIFO_SAMPLES });
  readonly #options: TrackDecoderOptions;
  readonly #changes = new ChangeLimit();
  readonly #tally: TrackTally;
  #falseSilence: FalseSilence;
  #converter: StereoConverter;
  #decoder: Decoder;
  #stream: AudioStream;
  /** Taken from the supply and not decoded yet: the rest of a long packet. */
  #packet: QueuedPacket | undefined;
  /** Decoded and not converted yet. */
  #block: { readonly pcm: PcmBlock; readonly endSample: number } | undefined;
  #blockSample = 0;
  /** True while a decode or a change of decoder is pending. */
  #isWaiting = false;
  /** More than one call may do was requested: the rest gets its own time slice. */
  #isSliceRequested = false;
  #isAsync = false;
  #end: "open" | "flushing" | "flushed" = "open";
  #isClosed = false;
  /** Decoded audio before this track time is dropped. */
  #dropBeforeMs = Number.NEGATIVE_INFINITY;
  /** Track time of the next decoded sample; undefined after a jump, until a packet sets it. */
  #nextMs: number | undefined;
  #silentPackets = 0;
  #run = 0;

  constructor(options: TrackDecoderOptions) {
    this.#options = options;
    this.#decoder = options.decoder;
    this.#stream = options.stream;
    this.#tally = options.tally ?? new TrackTally();
    this.#falseSilence = new FalseSilence(options.stream.codec);
    this.#converter = this.#createConverter();
  }

  /** The stream that the audio in the queue was last decoded from. */
  get stream(): AudioStream {
    return this.#stream;
  }

  /** True while a decoder works on a packet, or decoding waits for its time slice. */
  get isWaiting(): boolean {
    return this.#isWaiting || this.#isSliceRequested;
  }

  /** True when the last of the audio is in the queue. */
  get isFlushed(): boolean {
    return this.#end === "flushed";
  }

  /** Audio decoded from the next packet on is audible from this position. */
  startAt(positionMs: number): void {
    this.#dropBeforeMs = positionMs;
  }

  /** Decodes packets that were already played, to continue behind them. Only with a complete decoder (DecoderParts). */
  decodeHistory(history: readonly QueuedPacket[]): void {
    for (const { packet } of history) {
      const pcm = this.#decoder.decode(packet.data);
      // Only Opus is passed through, and a complete decoder of it answers at once.
      if (pcm instanceof Promise) throw new Error("the Opus decoder must be complete");
      this.#accept(pcm, packet);
      while (this.#block !== undefined) this.#convertPiece(this.#block);
    }
  }

  /** Jumps: drops everything decoded or being decoded; the next audio is audible from `positionMs`. */
  jumpTo(positionMs: number): void {
    this.#run += 1;
    this.fifo.clear();
    this.#packet = undefined;
    this.#block = undefined;
    this.#converter.reset();
    this.#decoder.reset();
    this.#end = "open";
    this.#nextMs = undefined;
    this.#dropBeforeMs = positionMs;
  }

  /** Prepares audio, as far as packets, decoder and this call's share of the thread allow. */
  fill(supply: PacketSupply): void {
    const { clock } = this.#options.budget;
    const startedMs = clock.now();
    for (let steps = 0; this.#needsMore && this.#step(supply); steps++) {
      if (steps < STEPS_MAX && clock.now() - startedMs < FILL_MS_MAX) continue;
      if (this.#needsMore) this.#fillLater(supply);
      return;
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#run += 1;
    this.#converter.close();
    this.#decoder.close();
  }

  get #needsMore(): boolean {
    const targetSamples = this.#isAsync ? TARGET_SAMPLES_ASYNC : TARGET_SAMPLES_SYNC;
    return !this.#isClosed && !this.#isWaiting && !this.isFlushed && this.fifo.lengthSamples < targetSamples;
  }

  /** One piece of audio, one packet, or the end. False when there is nothing to do now. */
  #step(supply: PacketSupply): boolean {
    if (this.#block !== undefined) {
      const { sampleRateHz } = this.#block.pcm;
      // Computing the filter table of another rate takes longer than a tick: it is done in between.
      if (isRateReady(sampleRateHz)) this.#convertPiece(this.#block);
      else this.#await(prepareRate(sampleRateHz, this.#options.budget), supply, () => undefined);
      return true;
    }
    if (this.#end === "flushing") {
      this.#converter.flush(this.fifo);
      this.#end = "flushed";
      return true;
    }
    const entry = this.#packet ?? supply.take();
    this.#packet = undefined;
    if (entry !== undefined) {
      if (entry.fromMs !== undefined) this.#dropBeforeMs = Math.max(this.#dropBeforeMs, entry.fromMs);
      if (entry.stream === this.#stream) this.#decode(entry, supply);
      else this.#changeDecoder(entry, supply);
      return true;
    }
    if (supply.isFinished) this.#flush(supply);
    return supply.isFinished;
  }

  /** The tick continues without it. Sockets and the other tracks get their time slices in between. */
  #fillLater(supply: PacketSupply): void {
    if (this.#isSliceRequested) return;
    this.#isSliceRequested = true;
    const { budget, onFailure, onProgress } = this.#options;
    budget
      .yield()
      .then(() => {
        this.#isSliceRequested = false;
        if (this.#isClosed) return;
        this.fill(supply);
        onProgress();
      })
      .catch((error: unknown) => onFailure(error))
      .finally(() => budget.pause());
  }

  #decode(entry: QueuedPacket, supply: PacketSupply): void {
    const packet = entry.stream.codec === "pcm" ? this.#cut(entry) : entry.packet;
    const pcm = this.#decoder.decode(packet.data);
    if (pcm instanceof Promise) {
      this.#isAsync = true;
      this.#await(pcm, supply, (value) => this.#accept(value, packet));
    } else {
      this.#accept(pcm, packet);
    }
  }

  /** The first piece of a packet; the rest is the next packet. */
  #cut({ packet, stream }: QueuedPacket): Packet {
    const { sampleRateHz, channelCount, pcm } = stream;
    const frameBytes = (channelCount * (pcm?.bitsPerSample ?? 8)) / 8;
    const pieceSamples = Math.ceil(sampleRateHz / PIECES_PER_SECOND);
    const { first, rest } = cutPcm(packet, { pieceSamples, frameBytes, sampleRateHz });
    if (rest !== undefined) this.#packet = { packet: rest, stream };
    return first;
  }

  /** Chained files: the next packet belongs to another stream. */
  #changeDecoder(entry: QueuedPacket, supply: PacketSupply): void {
    this.#changes.spend();
    this.#packet = entry;
    this.#nextMs = undefined;
    const run = this.#run;
    // The same audio in other bytes: the resampler's input continues, sample for sample.
    const isContinuation = entry.fromMs !== undefined && isAlike(entry.stream, this.#stream);
    const whenChanged = this.#options.createDecoder(entry.stream).then((decoder) => {
      if (this.#isClosed) {
        decoder.close();
        return;
      }
      // Also behind a jump: the next packets are of this stream, or change the decoder again.
      this.#decoder.close();
      this.#decoder = decoder;
      this.#stream = entry.stream;
      this.#falseSilence = new FalseSilence(entry.stream.codec);
      if (!isContinuation) {
        if (run === this.#run) this.#converter.flush(this.fifo);
        this.#converter.close();
        this.#converter = this.#createConverter();
      }
      this.#options.onStream(entry.stream);
    });
    this.#await(whenChanged, supply, () => undefined);
  }

  #createConverter(): StereoConverter {
    return new StereoConverter({
      codec: this.#stream.codec,
      memory: this.#options.budget.memory,
      limit: this.#changes,
    });
  }

  #flush(supply: PacketSupply): void {
    const accept = (pcm: PcmBlock) => {
      this.#end = "flushing";
      this.#accept(pcm, undefined);
    };
    const pcm = this.#decoder.flush();
    if (pcm instanceof Promise) this.#await(pcm, supply, accept);
    else accept(pcm);
  }

  /** Waits for a decoder without holding the tick; answers that belong to a time before a jump are dropped. */
  #await<T>(promise: Promise<T>, supply: PacketSupply, accept: (value: T) => void): void {
    const run = this.#run;
    this.#isWaiting = true;
    promise
      .then((value) => {
        this.#isWaiting = false;
        if (this.#isClosed) return;
        if (run === this.#run) accept(value);
        this.fill(supply);
      })
      .catch((error: unknown) => {
        this.#isWaiting = false;
        if (!this.#isClosed) this.#options.onFailure(error);
      });
  }

  /** Accepts a block to be converted, without the samples before the start and behind the end. */
  #accept(decoded: PcmBlock, packet: Packet | undefined): void {
    requirePlayableRate(decoded.sampleRateHz);
    const pcm = packet !== undefined && this.#falseSilence.has(decoded, packet.data) ? EMPTY_BLOCK : decoded;
    if (packet !== undefined) this.#count(pcm, packet);
    // The decoder's rate may be another: that of HE-AAC is twice as high where the container says so.
    const trimMs = (1000 * Math.max(0, packet?.trimEndSamples ?? 0)) / this.#stream.sampleRateHz;
    const endSample = Math.max(0, pcm.lengthSamples - Math.round((trimMs * pcm.sampleRateHz) / 1000));
    const isOff =
      packet !== undefined &&
      (this.#nextMs === undefined || Math.abs(this.#nextMs - packet.timestampMs) > DRIFT_MS_MAX);
    if (isOff && endSample > 0) this.#nextMs = packet.timestampMs;
    if (endSample === 0 || this.#nextMs === undefined) return;
    const startMs = this.#nextMs;
    this.#nextMs = startMs + (endSample / pcm.sampleRateHz) * 1000;
    const skipMs = this.#dropBeforeMs - startMs;
    this.#blockSample = skipMs > 0 ? Math.min(endSample, Math.round((skipMs / 1000) * pcm.sampleRateHz)) : 0;
    if (this.#blockSample === endSample) return;
    if (pcm.isConcealed !== true) this.#tally.hasAudio = true;
    this.#block = { pcm, endSample };
  }

  #count(pcm: PcmBlock, packet: Packet): void {
    if (pcm.lengthSamples === 0) this.#tally.onUndecoded(packet);
    else if (pcm.isConcealed === true) this.#tally.onConcealed(packet);
    else this.#tally.hasDecoded = true;
    this.#silentPackets = pcm.lengthSamples > 0 ? 0 : this.#silentPackets + 1;
    if (this.#silentPackets < SILENT_PACKETS_MAX) return;
    const message = `decode ${this.#stream.codec}: ${this.#silentPackets} packets in a row hold no audio`;
    throw new NodeError("media-damaged", `${message}; check that the file plays elsewhere`);
  }

  #convertPiece({ pcm, endSample }: { readonly pcm: PcmBlock; readonly endSample: number }): void {
    const from = this.#blockSample;
    const to = Math.min(endSample, from + Math.ceil(pcm.sampleRateHz / PIECES_PER_SECOND));
    const isWhole = from === 0 && to === pcm.lengthSamples;
    this.#blockSample = to;
    if (to === endSample) this.#block = undefined;
    const before = this.fifo.lengthSamples;
    this.#converter.push(isWhole ? pcm : slice(pcm, from, to), this.fifo);
    this.#changes.earn(this.fifo.lengthSamples - before);
  }
}

/** The order of more than two channels is the codec's. */
function isAlike(a: AudioStream, b: AudioStream): boolean {
  return a.codec === b.codec || (a.channelCount <= 2 && b.channelCount <= 2);
}

function slice(block: PcmBlock, fromSample: number, toSample: number): PcmBlock {
  return {
    ...block,
    channels: block.channels.map((channel) => channel.subarray(fromSample, toSample)),
    lengthSamples: toSample - fromSample,
  };
}
