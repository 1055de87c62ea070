// The pipe between the control side and one audio worker: commands down, events up, and requests that wait for a reply.
// CommandChannel is the main thread's end, EventChannel the worker's. Both need only an Endpoint that carries plain data
// in order, so the same two classes run over a MessagePort today and over a network later.

import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { RouteCommand, RouteId, WorkerCommand } from "./commands.ts";
import type { AddressFamily, WorkerEvent } from "./events.ts";
import type { ProbeResult } from "./playable-input.ts";
import { RemoteError, toWireError } from "./wire-error.ts";

/** Requests that may wait for a reply at once, per worker and direction; one more is refused with `worker-busy`. */
const PENDING_MAX = 4096;
/** Choosing an address takes microseconds; this is for a main thread that is busy with something else. */
const ROUTE_TIMEOUT_MS = 5000;

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

/** Commands other than the answers to what the worker itself has asked. */
export type PlainCommand = Exclude<WorkerCommand, RouteCommand>;

/** Events other than answers and what `wantRoute` sends. */
export type PlainEvent = Exclude<WorkerEvent, { readonly type: "reply" | "replyError" | "routeWanted" }>;

interface Pending<Value = unknown> {
  readonly resolve: (value: Value) => void;
  readonly reject: (error: NodeError) => void;
  readonly timer: Timer;
}

type PendingRoute = Pending<string | undefined>;

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
  readonly #clock: Clock;
  readonly #wantedRoutes = new Map<RouteId, PendingRoute>();
  #routeCount = 0;

  /** `onCommand` hears of all commands but the answers to `wantRoute`. */
  constructor(endpoint: Endpoint, options: { clock: Clock; onCommand: (command: PlainCommand) => void }) {
    this.#endpoint = endpoint;
    this.#clock = options.clock;
    endpoint.on("message", (message) => {
      // The other end is our own main thread, compiled with the same contract.
      const command = message as WorkerCommand;
      if (command.type === "route") this.#takeRoute(command.routeId)?.resolve(command.address);
      else if (command.type === "routeError") this.#takeRoute(command.routeId)?.reject(new RemoteError(command.error));
      else options.onCommand(command);
    });
  }

  send(event: PlainEvent): void {
    if (event.type === "log") this.#sendLog(event);
    else this.#endpoint.postMessage(event);
  }

  /**
   * Asks for an address to send one request from; `families` are those of the target's addresses. Undefined: from no
   * address in particular. Rejects with `routes-exhausted` (RemoteError), `worker-timeout` after 5 s, or `worker-busy` with
   * 4096 wishes already waiting.
   */
  wantRoute(families: readonly AddressFamily[]): Promise<string | undefined> {
    if (this.#wantedRoutes.size >= PENDING_MAX) {
      return Promise.reject(
        new NodeError("worker-busy", `${PENDING_MAX} requests wait for an address to be sent from`),
      );
    }
    const routeId = ++this.#routeCount;
    return new Promise<string | undefined>((resolve, reject) => {
      const timer = this.#clock.after(ROUTE_TIMEOUT_MS, () => {
        const message = `the main thread named no address to send from within ${ROUTE_TIMEOUT_MS} ms`;
        this.#takeRoute(routeId)?.reject(new NodeError("worker-timeout", message));
      });
      this.#wantedRoutes.set(routeId, { resolve, reject, timer });
      this.#endpoint.postMessage({ type: "routeWanted", routeId, families });
    });
  }

  /** Answers `request` with what `work` comes to, an error included. Never rejects. */
  async answer<R extends WorkerRequest>(request: R, work: Promise<WorkerReplies[R["type"]]>): Promise<void> {
    try {
      this.#endpoint.postMessage({ type: "reply", requestId: request.requestId, value: await work });
    } catch (error) {
      this.#endpoint.postMessage({ type: "replyError", requestId: request.requestId, error: toWireError(error) });
    }
  }

  #takeRoute(routeId: RouteId): PendingRoute | undefined {
    const pending = this.#wantedRoutes.get(routeId);
    this.#wantedRoutes.delete(routeId);
    pending?.timer.cancel();
    return pending;
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
