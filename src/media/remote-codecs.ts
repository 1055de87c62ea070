// Codecs for an audio thread, loaded by the codec thread. A codec that it cannot provide is loaded here: late is better
// than silent. Audio thread.

import type { MessagePort } from "node:worker_threads";
import type { CodecAnswer, CodecName, LoadedCodec } from "../bridge/codec-request.ts";
import type { Clock } from "../lib/clock.ts";
import type { WasmCodecName } from "../lib/read-wasm-codec.ts";
import type { WasmCodec } from "../lib/wasm-codec.ts";
import type { WasmModule } from "../lib/web-assembly.ts";
import { AAC_PACKAGE, type CodecSource, packageSource } from "./decode/codec-modules.ts";

/** A codec takes a fraction of a second, on a machine that has time. */
const ANSWER_TIMEOUT_MS = 3000;

export class RemoteCodecs implements CodecSource {
  readonly #port: Pick<MessagePort, "postMessage">;
  readonly #clock: Clock;
  readonly #waiting = new Map<CodecName, ((loaded: LoadedCodec | undefined) => void)[]>();

  constructor(port: MessagePort, clock: Clock) {
    this.#port = port;
    this.#clock = clock;
    // The other end is our own main thread, compiled with the same contract.
    port.on("message", (message) => this.#onAnswer(message as CodecAnswer));
    port.unref();
  }

  async readWasm(name: WasmCodecName): Promise<WasmCodec> {
    const loaded = await this.#ask(name);
    return loaded?.kind === "wasm" ? loaded.wasm : packageSource.readWasm(name);
  }

  async readEncoder(): Promise<WasmModule> {
    const loaded = await this.#ask("encoder");
    return loaded?.kind === "encoder" ? loaded.module : packageSource.readEncoder();
  }

  async loadAac(): Promise<unknown> {
    const loaded = await this.#ask("aac");
    return loaded?.kind === "library" ? openLibrary(loaded.path) : packageSource.loadAac();
  }

  /** Undefined when it is not available in time. */
  #ask(codec: CodecName): Promise<LoadedCodec | undefined> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(codec) ?? [];
      this.#waiting.set(codec, waiting);
      const timer = this.#clock.after(ANSWER_TIMEOUT_MS, () => resolve(undefined));
      waiting.push((loaded) => {
        timer.cancel();
        resolve(loaded);
      });
      this.#port.postMessage({ codec });
    });
  }

  #onAnswer(answer: CodecAnswer): void {
    const waiting = this.#waiting.get(answer.codec) ?? [];
    this.#waiting.delete(answer.codec);
    for (const give of waiting) give("loaded" in answer ? answer.loaded : undefined);
  }
}

/** Without the package's own JavaScript, which searches for the library for 5 to 10 ms. */
function openLibrary(path: string): unknown {
  const module = { exports: {} };
  process.dlopen(module, path);
  if (!("AudioDecoder" in module.exports)) throw new Error(`${AAC_PACKAGE}: its library is not as expected`);
  return module.exports;
}
