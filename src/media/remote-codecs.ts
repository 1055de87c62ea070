// Codecs for an audio thread, loaded by the codec thread. A codec that it cannot provide is loaded here: late is better
// than silent. Audio thread.

import type { MessagePort } from "node:worker_threads";
import type { CodecAnswer, CodecName, CodecRequest, LoadedCodec } from "../bridge/codec-request.ts";
import { PendingRequests } from "../bridge/pending-requests.ts";
import type { Clock } from "../lib/clock.ts";
import type { WasmCodecName } from "../lib/read-wasm-codec.ts";
import type { WasmCodec } from "../lib/wasm-codec.ts";
import type { WasmModule } from "../lib/web-assembly.ts";
import { type CodecSource, packageSource } from "./decode/codec-modules.ts";

/** A codec takes a fraction of a second, on a machine that has time. */
const ANSWER_TIMEOUT_MS = 3000;

export class RemoteCodecs implements CodecSource {
  readonly #port: Pick<MessagePort, "postMessage">;
  readonly #requests: PendingRequests<{ readonly codec: LoadedCodec | undefined }>;

  constructor(port: MessagePort, clock: Clock) {
    this.#port = port;
    this.#requests = new PendingRequests({ clock });
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

  /** Undefined when it is not available in time. */
  async #ask(codec: CodecName): Promise<LoadedCodec | undefined> {
    const timeLimit = { ms: ANSWER_TIMEOUT_MS, error: () => new Error("late") };
    try {
      return await this.#requests.request("codec", { timeLimit }, (requestId) => {
        this.#port.postMessage({ requestId, codec } satisfies CodecRequest);
      });
    } catch {
      // Only the time limit ends here. The codec is loaded on this thread instead, so nobody sees the error.
      return undefined;
    }
  }

  #onAnswer(answer: CodecAnswer): void {
    this.#requests.resolve(answer.requestId, "loaded" in answer ? answer.loaded : undefined);
  }
}
