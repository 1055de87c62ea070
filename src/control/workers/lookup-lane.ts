// One look-up thread and what is asked of it. The thread starts with the first look-up and ends when there has been
// none for a while; when it is lost, all that it was asked is handed back. Main thread; lookups.ts decides who goes on
// in which lane.

import type { WorkerEvent } from "../../bridge/events.ts";
import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import { RemoteError } from "../../bridge/wire-error.ts";
import type { NodeError } from "../../errors.ts";
import type { Timer } from "../../lib/clock.ts";
import { type LinkSource, serveLinks } from "./link-source.ts";
import { LookupThread, type LookupThreadOptions } from "./lookup-thread.ts";
import { type RouteSource, serveRoutes } from "./route-source.ts";

/**
 * Without a look-up for this long, the thread is ended: with it goes whatever memory a hostile file has made it grow
 * by.
 */
const IDLE_MS = 15_000;

/** One look-up on its way. */
export interface Lookup {
  /** Its request number. */
  readonly id: number;
  readonly input: PlayableInput;
  /** Losses of its thread that could be anybody's fault. */
  lossCount: number;
  readonly resolve: (result: ProbeResult) => void;
  readonly reject: (error: unknown) => void;
}

/** The end of a lane's thread. */
export interface LaneLoss {
  readonly reason: NodeError;
  /** Whose work the thread was doing; undefined: nobody's that it still had. */
  readonly suspect: Lookup | undefined;
  /** What else it was asked and had not answered. */
  readonly others: readonly Lookup[];
}

export interface LookupLaneOptions extends LookupThreadOptions {
  /** Look-ups that the thread is given at once; more wait here, in order. */
  readonly runningMax: number;
  readonly routes: RouteSource | undefined;
  readonly links: LinkSource | undefined;
  readonly onLost: (loss: LaneLoss) => void;
}

export class LookupLane {
  readonly #options: LookupLaneOptions;
  readonly #running = new Map<number, Lookup>();
  readonly #waiting = new Map<number, Lookup>();
  #thread: LookupThread | undefined;
  #idleTimer: Timer | undefined;

  constructor(options: LookupLaneOptions) {
    this.#options = options;
  }

  /** Settles the look-up when its answer is there. */
  ask(lookup: Lookup): void {
    this.#idleTimer?.cancel();
    this.#waiting.set(lookup.id, lookup);
    this.#serve();
  }

  /** Nobody waits for it any more. */
  drop(id: number): void {
    this.#waiting.delete(id);
    if (!this.#running.delete(id)) return;
    this.#thread?.send({ type: "abortProbe", requestId: id });
    this.#serve();
  }

  async close(): Promise<void> {
    this.#idleTimer?.cancel();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  #serve(): void {
    for (const [id, lookup] of this.#waiting) {
      if (this.#running.size >= this.#options.runningMax) break;
      this.#waiting.delete(id);
      this.#running.set(id, lookup);
      this.#thread ??= this.#start();
      this.#thread.send({ type: "probe", requestId: id, input: lookup.input });
    }
    if (this.#thread !== undefined) this.#thread.isBusy = this.#running.size > 0;
    if (this.#running.size === 0) this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#options.clock.after(IDLE_MS, () => void this.close());
  }

  #start(): LookupThread {
    const thread: LookupThread = new LookupThread(this.#options, {
      onEvent: (event) => this.#onEvent(thread, event),
      onLost: ({ reason, work }) => this.#onLost(reason, work?.owner),
    });
    return thread;
  }

  #onEvent(thread: LookupThread, event: WorkerEvent): void {
    if (event.type === "log") this.#options.logger[event.level](event.message, { ...event.fields, thread: "look-ups" });
    // The value's type follows from what was asked: the thread is asked nothing else.
    else if (event.type === "reply") this.#take(event.requestId)?.resolve(event.value as ProbeResult);
    else if (event.type === "replyError") this.#take(event.requestId)?.reject(new RemoteError(event.error));
    else if (event.type === "ready") this.#options.logger.debug("look-up thread ready");
    else this.#answer(thread, event);
    if (event.type === "reply" || event.type === "replyError") this.#serve();
  }

  /** What the thread itself has asked. */
  #answer(thread: LookupThread, event: WorkerEvent): void {
    const { routes, links } = this.#options;
    if (serveRoutes(event, routes, (answer) => thread.send(answer))) return;
    serveLinks(event, links, { send: (answer) => thread.send(answer), gone: thread.gone });
  }

  #take(id: number): Lookup | undefined {
    const lookup = this.#running.get(id);
    this.#running.delete(id);
    return lookup;
  }

  #onLost(reason: NodeError, suspectId: number | undefined): void {
    this.#thread = undefined;
    const suspect = suspectId === undefined ? undefined : this.#take(suspectId);
    const others = [...this.#running.values()];
    this.#running.clear();
    this.#options.onLost({ reason, suspect, others });
    this.#serve();
  }
}
