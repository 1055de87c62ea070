// AAC that our decoder does not play (HE v1, HE v2, Main, LTP; raw or with ADTS headers) through the optional package
// @napi-rs/webcodecs, loaded when the first such track starts. It decodes on its own thread, so each packet is a promise. Audio thread.

import { NodeError } from "../../errors.ts";
import { AAC_PACKAGE } from "../../lib/aac-package.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { TokenBucket } from "../../lib/token-bucket.ts";
import type { AudioStream } from "../format/packet.ts";
import { AacHead } from "./aac-head.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";

/** The part of the package that is used. Written out here, so that the node builds where the package is missing. */
export interface WebCodecs {
  readonly AudioDecoder: new (handlers: {
    readonly output: (data: AudioData) => void;
    readonly error: (error: Error) => void;
  }) => AudioDecoder;
  readonly EncodedAudioChunk: new (init: {
    readonly type: "key";
    readonly timestamp: number;
    readonly data: Uint8Array;
  }) => object;
}

interface AudioDecoder {
  /** Packets that its thread has not finished. It is done with a packet shortly before or after the audio arrives. */
  readonly decodeQueueSize: number;
  configure(config: {
    readonly codec: string;
    readonly sampleRate: number;
    readonly numberOfChannels: number;
    readonly description?: Uint8Array;
  }): void;
  decode(chunk: object): void;
  flush(): Promise<void>;
  reset(): void;
  close(): void;
}

interface AudioData {
  /** The timestamp of the packet that produced this output. */
  readonly timestamp: number;
  readonly numberOfFrames: number;
  readonly numberOfChannels: number;
  readonly sampleRate: number;
  copyTo(target: Float32Array, options: { readonly planeIndex: number; readonly format: "f32-planar" }): void;
  close(): void;
}

/** Larger than eight channels at the highest rate. */
const PACKET_BYTES_MAX = 65_536;
/** HE-AAC frames have 2048 samples; a packet of more than this is damage. */
const PACKET_SAMPLES_MAX = 8192;
const CHANNELS_MAX = 8;
/** Memory of one native decoder, measured. */
export const AAC_NATIVE_BYTES = 2 ** 20;
/**
 * A packet takes less than a millisecond; on an overloaded machine it waits for the decoder's thread, or its audio for
 * this one. So a packet counts as damaged only if the decoder was done with it at two checks in a row and no audio has
 * arrived in between. Until then it is waited for: the listener hears a gap, and no audio is lost.
 */
const CHECK_MS = 125;
/** After this time the decoder's thread hangs. */
const HANG_MS = 10_000;
const REASON_LENGTH_MAX = 300;
const CAUSES_MAX = 10;

export interface WebCodecsOptions {
  readonly clock?: Clock | undefined;
  /** Limits how many decoders all tracks of the thread may create to replace failed ones. Default: no limit. */
  readonly replacements?: TokenBucket | undefined;
  /** Loads the package. */
  readonly load: () => Promise<unknown>;
}

/**
 * Rejects with NodeError `codec-unavailable` where the package has no build, `media-unsupported-codec` for bad set-up.
 */
export async function createWebCodecsDecoder(
  stream: AudioStream,
  { clock = systemClock, replacements, load }: WebCodecsOptions,
): Promise<Decoder> {
  let webCodecs: WebCodecs;
  try {
    webCodecs = (await load()) as WebCodecs; // see WebCodecs
  } catch (cause) {
    const message = `decode AAC: the optional package ${AAC_PACKAGE} ${troubleOf(cause)}`;
    throw new NodeError("codec-unavailable", message, { cause });
  }
  return new WebCodecsDecoder(() => new Session(webCodecs, stream, clock), { clock, replacements });
}

/** Why the package did not load, and the remedy. */
function troubleOf(error: unknown): string {
  // The package tries several libraries, and puts what was wrong with each into the causes.
  const causes = causesOf(error);
  const reason = causes.findLast((cause) => !isMissing(cause));
  if (reason === undefined) return `is not installed; run "npm install ${AAC_PACKAGE}"`;
  if (reason === error && causes.length > 1) {
    return `is installed without a library for this machine; run "npm install ${AAC_PACKAGE}" again`;
  }
  const [line = ""] = (reason instanceof Error ? reason.message : String(reason)).split("\n");
  return `is installed but cannot be loaded: ${line.slice(0, REASON_LENGTH_MAX)}; run "npm install ${AAC_PACKAGE}" again`;
}

function causesOf(error: unknown): unknown[] {
  const causes = [error];
  for (let at = error; at instanceof Error && at.cause !== undefined && causes.length < CAUSES_MAX; at = at.cause) {
    causes.push(at.cause);
  }
  return causes;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(?:ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
}

/**
 * While no decoder may be created, packets pass at about the speed of their audio, so that those behind the damage are
 * not lost as well.
 */
const DROPPED_PACKET_MS = 20;

class WebCodecsDecoder implements Decoder {
  readonly #begin: () => Session;
  readonly #clock: Clock;
  readonly #replacements: TokenBucket | undefined;
  readonly #damage = new DamageLimit("aac");
  /** Undefined after an error, until there may be another. */
  #session: Session | undefined;
  #isClosed = false;

  constructor(
    begin: () => Session,
    { clock, replacements }: { readonly clock: Clock; readonly replacements: TokenBucket | undefined },
  ) {
    this.#begin = begin;
    this.#clock = clock;
    this.#replacements = replacements;
    this.#session = begin();
  }

  async decode(packet: Uint8Array): Promise<PcmBlock> {
    if (this.#isClosed) return EMPTY_BLOCK;
    if (packet.length > PACKET_BYTES_MAX || isBlank(packet)) return this.#damage.damaged();
    this.#session ??= this.#replace();
    const session = this.#session;
    if (session === undefined) {
      await new Promise<void>((resolve) => this.#clock.after(DROPPED_PACKET_MS, resolve));
      return this.#isClosed ? EMPTY_BLOCK : this.#damage.damaged();
    }
    const { block, error } = await session.decode(packet);
    if (this.#isClosed || session !== this.#session) return EMPTY_BLOCK;
    if (error === undefined) {
      if (block.lengthSamples > 0) this.#damage.clear();
      return block;
    }
    // It is closed permanently.
    session.close();
    this.#session = undefined;
    return this.#damage.damaged(error);
  }

  async flush(): Promise<PcmBlock> {
    return (await this.#session?.flush()) ?? EMPTY_BLOCK;
  }

  reset(): void {
    this.#session?.reset();
  }

  close(): void {
    this.#isClosed = true;
    this.#session?.close();
    this.#session = undefined;
  }

  /**
   * Each replacement costs a system thread and memory that is freed late, so files that are damaged throughout get few.
   */
  #replace(): Session | undefined {
    if (this.#replacements !== undefined && this.#replacements.waitMs > 0) return undefined;
    this.#replacements?.spend(1);
    return this.#begin();
  }
}

/** Zeros only: a part of a file that never arrived. A decoder is too precious to try it. */
function isBlank(packet: Uint8Array): boolean {
  return packet.every((byte) => byte === 0);
}

interface Result {
  readonly block: PcmBlock;
  readonly error: Error | undefined;
}

/** One native decoder from its start to its first error. */
class Session {
  readonly #webCodecs: WebCodecs;
  readonly #stream: AudioStream;
  readonly #clock: Clock;
  readonly #head: AacHead;
  /** True until a packet has been decoded since the start or the last jump. */
  #isFirst = true;
  /**
   * Undefined once closed: the package holds on to the handlers, and through them to this session, for as long as the
   * decoder can be reached.
   */
  #decoder: AudioDecoder | undefined;
  #channels: Float32Array[] = [];
  #lengthSamples = 0;
  #sampleRateHz = 0;
  /** Settles the packet in progress: one at a time, so nothing queues. */
  #settle: ((error?: Error) => void) | undefined;
  /** Timestamps count packets: they identify output of packets from before the last jump. */
  #timestamp = 0;
  #firstTimestamp = 0;
  #isClosed = false;
  /**
   * Never read. Only the garbage collector frees the native part, and this buffer shows it how much memory that holds.
   */
  readonly ballast = new ArrayBuffer(AAC_NATIVE_BYTES);

  constructor(webCodecs: WebCodecs, stream: AudioStream, clock: Clock) {
    this.#webCodecs = webCodecs;
    this.#stream = stream;
    this.#clock = clock;
    this.#head = new AacHead(stream);
    this.#decoder = new webCodecs.AudioDecoder({
      output: (data) => this.#onOutput(data),
      error: (error) => this.#onError(error),
    });
    this.#configure();
  }

  decode(packet: Uint8Array): Promise<Result> {
    if (this.#settle !== undefined) throw new Error("a decoder takes one packet at a time");
    const decoder = this.#decoder;
    if (decoder === undefined) return Promise.resolve({ block: EMPTY_BLOCK, error: undefined });
    this.#head.inspect(packet);
    const data = this.#isFirst ? this.#head.first(packet) : packet;
    this.#isFirst = false;
    return new Promise((resolve) => {
      const cancelWatch = this.#watch(decoder);
      this.#settle = (error) => {
        this.#settle = undefined;
        cancelWatch();
        resolve({ block: this.#takeBlock(), error });
      };
      try {
        decoder.decode(new this.#webCodecs.EncodedAudioChunk({ type: "key", timestamp: this.#timestamp++, data }));
      } catch (error) {
        this.#settle(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** Gives up on the packet in progress when it yields neither audio nor an error; returns what ends the watch. */
  #watch(decoder: AudioDecoder): () => void {
    let wasDone = false;
    let waitedMs = 0;
    const check = (): void => {
      waitedMs += CHECK_MS;
      const isDone = decoder.decodeQueueSize === 0;
      if (isDone && wasDone) this.#settle?.(new Error("the packet yielded no audio"));
      else if (waitedMs >= HANG_MS) this.#settle?.(new Error("the decoder does not answer"));
      else timer = this.#clock.after(CHECK_MS, check);
      wasDone = isDone;
    };
    let timer = this.#clock.after(CHECK_MS, check);
    return () => timer.cancel();
  }

  async flush(): Promise<PcmBlock> {
    try {
      await this.#decoder?.flush();
    } catch {
      // Damage in the last packet: it has been counted, and there is nothing more to come.
    }
    return this.#takeBlock();
  }

  reset(): void {
    this.#settle?.();
    this.#firstTimestamp = this.#timestamp;
    this.#isFirst = true;
    this.#decoder?.reset();
    this.#configure();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#settle?.();
    try {
      this.#decoder?.close();
    } catch {
      // It closes itself after an error; closing it again throws.
    }
    this.#decoder = undefined;
  }

  /** The next output gets new arrays: it may arrive before this block has been read. */
  #takeBlock(): PcmBlock {
    const channels = this.#channels;
    const lengthSamples = this.#lengthSamples;
    this.#channels = [];
    this.#lengthSamples = 0;
    if (lengthSamples === 0) return EMPTY_BLOCK;
    const speakers = this.#head.speakersFor(channels.length);
    return { channels, lengthSamples, sampleRateHz: this.#sampleRateHz, speakers };
  }

  /** One packet gives one output. Any extra outputs are put in front of the next packet's. */
  #onOutput(data: AudioData): void {
    const { numberOfFrames, numberOfChannels, sampleRate, timestamp } = data;
    if (timestamp < this.#firstTimestamp) {
      data.close();
      return;
    }
    const end = this.#lengthSamples + numberOfFrames;
    if (!this.#isClosed && numberOfChannels <= CHANNELS_MAX && end <= PACKET_SAMPLES_MAX) {
      this.#reserve(numberOfChannels, end);
      for (const [planeIndex, channel] of this.#channels.entries()) {
        data.copyTo(channel.subarray(this.#lengthSamples, end), { planeIndex, format: "f32-planar" });
      }
      this.#lengthSamples = end;
      this.#sampleRateHz = sampleRate;
    }
    data.close();
    this.#settle?.();
  }

  /** One block cannot hold a change of layout: then only the newer part is retained. */
  #reserve(channelCount: number, samples: number): void {
    const before = this.#channels.length === channelCount ? this.#channels : [];
    this.#channels = Array.from({ length: channelCount }, (_, index) => {
      const channel = new Float32Array(samples);
      channel.set(before[index] ?? []);
      return channel;
    });
  }

  #configure(): void {
    try {
      this.#decoder?.configure(configurationOf(this.#stream));
    } catch (cause) {
      const message = "set up the AAC decoder: its set-up data is invalid";
      throw new NodeError("media-unsupported-codec", message, { cause });
    }
  }

  #onError(error: Error): void {
    this.#settle?.(error);
  }
}

/** Without AudioSpecificConfig the packets are ADTS frames, which the decoder reads by itself. */
function configurationOf({ sampleRateHz, channelCount, description }: AudioStream) {
  const base = { codec: "mp4a.40.2", sampleRate: sampleRateHz, numberOfChannels: channelCount };
  return description === undefined ? base : { ...base, description };
}
