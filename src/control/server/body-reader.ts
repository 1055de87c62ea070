// Reads the bodies of requests, each and all together within a bound: received bytes of larger bodies count until their
// requests are answered. Main thread; for the REST server.

import type { IncomingMessage } from "node:http";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { nudgeCollector } from "../../lib/garbage-nudge.ts";
import { GrowingBytes } from "../../lib/large-buffer.ts";
import type { TaskSlicer } from "../../lib/task-slicer.ts";
import { ApiError } from "../api/api-error.ts";
import { BODIES_HELD_MAX_BYTES, BodyMemory } from "./body-memory.ts";

const MEBIBYTE = 1024 * 1024;
/** The largest body that is read. */
export const BODY_SIZE_MAX_BYTES = 4 * MEBIBYTE;
/** A body of up to this size is not counted, and handled at once. */
export const LIGHT_BODY_SIZE_MAX_BYTES = 16 * 1024;
/** Released bodies of this size are worth a collection: their texts take several times as much. */
const NUDGED_BYTES = 4 * MEBIBYTE;
/** Bodies arrive one after the other; their memory is released once there was time to answer them. */
const NUDGE_DELAY_MS = 3000;
/** Until the second nudge: what survives a collection by chance goes with the next. */
const SECOND_NUDGE_MS = 7000;

/** Whose body it is. */
interface Reading {
  /** Undefined: nobody is known yet, and only a body that is not counted is read. */
  readonly account: string | undefined;
}

interface BodyReaderOptions {
  readonly clock: Clock;
  readonly slicer: Pick<TaskSlicer, "next">;
  /** Default: the one of V8. */
  readonly nudge?: (releasedBytes: number) => void;
}

export class BodyReader {
  readonly #memory: BodyMemory;
  readonly #clock: Clock;
  readonly #slicer: Pick<TaskSlicer, "next">;
  #releasedBytes = 0;
  #nudgeTimer: Timer | undefined;

  readonly #nudgeCollector: (releasedBytes: number) => void;

  constructor({ clock, slicer, nudge = nudgeCollector }: BodyReaderOptions) {
    this.#nudgeCollector = nudge;
    this.#clock = clock;
    this.#memory = new BodyMemory(clock);
    this.#slicer = slicer;
  }

  /**
   * Resolves, with a large body, in a time slice that the work done with it synchronously belongs to. Rejects with a
   * 413, with `requests-busy`, or when the client has disconnected. In every case `release` follows.
   */
  read(message: IncomingMessage, { account }: Reading): Promise<string> {
    const limitBytes = account === undefined ? LIGHT_BODY_SIZE_MAX_BYTES : BODY_SIZE_MAX_BYTES;
    if (Number(message.headers["content-length"]) > limitBytes) return Promise.reject(tooLarge(limitBytes));
    return new Promise((resolve, reject) => {
      const body = new Body();
      const fail = (error: Error): void => {
        message.off("data", onData);
        body.clear();
        reject(error);
      };
      const holder = { account: account ?? "", onDropped: () => fail(busy()) };
      const onData = (chunk: Buffer): void => {
        const sizeBytes = body.sizeBytes + chunk.length;
        if (sizeBytes > limitBytes) fail(tooLarge(limitBytes));
        else if (sizeBytes > LIGHT_BODY_SIZE_MAX_BYTES && !this.#memory.hold(message, sizeBytes, holder)) fail(busy());
        else body.append(chunk);
      };
      message.on("data", onData);
      const onClose = (): void => fail(new ApiError(400, "the request was not sent to its end"));
      const onEnd = async (): Promise<void> => {
        // The connection remembers its last request, and by its listeners the text.
        message.off("data", onData).off("close", onClose).off("error", onClose);
        this.#memory.arrived(message);
        // Making text of 4 MiB takes some milliseconds, and dozens of bodies may end in one moment.
        if (body.sizeBytes > LIGHT_BODY_SIZE_MAX_BYTES) await this.#slicer.next(account);
        resolve(body.toString());
        body.clear();
      };
      message.once("end", () => void onEnd());
      message.once("error", onClose);
      message.once("close", onClose);
    });
  }

  /** The request has been answered, or its client has disconnected. */
  release(message: IncomingMessage): void {
    this.#releasedBytes += this.#memory.release(message);
    if (this.#releasedBytes >= NUDGED_BYTES)
      this.#nudgeTimer ??= this.#clock.after(NUDGE_DELAY_MS, () => this.#nudge());
  }

  #nudge(): void {
    this.#nudgeCollector(BODIES_HELD_MAX_BYTES);
    const hasMore = this.#releasedBytes >= NUDGED_BYTES;
    this.#releasedBytes = 0;
    this.#nudgeTimer = hasMore ? this.#clock.after(SECOND_NUDGE_MS, () => this.#nudge()) : undefined;
  }
}

/**
 * The received part of a body: pieces while it is small, and one buffer when it is large, whose memory returns to the
 * system.
 */
class Body {
  sizeBytes = 0;
  #pieces: Buffer[] = [];
  #whole: GrowingBytes | undefined;

  append(piece: Buffer): void {
    this.sizeBytes += piece.length;
    this.#pieces.push(piece);
    if (this.sizeBytes <= LIGHT_BODY_SIZE_MAX_BYTES) return;
    this.#whole ??= new GrowingBytes(BODY_SIZE_MAX_BYTES);
    for (const part of this.#pieces) this.#whole.append(part);
    this.#pieces = [];
  }

  /** Its memory may be used for others although the rest is still being sent. */
  clear(): void {
    this.#pieces = [];
    this.#whole = undefined;
  }

  toString(): string {
    return (this.#whole ?? Buffer.concat(this.#pieces)).toString();
  }
}

function tooLarge(limitBytes: number): ApiError {
  const limit = limitBytes < MEBIBYTE ? `${limitBytes / 1024} KiB` : `${limitBytes / MEBIBYTE} MiB`;
  return new ApiError(413, `the request body is larger than this node accepts here: ${limit}`);
}

function busy(): NodeError {
  return new NodeError("requests-busy", "the node holds as many large request bodies as it can: try again in a moment");
}
