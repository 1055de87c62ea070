// One probe thread and its pending probes. The thread starts with the first probe and ends when there has been none for
// a while; when it is lost, all pending probes are handed back. Main thread; probe-pool.ts decides which probe
// continues in which lane.

import type { WorkerEvent } from "../../bridge/events.ts";
import type { PendingRequests } from "../../bridge/pending-requests.ts";
import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import type { WorkerReplies } from "../../bridge/replies.ts";
import { RemoteError } from "../../bridge/wire-error.ts";
import type { NodeError } from "../../errors.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import { ProbeThread, type ProbeThreadOptions } from "./probe-thread.ts";
import { type Answerers, answerThread } from "./thread-answers.ts";

/**
 * Without a probe for this long, the thread is ended, which frees the memory that a hostile file has made it allocate.
 */
const IDLE_MS = 15_000;

/** One probe in progress. */
export interface PendingProbe {
  /** Request number. */
  readonly id: number;
  readonly owner: Owner;
  readonly input: PlayableInput;
  /** Fires when it is answered, or nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** Losses of its thread that could be anybody's fault. */
  lossCount: number;
}

/** The pending probes of the node, by the type of their request. */
export type ProbeRequests = PendingRequests<Pick<WorkerReplies, "probe">>;

/** The end of a lane's thread. */
export interface LaneLoss {
  readonly reason: NodeError;
  /** The probe that the thread was working for; undefined: none that was still pending. */
  readonly suspect: PendingProbe | undefined;
  /** The other pending probes of the thread. */
  readonly others: readonly PendingProbe[];
}

interface ProbeLaneOptions extends ProbeThreadOptions, Answerers {
  /** Probes that the thread is given at once; more wait here, in order. */
  readonly runningMax: number;
  /** Settled here when an answer arrives. */
  readonly requests: ProbeRequests;
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

  /** Its request is settled when the answer arrives. */
  ask(probe: PendingProbe): void {
    this.#idleTimer?.cancel();
    this.#waiting.set(probe.id, probe);
    this.#serve();
  }

  /** Nobody waits for the probe any more. */
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
      this.#thread.send({ type: "probe", requestId: id, owner: probe.owner, input: probe.input });
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
    else if (event.type === "reply" || event.type === "replyError") this.#onReply(event);
    else if (event.type === "ready") this.#options.logger.debug("probe thread ready");
    else answerThread(event, this.#options, thread);
  }

  #onReply(event: Extract<WorkerEvent, { readonly type: "reply" | "replyError" }>): void {
    const { requests } = this.#options;
    this.#running.delete(event.requestId);
    // The value's type follows from the request: the thread receives no other requests.
    if (event.type === "reply") requests.resolve(event.requestId, event.value as ProbeResult);
    else requests.reject(event.requestId, new RemoteError(event.error));
    this.#serve();
  }

  #onLost(reason: NodeError, suspectId: number | undefined): void {
    this.#thread = undefined;
    const probes = [...this.#running.values()];
    this.#running.clear();
    const suspect = probes.find(({ id }) => id === suspectId);
    const others = probes.filter((probe) => probe !== suspect);
    this.#options.onLost({ reason, suspect, others });
    this.#serve();
  }
}
