// One probe thread and what is asked of it. The thread starts with the first look-up and ends when there has been
// none for a while; when it is lost, all that it was asked is handed back. Main thread; probe-pool.ts decides who goes on
// in which lane.

import type { WorkerEvent } from "../../bridge/events.ts";
import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import { RemoteError } from "../../bridge/wire-error.ts";
import type { NodeError } from "../../errors.ts";
import type { Timer } from "../../lib/clock.ts";
import { ProbeThread, type ProbeThreadOptions } from "./probe-thread.ts";
import { type Answerers, answerThread } from "./thread-answers.ts";

/**
 * Without a look-up for this long, the thread is ended: with it goes whatever memory a hostile file has made it grow
 * by.
 */
const IDLE_MS = 15_000;

/** One look-up on its way. */
export interface PendingProbe {
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
  readonly suspect: PendingProbe | undefined;
  /** What else it was asked and had not answered. */
  readonly others: readonly PendingProbe[];
}

interface ProbeLaneOptions extends ProbeThreadOptions, Answerers {
  /** Look-ups that the thread is given at once; more wait here, in order. */
  readonly runningMax: number;
  readonly onLost: (loss: LaneLoss) => void;
}

export class ProbeLane {
  readonly #options: ProbeLaneOptions;
  readonly #running = new Map<number, PendingProbe>();
  readonly #waiting = new Map<number, PendingProbe>();
  #thread: ProbeThread | undefined;
  #idleTimer: Timer | undefined;

  constructor(options: ProbeLaneOptions) {
    this.#options = options;
  }

  /** Settles the look-up when its answer is there. */
  ask(probe: PendingProbe): void {
    this.#idleTimer?.cancel();
    this.#waiting.set(probe.id, probe);
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
    for (const [id, probe] of this.#waiting) {
      if (this.#running.size >= this.#options.runningMax) break;
      this.#waiting.delete(id);
      this.#running.set(id, probe);
      this.#thread ??= this.#start();
      this.#thread.send({ type: "probe", requestId: id, input: probe.input });
    }
    if (this.#thread !== undefined) this.#thread.isBusy = this.#running.size > 0;
    if (this.#running.size === 0) this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#options.clock.after(IDLE_MS, () => void this.close());
  }

  #start(): ProbeThread {
    const thread: ProbeThread = new ProbeThread(this.#options, {
      onEvent: (event) => this.#onEvent(thread, event),
      onLost: ({ reason, currentTask }) => this.#onLost(reason, currentTask?.owner),
    });
    return thread;
  }

  #onEvent(thread: ProbeThread, event: WorkerEvent): void {
    if (event.type === "log") this.#options.logger[event.level](event.message, { ...event.fields, thread: "probe" });
    // The value's type follows from what was asked: the thread is asked nothing else.
    else if (event.type === "reply") this.#take(event.requestId)?.resolve(event.value as ProbeResult);
    else if (event.type === "replyError") this.#take(event.requestId)?.reject(new RemoteError(event.error));
    else if (event.type === "ready") this.#options.logger.debug("probe thread ready");
    else answerThread(event, this.#options, thread);
    if (event.type === "reply" || event.type === "replyError") this.#serve();
  }

  #take(id: number): PendingProbe | undefined {
    const probe = this.#running.get(id);
    this.#running.delete(id);
    return probe;
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
