// Has codecs loaded for the audio threads by a thread that plays nothing, each once: compiled code is shared by all of
// them, also by those that start later. Main thread.

import type { MessagePort } from "node:worker_threads";
import type { CodecAnswer, CodecName, CodecRequest, LoadedCodec } from "../../bridge/codec-request.ts";
import { PendingRequests } from "../../bridge/pending-requests.ts";
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
  readonly #known = new Map<CodecName, LoadedCodec>();
  readonly #loading = new Map<CodecName, Promise<LoadedCodec>>();
  readonly #requests: PendingRequests<{ readonly codec: LoadedCodec }>;
  #thread: Thread | undefined;
  #idle: Timer | undefined;
  #isClosed = false;

  constructor(options: CodecLoaderOptions) {
    this.#options = options;
    this.#requests = new PendingRequests({ clock: options.clock });
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

  #onRequest(port: MessagePort, { requestId, codec }: CodecRequest): void {
    if (this.#isClosed && !this.#known.has(codec)) return;
    void this.#load(codec).then(
      (loaded) => port.postMessage({ requestId, loaded } satisfies CodecAnswer),
      (error: Error) => port.postMessage({ requestId, failure: error.message } satisfies CodecAnswer),
    );
  }

  async #load(codec: CodecName): Promise<LoadedCodec> {
    const known = this.#known.get(codec);
    if (known !== undefined) return known;
    const loading = this.#loading.get(codec) ?? this.#ask(codec);
    this.#loading.set(codec, loading);
    try {
      return await loading;
    } finally {
      if (this.#loading.get(codec) === loading) this.#loading.delete(codec);
    }
  }

  async #ask(codec: CodecName): Promise<LoadedCodec> {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    this.#idle?.cancel();
    this.#idle = this.#options.clock.after(IDLE_MS, () => void this.#end());
    const loaded = await this.#requests.request("codec", {}, (requestId) => {
      thread.postMessage({ requestId, codec } satisfies CodecRequest);
    });
    this.#known.set(codec, loaded);
    return loaded;
  }

  #onAnswer(answer: CodecAnswer): void {
    if ("loaded" in answer) this.#requests.resolve(answer.requestId, answer.loaded);
    else this.#requests.reject(answer.requestId, new Error(answer.failure));
  }

  #start(): Thread {
    const { entry, threads } = this.#options;
    const thread = threads.start(entry, { name: "codecs" });
    thread.unref();
    const onGone = (failure: string): void => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      // The waiting audio threads load it themselves.
      this.#requests.rejectAll(new Error(failure));
    };
    // The other end is our own thread, compiled with the same contract.
    thread.on("message", (message) => this.#onAnswer(message as CodecAnswer));
    thread.on("error", (error) => {
      this.#options.logger.warn("codec thread failed: audio threads load codecs themselves", {
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
    this.#requests.rejectAll(new Error("the thread was ended"));
    await thread?.terminate();
  }
}
