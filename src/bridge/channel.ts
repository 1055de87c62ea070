// The pipe between the control side and one audio worker: commands down, events up, and requests that wait for a reply.
// CommandChannel is the main thread's end, EventChannel the worker's. Both need only an Endpoint that carries plain data
// in order, so the same two classes run over a MessagePort today and over a network later.

import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { WorkerCommand } from "./commands.ts";
import type { WorkerEvent } from "./events.ts";
import type { ProbeResult } from "./playable-input.ts";
import { RemoteError, toWireError } from "./wire-error.ts";

/** Requests that may wait for a reply at once, per worker; one more is refused with `worker-busy`. */
const PENDING_MAX = 4096;

/** A Worker, a MessagePort, or anything else that carries plain data in order. */
export interface Endpoint {
  postMessage(message: unknown): void;
  on(event: "message", listener: (message: unknown) => void): unknown;
}

/** Commands that are answered. */
export type WorkerRequest = Extract<WorkerCommand, { readonly requestId: number }>;
/** Commands that are not. */
export type WorkerNotice = Exclude<WorkerCommand, WorkerRequest>;
/** A request before the channel has numbered it. */
export type UnnumberedRequest = WorkerRequest extends infer R
  ? R extends WorkerRequest
    ? Omit<R, "requestId">
    : never
  : never;

/** What each request is answered with. */
export interface WorkerReplies {
  readonly probe: ProbeResult;
  readonly destroyPlayer: undefined;
  readonly connectVoice: { readonly isConnected: true };
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: NodeError) => void;
  readonly timer: Timer;
}

/** The main thread's end. */
export class CommandChannel {
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #pending = new Map<number, Pending>();
  #requestCount = 0;
  #closedBy: NodeError | undefined;

  constructor(endpoint: Endpoint, options: { clock: Clock; onEvent: (event: WorkerEvent) => void }) {
    this.#endpoint = endpoint;
    this.#clock = options.clock;
    endpoint.on("message", (message) => {
      if (this.#closedBy !== undefined) return;
      // The other end is our own worker, compiled with the same contract.
      const event = message as WorkerEvent;
      if (event.type === "reply") this.#take(event.requestId)?.resolve(event.value);
      else if (event.type === "replyError") this.#take(event.requestId)?.reject(new RemoteError(event.error));
      else options.onEvent(event);
    });
  }

  /** Posts a command. Without effect once closed. */
  send(command: WorkerNotice): void {
    if (this.#closedBy === undefined) this.#endpoint.postMessage(command);
  }

  /**
   * Posts a command and waits for its reply. Rejects with the worker's own error (RemoteError), `worker-timeout` after
   * `timeoutMs`, `worker-busy` with 4096 requests already waiting, or the reason given to `close`.
   */
  request<R extends UnnumberedRequest>(command: R, options: { timeoutMs: number }): Promise<WorkerReplies[R["type"]]> {
    if (this.#closedBy !== undefined) return Promise.reject(this.#closedBy);
    if (this.#pending.size >= PENDING_MAX) {
      return Promise.reject(new NodeError("worker-busy", `the audio worker has ${PENDING_MAX} unanswered requests`));
    }
    const requestId = ++this.#requestCount;
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(options.timeoutMs, () => {
        const message = `the audio worker did not answer ${command.type} within ${options.timeoutMs} ms`;
        this.#take(requestId)?.reject(new NodeError("worker-timeout", message));
      });
      // The reply's type follows from the request's: WorkerReplies is what both ends are compiled with.
      this.#pending.set(requestId, { resolve: resolve as (value: unknown) => void, reject, timer });
      this.#endpoint.postMessage({ ...command, requestId });
    });
  }

  /** Rejects what waits with `reason` and ignores what still arrives. */
  close(reason: NodeError): void {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = reason;
    for (const requestId of [...this.#pending.keys()]) this.#take(requestId)?.reject(reason);
  }

  #take(requestId: number): Pending | undefined {
    const pending = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    pending?.timer.cancel();
    return pending;
  }
}

/** The worker's end. */
export class EventChannel {
  readonly #endpoint: Endpoint;

  constructor(endpoint: Endpoint, onCommand: (command: WorkerCommand) => void) {
    this.#endpoint = endpoint;
    // The other end is our own main thread, compiled with the same contract.
    endpoint.on("message", (message) => onCommand(message as WorkerCommand));
  }

  send(event: Exclude<WorkerEvent, { readonly type: "reply" | "replyError" }>): void {
    if (event.type === "log") this.#sendLog(event);
    else this.#endpoint.postMessage(event);
  }

  /** Answers `request` with what `work` comes to, an error included. Never rejects. */
  async answer<R extends WorkerRequest>(request: R, work: Promise<WorkerReplies[R["type"]]>): Promise<void> {
    try {
      this.#endpoint.postMessage({ type: "reply", requestId: request.requestId, value: await work });
    } catch (error) {
      this.#endpoint.postMessage({ type: "replyError", requestId: request.requestId, error: toWireError(error) });
    }
  }

  /** A log line must never take the worker down: fields that cannot be copied are sent as text. */
  #sendLog(event: Extract<WorkerEvent, { readonly type: "log" }>): void {
    try {
      this.#endpoint.postMessage(event);
    } catch {
      const fields = Object.entries(event.fields).map(([name, value]) => [name, String(value)]);
      this.#endpoint.postMessage({ ...event, fields: Object.fromEntries(fields) });
    }
  }
}
