// The codec modules of one thread, each loaded once, when it is first needed. The creator of this class decides the
// source: an audio thread gets them from a thread that plays nothing. Audio thread.

import { compileOpusEncoder, OpusEncoderKernel } from "@tonearm/opus-encoder";
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

/** One per thread. Keeps what it has loaded for as long as the thread lives. */
export class CodecModules {
  readonly #source: CodecSource;
  readonly #loaded = new Map<string, Promise<unknown>>();

  constructor(source: CodecSource) {
    this.#source = source;
  }

  /** Compiled code to start instances of; rejects as the source's `readWasm`. */
  wasm(name: WasmCodecName): Promise<WasmCodec> {
    return this.#once(name, () => this.#source.readWasm(name));
  }

  /** Untrusted input is decoded in a different instance from the one that encodes the audio of all players. */
  libopus(use: "decode" | "encode"): Promise<Libopus> {
    return this.#once(`libopus ${use}`, async () => new Libopus(await this.wasm("opus")));
  }

  /** Our own Opus encoder, which encodes the audio of all players. */
  encoder(): Promise<OpusEncoderKernel> {
    return this.#once("encoder", async () => new OpusEncoderKernel(await this.#source.readEncoder()));
  }

  /** A failure is not cached: the next call tries again. */
  #once<T>(name: string, load: () => Promise<T>): Promise<T> {
    const known = this.#loaded.get(name) as Promise<T> | undefined; // each name has one loader
    if (known !== undefined) return known;
    const loading = load();
    this.#loaded.set(name, loading);
    loading.catch(() => this.#loaded.delete(name));
    return loading;
  }
}

/** For threads without audio: tools and tests. Cached like imported modules. */
export const ownCodecModules = new CodecModules(packageSource);
