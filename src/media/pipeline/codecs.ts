// Decoders and encoders for the pipelines of one worker. Encoders wait in a pool between tracks. The encoder is loaded
// ahead, as a change of volume during a track needs it at once; a decoder when a track turns out to need it. Audio
// thread.

import { OpusEncoder, type OpusEncoderKernel } from "@tonearm/opus-encoder";
import { messageOf } from "../../lib/message-of.ts";
import type { Logger } from "../../log/log.ts";
import { type CodecModules, ownCodecModules } from "../decode/codec-modules.ts";
import { createDecoder, type DecoderParts } from "../decode/create-decoder.ts";
import type { Decoder } from "../decode/decoder.ts";
import { EncoderPool, type FrameEncoder, type OpusEncoderOptions } from "../encode/frame-encoder.ts";
import { OpusFrameEncoder } from "../encode/opus-encoder.ts";
import { TonearmFrameEncoder } from "../encode/tonearm-encoder.ts";
import type { AudioStream } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/**
 * Containers that nearly always hold the same codec. The others mostly hold Opus, which needs nothing. For MP3 nobody
 * waits for the library, but layers I and II need it for their first audio.
 */
const DECODERS_OF = new Map<string, (modules: CodecModules) => Promise<unknown>>([
  ["mp3", (modules) => Promise.all([modules.wasm("mp3").load(), import("../decode/mp3-decoder.ts")])],
  ["flac", (modules) => modules.wasm("flac").load()],
  ["mp4", () => import("../decode/aac-decoder.ts")],
  ["adts", () => import("../decode/aac-decoder.ts")],
]);

type SuppliedParts = Omit<DecoderParts, "modules">;

/** The pipeline's source of decoder and encoder when it has to transcode, and only then: the worker's Codecs, below. */
export interface CodecSupply {
  /**
   * A decoder for the stream, which the caller must close; its memory is reserved from the budget until then. Rejects
   * with a NodeError when there is none for it, or its set-up data are damaged.
   */
  createDecoder(stream: AudioStream, parts: SuppliedParts & { readonly budget: TrackBudget }): Promise<Decoder>;
  /** A fresh encoder, owned by the caller until released. Rejects when it cannot be loaded. */
  acquireEncoder(): Promise<FrameEncoder>;
  /** Call once per encoder; its packets that were not sent yet become invalid. */
  releaseEncoder(encoder: FrameEncoder): void;
}

/** Configuration of encoding. */
interface EncodingOptions extends OpusEncoderOptions {
  /** `tonearm` has one complexity. Where it does not run (no SIMD), `libopus` replaces it. */
  readonly encoder: "tonearm" | "libopus";
}

/** One per audio worker; the source of its pipelines' codecs (`CodecSupply`). */
export class Codecs implements CodecSupply {
  /** Read by all encoders of the worker. */
  readonly #settings: { complexity: number; readonly bitrateBps: number };
  readonly #isOwnEncoder: boolean;
  readonly #modules: CodecModules;
  readonly #logger: Pick<Logger, "warn"> | undefined;
  #pool: Promise<EncoderPool> | undefined;

  /** `logger` gets one line when libopus replaces the configured encoder. */
  constructor(options: EncodingOptions, modules: CodecModules = ownCodecModules, logger?: Pick<Logger, "warn">) {
    this.#settings = { complexity: options.complexity, bitrateBps: options.bitrateBps };
    this.#isOwnEncoder = options.encoder === "tonearm";
    this.#modules = modules;
    this.#logger = logger;
  }

  /** Rejects with a NodeError when the codec is not available here. */
  createDecoder(stream: AudioStream, parts: SuppliedParts = {}): Promise<Decoder> {
    return createDecoder(stream, { ...parts, modules: this.#modules });
  }

  /**
   * Loads the codecs that a track will probably need, while its input is still being opened: by its detected container.
   * Errors of a codec are reported when the track requests it.
   */
  warmUp(container: string | undefined): void {
    const [name = ""] = container?.split("|") ?? [];
    const load = DECODERS_OF.get(name);
    if (load === undefined) return;
    load(this.#modules).catch(() => undefined);
    this.loadEncoder();
  }

  /**
   * Loads the encoder, which a change of volume during a track needs at once. Its errors are reported when a track
   * requests it.
   */
  loadEncoder(): void {
    this.#encoders().catch(() => undefined);
  }

  /** Of all encoders now. */
  get complexity(): number {
    return this.#settings.complexity;
  }

  /** 0 (cheapest) to 10 (best), for all encoders from their next frame on. */
  setComplexity(complexity: number): void {
    this.#settings.complexity = complexity;
  }

  /** A fresh encoder, from the pool if possible. Rejects when it cannot be loaded. */
  async acquireEncoder(): Promise<FrameEncoder> {
    return (await this.#encoders()).acquire();
  }

  /** Returns an encoder of `acquireEncoder` to the pool, once. Its packets must no longer be used. */
  releaseEncoder(encoder: FrameEncoder): void {
    this.#pool?.then((pool) => pool.release(encoder)).catch(() => encoder.close());
  }

  #encoders(): Promise<EncoderPool> {
    this.#pool ??= this.#loadEncoders();
    // A failure to load is not cached: the next track tries again.
    this.#pool.catch(() => {
      this.#pool = undefined;
    });
    return this.#pool;
  }

  async #loadEncoders(): Promise<EncoderPool> {
    if (!this.#isOwnEncoder) return this.#loadLibopus();
    let kernel: OpusEncoderKernel;
    try {
      kernel = await this.#modules.encoder.load();
    } catch (error) {
      // libopus also runs where our encoder cannot (no SIMD): late is better than silent.
      const pool = await this.#loadLibopus();
      // The pool is never loaded again, so this is one line in each worker.
      this.#logger?.warn(
        "Tonearm's Opus encoder failed to load: libopus encodes, at three times the CPU; run `tonearm doctor`",
        { reason: messageOf(error) },
      );
      return pool;
    }
    return new EncoderPool(() => new TonearmFrameEncoder(new OpusEncoder(kernel, this.#settings)));
  }

  async #loadLibopus(): Promise<EncoderPool> {
    const opus = await this.#modules.libopus("encode").load();
    return new EncoderPool(() => new OpusFrameEncoder(opus, this.#settings));
  }
}
