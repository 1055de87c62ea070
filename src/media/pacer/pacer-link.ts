// An audio worker's end of the pacer: opens paths for its voice sessions, and gives each what the pacer tells of it.
// The pacer itself may come later than the first path, and be another one after a loss. Audio thread.

import type { Lateness, PacerCommand, PacerEvent, RtpSenderId } from "./pacer-messages.ts";
import { type PathLink, VoiceSendPath, type VoiceSendPathOptions } from "./voice-send-path.ts";

/** A pacer as a worker reaches it: in another thread (remote-pacer.ts) or in its own (local-pacer.ts). */
export interface PacerEnd {
  /** Added to the worker's clock, it gives the time in which frames are due. */
  readonly offsetMs: number;
  post(command: PacerCommand): void;
  /** A frame has been put into a ring, due at `dueMs` of the worker's clock. */
  onPut(dueMs: number): void;
  /** Lets it have a processor, if it lacks one. To be called between two pieces of work. */
  yieldToPacer(): void;
  /** What it tells. Once. */
  listen(onEvent: (event: PacerEvent) => void): void;
  /** The worker is closing. */
  close(): void;
}

const NOT_LATE: Lateness = {
  latenessMsP50: 0,
  latenessMsP99: 0,
  latenessMsMax: 0,
  latenessMsSum: 0,
  latenessCounts: [],
};

/** One per worker. */
export class PacerLink implements PathLink {
  readonly #onRequest: () => void;
  readonly #paths = new Map<RtpSenderId, VoiceSendPath>();
  /** Said while there was no pacer: a few commands for each path that is open. */
  #unsaid: PacerCommand[] = [];
  #end: PacerEnd | undefined;
  #isRequested = false;
  #lastId = 0;
  #lateness = NOT_LATE;

  /** `onRequest` asks for a pacer, once: `connect` is the answer. */
  constructor(onRequest: () => void) {
    this.#onRequest = onRequest;
  }

  /** A way to a voice server, which asks for our address at once. */
  open(options: VoiceSendPathOptions): VoiceSendPath {
    if (!this.#isRequested) this.#onRequest();
    this.#isRequested = true;
    const rtpSenderId = ++this.#lastId;
    const path = new VoiceSendPath(rtpSenderId, this, options);
    this.#paths.set(rtpSenderId, path);
    return path;
  }

  /** The pacer to use from now on. In place of another one, every session begins anew there. */
  connect(end: PacerEnd): void {
    const isAnother = this.#end !== undefined;
    this.#isRequested = true;
    this.#end?.close();
    this.#end = end;
    end.listen((event) => this.#onEvent(event));
    const unsaid = this.#unsaid;
    this.#unsaid = [];
    if (isAnother) for (const path of [...this.#paths.values()]) path.onPacerLost();
    else for (const command of unsaid) end.post(command);
  }

  /** How late packets were since the last call. */
  takeLateness(): Lateness {
    const lateness = this.#lateness;
    this.#lateness = NOT_LATE;
    return lateness;
  }

  /** See PacerEnd. */
  yieldToPacer(): void {
    this.#end?.yieldToPacer();
  }

  close(): void {
    this.#end?.close();
  }

  // What paths need

  get offsetMs(): number {
    return this.#end?.offsetMs ?? 0;
  }

  post(command: PacerCommand): void {
    if (this.#end === undefined) this.#unsaid.push(command);
    else this.#end.post(command);
  }

  onPut(dueMs: number): void {
    this.#end?.onPut(dueMs);
  }

  forget(rtpSenderId: RtpSenderId): void {
    this.#paths.delete(rtpSenderId);
    this.#unsaid = this.#unsaid.filter((command) => command.type === "wake" || command.rtpSenderId !== rtpSenderId);
  }

  #onEvent(event: PacerEvent): void {
    if (event.type === "lateness") this.#lateness = addLateness(this.#lateness, event.lateness);
    else this.#paths.get(event.rtpSenderId)?.onEvent(event);
  }
}

/** Of both periods. Quantiles cannot be added: the later one counts, of two that are alike in all but noise. */
function addLateness(before: Lateness, { latenessCounts, latenessMsSum, ...later }: Lateness): Lateness {
  return {
    ...later,
    latenessMsMax: Math.max(before.latenessMsMax, later.latenessMsMax),
    latenessMsSum: before.latenessMsSum + latenessMsSum,
    latenessCounts: latenessCounts.map((count, index) => count + (before.latenessCounts[index] ?? 0)),
  };
}
