// Reads the bodies of requests, each and all together within a bound: what has arrived of larger ones is counted until their
// requests are answered. Main thread; for the REST server.

import type { IncomingMessage } from "node:http";
import { NodeError } from "../../errors.ts";
import { ByteBudget } from "../../lib/byte-budget.ts";
import type { WorkTurns } from "../../lib/work-turns.ts";
import { ApiError } from "./api-error.ts";

const SIZE_MAX_BYTES = 4 * 1024 * 1024;
/** A body of up to this size is not counted, and handled at once. */
const LIGHT_BODY_SIZE_MAX_BYTES = 16 * 1024;
/** All larger ones that are held at one time. */
const HELD_MAX_BYTES = 64 * 1024 * 1024;

export class BodyReader {
  readonly #memory = new ByteBudget({ owner: "the node", limitBytes: HELD_MAX_BYTES });
  readonly #heldBytes = new WeakMap<IncomingMessage, number>();
  readonly #turns: Pick<WorkTurns, "next">;

  constructor(turns: Pick<WorkTurns, "next">) {
    this.#turns = turns;
  }

  /**
   * Resolves, with a large body, in a turn that whatever is done with it at once belongs to. Rejects with a 413, with
   * `requests-busy`, or when the client is gone. Whatever comes, `letGo` follows.
   */
  read(message: IncomingMessage): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      const fail = (error: Error): void => {
        message.off("data", onData);
        reject(error);
      };
      const onData = (chunk: Buffer): void => {
        sizeBytes += chunk.length;
        if (sizeBytes > SIZE_MAX_BYTES) fail(tooLarge());
        else if (sizeBytes > LIGHT_BODY_SIZE_MAX_BYTES && !this.#hold(message, sizeBytes)) fail(busy());
        else chunks.push(chunk);
      };
      if (Number(message.headers["content-length"]) > SIZE_MAX_BYTES) {
        reject(tooLarge());
        return;
      }
      message.on("data", onData);
      const onClose = (): void => fail(new ApiError(400, "the request was not sent to its end"));
      const onEnd = async (): Promise<void> => {
        message.off("close", onClose);
        // Making text of 4 MiB takes some milliseconds, and dozens of bodies may end in one moment.
        if (sizeBytes > LIGHT_BODY_SIZE_MAX_BYTES) await this.#turns.next();
        resolve(Buffer.concat(chunks).toString());
      };
      message.once("end", () => void onEnd());
      message.once("error", fail);
      message.once("close", onClose);
    });
  }

  /** The request has been answered, or nobody waits for the answer any more. */
  letGo(message: IncomingMessage): void {
    this.#memory.release(this.#heldBytes.get(message) ?? 0);
    this.#heldBytes.delete(message);
  }

  #hold(message: IncomingMessage, sizeBytes: number): boolean {
    const moreBytes = sizeBytes - (this.#heldBytes.get(message) ?? 0);
    if (!this.#memory.hasRoom(moreBytes)) return false;
    this.#memory.take(moreBytes, "a request body");
    this.#heldBytes.set(message, sizeBytes);
    return true;
  }
}

function tooLarge(): ApiError {
  return new ApiError(413, "the request body is larger than this node accepts: 4 MiB");
}

function busy(): NodeError {
  return new NodeError("requests-busy", "the node holds as many large request bodies as it can: try again in a moment");
}
