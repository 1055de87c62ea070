// Sends what is due: walks over the RTP senders of all voice sessions and sends every frame whose deadline has come.
// Its caller decides when: the pacer thread (pacer-thread.ts), or a timer where everything runs in one thread
// (local-pacer.ts). Pacer thread.

import { LATENESS_HISTOGRAM } from "../../bridge/audio-metrics.ts";
import type { LeaseEnd } from "../../bridge/lease-end.ts";
import type { Clock } from "../../lib/clock.ts";
import { Histogram } from "../../lib/histogram.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { Sockets } from "../../network/sockets.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import { RING_FRAMES } from "./frame-ring.ts";
import type { OpenRtpSender, PacerCommand, PacerEvent, RtpSenderId } from "./pacer-messages.ts";
import { RtpSender } from "./rtp-sender.ts";

/** Interval of the lateness reports to a worker. */
const REPORT_MS = 500;
/** Time after which everything in a ring has been sent. */
const GRACE_MS = 2 * RING_FRAMES * FRAME_MS;

/** One worker's end, as the pacer sees it. */
interface ConnectedWorker {
  readonly rtpSenders: Map<RtpSenderId, RtpSender>;
  readonly lateness: Histogram;
  readonly send: (event: PacerEvent) => void;
  reportedAtMs: number;
}

interface ServedSender {
  readonly rtpSender: RtpSender;
  readonly worker: ConnectedWorker;
}

interface PacerOptions {
  /** Clock of the pacer's thread. */
  readonly clock: Clock;
  readonly sockets: Sockets;
  /** Added to the clock, gives the clock of the deadlines. */
  readonly offsetMs: number;
  /** Until when anything may be sent. Undefined: the node is in no cluster. */
  readonly leaseEnd?: LeaseEnd | undefined;
}

/** The pacer's interface for one worker. */
export interface PacerClient {
  execute(command: PacerCommand): void;
  /** The worker is gone. Frames already in its rings are still sent. */
  leave(): void;
}

/**
 * One for the node, or one per worker in a simulation. Never throws: an exception in an RTP sender ends that sender.
 */
export class Pacer {
  readonly #options: PacerOptions;
  readonly #workers = new Set<ConnectedWorker>();
  /** All RTP senders of all workers, in one array to walk over. */
  #rtpSenders: readonly ServedSender[] = [];
  /** By their index, the deadline of the oldest frame that was seen there; Infinity: none was, -Infinity: nobody looked. */
  #duesMs = new Float64Array(0);
  #joiningCount = 0;

  constructor(options: PacerOptions) {
    this.#options = options;
  }

  /** Responses are awaited from sockets. */
  get isJoining(): boolean {
    return this.#joiningCount > 0;
  }

  get hasRtpSenders(): boolean {
    return this.#rtpSenders.length > 0;
  }

  /** Adds a worker. */
  serve(send: (event: PacerEvent) => void): PacerClient {
    const lateness = new Histogram({ widthMs: 0.25, buckets: 400 });
    const worker: ConnectedWorker = { rtpSenders: new Map(), lateness, send, reportedAtMs: this.#options.clock.now() };
    this.#workers.add(worker);
    return { execute: (command) => this.#execute(worker, command), leave: () => this.#dismiss(worker) };
  }

  /**
   * Sends all that is due; returns the next deadline, or Infinity without one. `isAsSeen`: no frame has been put into
   * an empty ring since the last run began; those that are put behind others are found when it is their turn.
   */
  run({ isAsSeen = false } = {}): number {
    const { clock, offsetMs } = this.#options;
    let nowMs = clock.now() + offsetMs;
    let nextMs = Number.POSITIVE_INFINITY;
    const duesMs = this.#duesMs;
    for (let index = 0; index < duesMs.length; index++) {
      const seenMs = duesMs[index]!;
      if (!isAsSeen || seenMs <= nowMs) nowMs = this.#sendDue(index, nowMs);
      nextMs = Math.min(nextMs, duesMs[index]!);
    }
    this.#report(nowMs - offsetMs);
    return nextMs;
  }

  /** Sends what is due of one RTP sender. Returns the time afterwards. */
  #sendDue(index: number, startMs: number): number {
    const { clock, offsetMs } = this.#options;
    const { rtpSender, worker } = this.#rtpSenders[index]!;
    let nowMs = startMs;
    let dueMs = rtpSender.dueMs;
    // Several when it is late: they follow each other at once, listeners' buffers even it out.
    while (dueMs <= nowMs) {
      const sentDueMs = rtpSender.sendNext(nowMs);
      nowMs = clock.now() + offsetMs;
      if (sentDueMs !== undefined) worker.lateness.add(nowMs - sentDueMs);
      dueMs = rtpSender.dueMs;
    }
    this.#duesMs[index] = dueMs;
    return nowMs;
  }

  #setRtpSenders(rtpSenders: readonly ServedSender[]): void {
    this.#rtpSenders = rtpSenders;
    this.#duesMs = new Float64Array(rtpSenders.length).fill(Number.NEGATIVE_INFINITY);
  }

  /** Closes everything. */
  close(): void {
    for (const { rtpSender } of this.#rtpSenders) rtpSender.close();
    this.#setRtpSenders([]);
    this.#workers.clear();
  }

  #execute(worker: ConnectedWorker, command: PacerCommand): void {
    if (command.type === "wake") return;
    const { rtpSenderId } = command;
    if (command.type === "open") {
      this.#open(worker, command);
      return;
    }
    const rtpSender = worker.rtpSenders.get(rtpSenderId);
    if (command.type === "start") {
      rtpSender?.start(command.key, command.rtp);
      // What lies ready is due from now on.
      this.#duesMs.fill(Number.NEGATIVE_INFINITY);
    } else if (command.type === "rekey") rtpSender?.rekey(command.key);
    else this.#close(worker, rtpSenderId);
  }

  #open(worker: ConnectedWorker, open: OpenRtpSender): void {
    const { clock, sockets, offsetMs, leaseEnd } = this.#options;
    const { rtpSenderId } = open;
    const life = leaseEnd?.life ?? 0;
    const maySend = (): boolean => leaseEnd === undefined || leaseEnd.isBefore(clock.now() + offsetMs, life);
    let rtpSender: RtpSender;
    try {
      rtpSender = new RtpSender({ open, socket: sockets.createUdp(), clock, maySend, send: worker.send });
    } catch (error) {
      worker.send({ type: "unreachable", rtpSenderId, reason: messageOf(error) });
      return;
    }
    worker.rtpSenders.set(rtpSenderId, rtpSender);
    this.#setRtpSenders([...this.#rtpSenders, { rtpSender, worker }]);
    this.#joiningCount += 1;
    void rtpSender.discover().finally(() => {
      this.#joiningCount -= 1;
    });
  }

  #close(worker: ConnectedWorker, rtpSenderId: RtpSenderId): void {
    const rtpSender = worker.rtpSenders.get(rtpSenderId);
    if (rtpSender === undefined) return;
    rtpSender.close();
    worker.rtpSenders.delete(rtpSenderId);
    this.#setRtpSenders(this.#rtpSenders.filter((entry) => entry.rtpSender !== rtpSender));
  }

  /** Ready frames are still sent, so that listeners of a lost worker miss as little as possible. */
  #dismiss(worker: ConnectedWorker): void {
    this.#workers.delete(worker);
    this.#options.clock.after(GRACE_MS, () => {
      for (const rtpSenderId of [...worker.rtpSenders.keys()]) this.#close(worker, rtpSenderId);
    });
  }

  #report(nowMs: number): void {
    for (const worker of this.#workers) {
      if (nowMs - worker.reportedAtMs < REPORT_MS) continue;
      worker.reportedAtMs = nowMs;
      const { lateness, send } = worker;
      if (lateness.max === 0) continue;
      send({
        type: "lateness",
        lateness: {
          latenessMsP50: lateness.quantile(0.5),
          latenessMsP99: lateness.quantile(0.99),
          latenessMsMax: lateness.max,
          latenessCounts: lateness.classCounts(LATENESS_HISTOGRAM.boundsMs),
          latenessMsSum: lateness.sumMs,
        },
      });
      lateness.clear();
    }
  }
}
