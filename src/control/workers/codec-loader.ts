// Has codecs loaded for the audio threads by a thread that plays nothing, each once: compiled code is shared by all of
// them, also by those that start later. Main thread.

import type { MessagePort } from "node:worker_threads";
import type { CodecAnswer, CodecName, CodecRequest } from "../../bridge/codec-request.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { Thread, Threads } from "./threads.ts";

/** Long after the last request: by then an audio thread has opened what only this thread holds open. */
const IDLE_MS = 10_000;

interface CodecLoaderOptions {
  /** The module that runs in the thread. */
  readonly entry: URL;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One for the node. Its thread starts with the first request and ends 10 s after the last. */
export class CodecLoader {
  readonly #options: CodecLoaderOptions;
  /** WebAssembly only: a native library is no more than a name, and has to be opened each time. */
  readonly #known = new Map<CodecName, CodecAnswer>();
  readonly #waiting = new Map<CodecName, Set<MessagePort>>();
  #thread: Thread | undefined;
  #idle: Timer | undefined;
  #isClosed = false;

  constructor(options: CodecLoaderOptions) {
    this.#options = options;
  }

  /** The port on which a new audio thread asks. It closes with that thread. */
  connect(): MessagePort {
    const { port1, port2 } = this.#options.threads.createChannel();
    // The other end is our own worker, compiled with the same contract.
    port1.on("message", (message) => this.#onRequest(port1, message as CodecRequest));
    port1.unref();
    return port2;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  #onRequest(port: MessagePort, { codec }: CodecRequest): void {
    const known = this.#known.get(codec);
    if (known !== undefined) {
      port.postMessage(known);
      return;
    }
    if (this.#isClosed) return;
    const ports = this.#waiting.get(codec);
    if (ports !== undefined) {
      ports.add(port);
      return;
    }
    this.#waiting.set(codec, new Set([port]));
    this.#thread ??= this.#start();
    this.#thread.postMessage({ codec } satisfies CodecRequest);
    this.#idle?.cancel();
    this.#idle = this.#options.clock.after(IDLE_MS, () => void this.#end());
  }

  #onAnswer(answer: CodecAnswer): void {
    if ("loaded" in answer && answer.loaded.kind !== "library") this.#known.set(answer.codec, answer);
    const ports = this.#waiting.get(answer.codec) ?? [];
    this.#waiting.delete(answer.codec);
    for (const port of ports) port.postMessage(answer);
  }

  #start(): Thread {
    const { entry, threads } = this.#options;
    const thread = threads.start(entry, { name: "codecs" });
    thread.unref();
    const onGone = (failure: string): void => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      // The waiting audio threads load it themselves.
      for (const codec of [...this.#waiting.keys()]) this.#onAnswer({ codec, failure });
    };
    // The other end is our own thread, compiled with the same contract.
    thread.on("message", (message) => this.#onAnswer(message as CodecAnswer));
    thread.on("error", (error) => {
      this.#options.logger.warn("the thread that loads codecs failed: audio threads load theirs by themselves", {
        error,
      });
      onGone("the thread failed");
    });
    thread.on("exit", () => onGone("the thread ended"));
    return thread;
  }

  async #end(): Promise<void> {
    this.#idle?.cancel();
    const thread = this.#thread;
    this.#thread = undefined;
    for (const codec of [...this.#waiting.keys()]) this.#onAnswer({ codec, failure: "the thread was ended" });
    await thread?.terminate();
  }
}
