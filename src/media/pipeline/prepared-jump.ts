// A jump within a track that is known before it is due, as over a segment that is skipped. The reader goes to its target
// while the packets before it are still played, so that the jump itself waits for nothing. Held by packet-reader.ts.
// Audio thread.

import { PacketQueue } from "./packet-queue.ts";

/** Track time, milliseconds; `toMs` is behind `fromMs`. */
export interface Jump {
  readonly fromMs: number;
  readonly toMs: number;
}

/** From this far before the jump on, everything up to it is read, to leave time for the target. */
const LEAD_MS = 3_000;
/** Read beyond the jump: what filters and encoder hold back, and what plays on when the target is late. */
const MARGIN_MS = 300;
/** Audio behind the target with which the jump may be made. */
const READY_MS = 100;

export class PreparedJump {
  readonly jump: Jump;
  /** The packets from the target on. */
  readonly queue = new PacketQueue();
  /** How far the track had been read when the reader went to the target; undefined: it has not. */
  leftAtMs: number | undefined;
  /** When it went there, by its clock. */
  soughtAtMs = 0;
  /** Nothing is left to be played before it. */
  isAwaited = false;

  constructor(jump: Jump) {
    this.jump = jump;
  }

  isFor(jump: Jump | undefined): boolean {
    return jump?.fromMs === this.jump.fromMs && jump.toMs === this.jump.toMs;
  }

  /** Whether what comes before it is to be read without a break. */
  isNear(readUntilMs: number): boolean {
    return this.leftAtMs === undefined && readUntilMs >= this.jump.fromMs - LEAD_MS;
  }

  /** Whether enough of what comes before it has been read, and the target is next. */
  isNext(readUntilMs: number, isAtEnd: boolean): boolean {
    const neededMs = isAtEnd ? this.jump.fromMs : this.jump.fromMs + MARGIN_MS;
    return this.leftAtMs === undefined && readUntilMs > neededMs;
  }

  /** Whether the jump can be made, when the target has been read up to there. */
  isReady(readUntilMs: number, isFinished: boolean): boolean {
    return this.leftAtMs !== undefined && (isFinished || readUntilMs >= this.jump.toMs + READY_MS);
  }
}
