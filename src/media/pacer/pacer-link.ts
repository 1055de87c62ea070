// An audio worker's end of the pacer: opens send paths for its voice sessions and forwards the pacer's events to them.
// The pacer may start after the first path is opened, and may be replaced after a loss. Audio thread.

import type { PacerEnd } from "./pacer-end.ts";
import type { Lateness, PacerCommand, PacerEvent, RtpSenderId } from "./pacer-messages.ts";
import { type PathLink, VoiceSendPath, type VoiceSendPathOptions } from "./voice-send-path.ts";

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
  /** Commands sent while there was no pacer: a few for each open path. */
  #unsaid: PacerCommand[] = [];
  #end: PacerEnd | undefined;
  #isRequested = false;
  #lastId = 0;
  #lateness = NOT_LATE;

  /** `onRequest` requests a pacer, once: `connect` is the answer. */
  constructor(onRequest: () => void) {
    this.#onRequest = onRequest;
  }

  /** Requests a pacer unless that was done: its thread takes a fraction of a second to start. */
  request(): void {
    if (!this.#isRequested) this.#onRequest();
    this.#isRequested = true;
  }

  /** Opens a send path to a voice server and starts IP discovery at once. */
  open(options: VoiceSendPathOptions): VoiceSendPath {
    this.request();
    const rtpSenderId = ++this.#lastId;
    const path = new VoiceSendPath(rtpSenderId, this, options);
    this.#paths.set(rtpSenderId, path);
    return path;
  }

  /** Sets the pacer to use from now on. If it replaces another one, every session starts again there. */
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

  /** Lateness of the packets since the last call. */
  takeLateness(): Lateness {
    const lateness = this.#lateness;
    this.#lateness = NOT_LATE;
    return lateness;
  }

  /** See PacerEnd. */
  yieldToPacer(nowMs: number): void {
    this.#end?.yieldToPacer(nowMs);
  }

  close(): void {
    this.#end?.close();
  }

  // Interface of the send paths

  get end(): PacerEnd | undefined {
    return this.#end;
  }

  post(command: PacerCommand): void {
    if (this.#end === undefined) this.#unsaid.push(command);
    else this.#end.post(command);
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

/** Adds two periods. Quantiles cannot be added, so those of the later period are used: the two differ only by noise. */
function addLateness(before: Lateness, { latenessCounts, latenessMsSum, ...later }: Lateness): Lateness {
  return {
    ...later,
    latenessMsMax: Math.max(before.latenessMsMax, later.latenessMsMax),
    latenessMsSum: before.latenessMsSum + latenessMsSum,
    latenessCounts: latenessCounts.map((count, index) => count + (before.latenessCounts[index] ?? 0)),
  };
}
