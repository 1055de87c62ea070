// The pipe between the control side and one audio worker: commands down, events up, and requests that wait for a reply.
// CommandChannel is the main thread's end, EventChannel the worker's (the probe thread has one as well). Both need
// only an Endpoint that carries plain data in order, so the same two classes run over a MessagePort today and over a
// network later.

import type { MessagePort } from "node:worker_threads";
import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { AnswerCommand, OpusCacheCommand, WorkerCommand } from "./commands.ts";
import type { WorkerEvent } from "./events.ts";
import type { OpusCacheAnswer, OpusCacheRequest } from "./opus-cache.ts";
import { PendingRequests } from "./pending-requests.ts";
import type { LinkRequest, PlayableLink } from "./playable-link.ts";
import type { WorkerReplies } from "./replies.ts";
import { RouteRequests } from "./route-requests.ts";
import { RemoteError, toWireError } from "./wire-error.ts";

/** A source may ask its site several times for one link. */
const LINK_TIMEOUT_MS = 20_000;
/**
 * Link requests that may be pending at once, shared between owners; each is a track that is being opened, or has just
 * lost its link.
 */
const LINK_REQUESTS_MAX = 1024;
/** The main thread answers from memory. A track does not wait longer for its start, and plays without the cache. */
const OPUS_CACHE_TIMEOUT_MS = 500;

/** A Worker, a MessagePort, or anything else that carries plain data in order: `Sent` away, `Received` from there. */
export interface Endpoint<Sent, Received> {
  /** Sends a structured clone; the ports in `transferList` go with it. Throws for what cannot be cloned. */
  postMessage(message: Sent, transferList?: readonly MessagePort[]): void;
  /**
   * Delivers each message once, in the order sent. Messages that arrived before there was a listener are delivered to
   * it.
   */
  on(event: "message", listener: (message: Received) => void): unknown;
}

/** The main thread's end of the pipe to a thread that takes `Command`s: both are compiled with this contract. */
export type MainEnd<Command = WorkerCommand> = Endpoint<Command | AnswerCommand, WorkerEvent>;
/** The other end. */
export type ThreadEnd<Command> = Endpoint<WorkerEvent, Command | AnswerCommand>;

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

/** Commands other than the answers to what the worker itself has asked. */
export type PlainCommand = Exclude<WorkerCommand, AnswerCommand>;

/** Events other than answers and what `requestRoute`, `requestLink` and `requestOpusCache` send. */
export type PlainEvent = Exclude<
  WorkerEvent,
  { readonly type: "reply" | "replyError" | "routeRequested" | "linkRequested" | "opusCacheRequested" }
>;

/** The main thread's end: posts commands and settles requests with their replies. */
export class CommandChannel {
  readonly #endpoint: MainEnd;
  readonly #requests: PendingRequests<WorkerReplies>;
  #closedBy: NodeError | undefined;

  /** `onEvent` receives all events except replies. */
  constructor(endpoint: MainEnd, options: { clock: Clock; onEvent: (event: WorkerEvent) => void }) {
    this.#endpoint = endpoint;
    this.#requests = new PendingRequests({ clock: options.clock });
    endpoint.on("message", (event) => {
      if (this.#closedBy !== undefined) return;
      if (event.type === "reply") this.#requests.resolve(event.requestId, event.value);
      else if (event.type === "replyError") this.#requests.reject(event.requestId, new RemoteError(event.error));
      else options.onEvent(event);
    });
  }

  /** Posts a command. Without effect once closed. */
  send(command: WorkerNotice): void {
    if (this.#closedBy !== undefined) return;
    this.#endpoint.postMessage(command, "port" in command ? [command.port] : []);
  }

  /**
   * Posts a command and waits for its reply. Rejects with the worker's own error (RemoteError), `worker-timeout` after
   * `timeoutMs`, or the reason given to `close`. However many wait, none is refused: each is about a player, which are
   * bounded, and a player that shall end must not play on because many end with it.
   */
  request<R extends UnnumberedRequest>(command: R, options: { timeoutMs: number }): Promise<WorkerReplies[R["type"]]> {
    if (this.#closedBy !== undefined) return Promise.reject(this.#closedBy);
    const { timeoutMs } = options;
    const text = `the audio worker did not answer ${command.type} within ${timeoutMs} ms`;
    const timeLimit = { ms: timeoutMs, error: () => new NodeError("worker-timeout", text) };
    return this.#requests.request<R["type"]>(command.type, { timeLimit }, (requestId) => {
      this.#endpoint.postMessage({ ...command, requestId });
    });
  }

  /** Rejects pending requests with `reason` and ignores what still arrives. */
  close(reason: NodeError): void {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = reason;
    this.#requests.rejectAll(reason);
  }
}

/** A command that a thread replies to: its request number, and its type, which decides the reply. */
interface Answerable {
  readonly requestId: number;
  readonly type: keyof WorkerReplies;
}

/** The end of an audio worker or, with its own commands, of the probe thread. */
export class EventChannel<Command extends { readonly type: string } = PlainCommand> {
  readonly #endpoint: ThreadEnd<Command>;
  readonly #routeRequests: RouteRequests;
  readonly #linkRequests: PendingRequests<{ readonly link: PlayableLink }>;
  readonly #opusCacheRequests: PendingRequests<{ readonly opusCache: OpusCacheAnswer }>;

  /** `onCommand` receives all commands except answers to requests of this end. */
  constructor(endpoint: ThreadEnd<Command>, options: { clock: Clock; onCommand: (command: Command) => void }) {
    this.#endpoint = endpoint;
    this.#routeRequests = new RouteRequests(options.clock, (routeEvent) => endpoint.postMessage(routeEvent));
    const bound = { pendingMax: LINK_REQUESTS_MAX, error: tooManyLinksError };
    this.#linkRequests = new PendingRequests({ clock: options.clock, bound });
    this.#opusCacheRequests = new PendingRequests({ clock: options.clock });
    endpoint.on("message", (command) => {
      if (isAnswer(command)) this.#onAnswer(command);
      else options.onCommand(command);
    });
  }

  /** In order; never waits. Fields of a log line that cannot be cloned go as text. */
  send(event: PlainEvent): void {
    if (event.type === "log") this.#sendLog(event);
    else this.#endpoint.postMessage(event);
  }

  /** Asks for an address to send one request from; see `RouteRequests`. */
  readonly requestRoute: RouteRequests["requestRoute"] = (families, preferred, purpose) =>
    this.#routeRequests.requestRoute(families, preferred, purpose);

  /**
   * Requests a link to a site's track. Rejects with the reason why no link is available (RemoteError), `worker-timeout`
   * after 20 s, or `worker-busy` with 1,024 requests pending, most of them of this owner. A caller that no longer needs
   * it just stops waiting.
   */
  requestLink(request: LinkRequest): Promise<PlayableLink> {
    const { sourceName } = request.track;
    const text = `the source "${sourceName}" named no link to play from within ${LINK_TIMEOUT_MS} ms`;
    const timeLimit = { ms: LINK_TIMEOUT_MS, error: () => new NodeError("worker-timeout", text) };
    return this.#linkRequests.request("link", { timeLimit, owner: request.owner }, (linkId) => {
      this.#endpoint.postMessage({ type: "linkRequested", linkId, ...request });
    });
  }

  /** Asks for an entry of the Opus cache, for a track that is being opened. Rejects with `worker-timeout` after 0.5 s. */
  requestOpusCache(request: OpusCacheRequest): Promise<OpusCacheAnswer> {
    const text = `the Opus cache did not answer within ${OPUS_CACHE_TIMEOUT_MS} ms`;
    const timeLimit = { ms: OPUS_CACHE_TIMEOUT_MS, error: () => new NodeError("worker-timeout", text) };
    return this.#opusCacheRequests.request("opusCache", { timeLimit }, (opusCacheId) => {
      this.#endpoint.postMessage({ type: "opusCacheRequested", opusCacheId, ...request });
    });
  }

  /** Replies to `request` with the result of `work`, or its error. Never rejects. */
  async answer<R extends Answerable>(request: R, work: Promise<WorkerReplies[R["type"]]>): Promise<void> {
    try {
      this.#endpoint.postMessage({ type: "reply", requestId: request.requestId, value: await work });
    } catch (error) {
      this.#endpoint.postMessage({ type: "replyError", requestId: request.requestId, error: toWireError(error) });
    }
  }

  #onAnswer(command: AnswerCommand): void {
    if (command.type === "route" || command.type === "routeError") this.#routeRequests.settle(command);
    else if (command.type === "opusCache") this.#onOpusCache(command);
    else if (command.type === "link") this.#linkRequests.resolve(command.linkId, command.link);
    else this.#linkRequests.reject(command.linkId, new RemoteError(command.error));
  }

  /** What a track that no longer waits may write is given back at once. */
  #onOpusCache({ opusCacheId, answer }: OpusCacheCommand): void {
    const isAwaited = this.#opusCacheRequests.resolve(opusCacheId, answer);
    if (isAwaited || answer.kind !== "write") return;
    this.send({ type: "opusCacheWritten", path: answer.path, sizeBytes: undefined });
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

function tooManyLinksError(): NodeError {
  return new NodeError("worker-busy", `${LINK_REQUESTS_MAX} tracks are already waiting for a link`);
}

const ANSWERS: readonly string[] = [
  "route",
  "routeError",
  "link",
  "linkError",
  "opusCache",
] satisfies AnswerCommand["type"][];

function isAnswer(command: { readonly type: string }): command is AnswerCommand {
  return ANSWERS.includes(command.type);
}
