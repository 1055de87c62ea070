// The codec modules of one thread, each loaded once, when it is first needed. The creator of this class decides the
// source: an audio thread gets them from a thread that plays nothing. Audio thread.

import { compileOpusEncoder, OpusEncoderKernel } from "@tonearm/opus-encoder";
import { NodeError } from "../../errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { readWasmCodec, type WasmCodecName } from "../../lib/read-wasm-codec.ts";
import type { WasmCodec } from "../../lib/wasm-codec.ts";
import type { WasmModule } from "../../lib/web-assembly.ts";
import { Libopus } from "../opus/libopus.ts";

/**
 * The source of a thread's codecs: the packages themselves (`packageSource`), or another thread
 * (media/remote-codecs.ts).
 */
export interface CodecSource {
  /** Compiles again at each call. Rejects when the package is missing; callers may retry. */
  readWasm(name: WasmCodecName): Promise<WasmCodec>;
  /** Our own Opus encoder, compiled again at each call. Rejects when it was not built; callers may retry. */
  readEncoder(): Promise<WasmModule>;
}

/** Straight from the packages, on this thread. */
export const packageSource: CodecSource = {
  readWasm: readWasmCodec,
  readEncoder: async () => compileOpusEncoder(),
};

/** Loaded once, by the first call of `load`. A failure is not cached: the next call tries again. */
export class Loadable<T> {
  readonly #start: () => Promise<T>;
  #loading: Promise<T> | undefined;
  #loaded: T | undefined;

  constructor(start: () => Promise<T>) {
    this.#start = start;
  }

  /** Undefined until it is loaded, for callers that must not wait. */
  get loaded(): T | undefined {
    return this.#loaded;
  }

  load(): Promise<T> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<T> {
    try {
      this.#loaded = await this.#start();
      return this.#loaded;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }
}

/** One per thread. Keeps what it has loaded for as long as the thread lives. */
export class CodecModules {
  readonly #wasm: Record<WasmCodecName, Loadable<WasmCodec>>;
  readonly #libopus: Record<"decode" | "encode", Loadable<Libopus>>;
  /** Our own Opus encoder, which encodes the audio of all players. */
  readonly encoder: Loadable<OpusEncoderKernel>;

  constructor(source: CodecSource) {
    const wasm = (name: WasmCodecName) => new Loadable(() => readCodec(source, name));
    this.#wasm = { opus: wasm("opus"), mp3: wasm("mp3"), flac: wasm("flac"), vorbis: wasm("vorbis") };
    const libopus = () => new Loadable(async () => new Libopus(await this.#wasm.opus.load()));
    this.#libopus = { decode: libopus(), encode: libopus() };
    this.encoder = new Loadable(async () => new OpusEncoderKernel(await source.readEncoder()));
  }

  /** Compiled code to start instances of. Its `load` rejects with NodeError `codec-unavailable`. */
  wasm(name: WasmCodecName): Loadable<WasmCodec> {
    return this.#wasm[name];
  }

  /** Untrusted input is decoded in a different instance from the one that encodes the audio of all players. */
  libopus(use: "decode" | "encode"): Loadable<Libopus> {
    return this.#libopus[use];
  }
}

async function readCodec(source: CodecSource, name: WasmCodecName): Promise<WasmCodec> {
  try {
    return await source.readWasm(name);
  } catch (cause) {
    const reason = messageOf(cause);
    const message = `loading the library that decodes ${name}: ${reason}; install Tonearm again`;
    throw new NodeError("codec-unavailable", message, { cause });
  }
}

/** For threads without audio: tools and tests. Cached like imported modules. */
export const ownCodecModules = new CodecModules(packageSource);
