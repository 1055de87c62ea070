// The texts of calls as messages of NATS: sealed, and cut into parts, as they may be larger than a message. Used by
// nats-link.ts; nothing of a part is believed before the whole has been opened. Main thread.
//
//   0          16           20           24
//   | call id  | part index | part count | bytes …

import type { Clock, Timer } from "../lib/clock.ts";

export const CALL_ID_BYTES = 16;
const HEAD_BYTES = CALL_ID_BYTES + 8;
const PART_SIZE_MAX_BYTES = 512 * 1024;
/** Of one text, sealed. */
export const TEXT_SIZE_MAX_BYTES = 32 * 1024 * 1024;
/** Texts of which parts are missing, at a time, and all bytes of them. */
const INCOMPLETE_MAX = 256;
const INCOMPLETE_SIZE_MAX_BYTES = 4 * TEXT_SIZE_MAX_BYTES;
const INCOMPLETE_MS_MAX = 30_000;

/** The messages of a text. `payloadMax`: what the server takes as one. */
export function cutIntoParts(callId: Uint8Array, sealed: Uint8Array, payloadMax: number): readonly Uint8Array[] {
  const sizeMax = Math.max(1, Math.min(payloadMax - HEAD_BYTES, PART_SIZE_MAX_BYTES));
  const count = Math.max(1, Math.ceil(sealed.length / sizeMax));
  return Array.from({ length: count }, (_none, index) => {
    const bytes = sealed.subarray(index * sizeMax, (index + 1) * sizeMax);
    const part = Buffer.alloc(HEAD_BYTES + bytes.length);
    part.set(callId);
    part.writeUInt32BE(index, CALL_ID_BYTES);
    part.writeUInt32BE(count, CALL_ID_BYTES + 4);
    part.set(bytes, HEAD_BYTES);
    return part;
  });
}

interface Incomplete {
  readonly parts: Uint8Array[];
  readonly count: number;
  sizeBytes: number;
  readonly timer: Timer;
}

/** A text of which all parts are there. */
export interface WholeText {
  readonly callId: Uint8Array;
  readonly sealed: Uint8Array;
}

/** Puts the parts of several texts together. Parts that do not fit are dropped, with what there was of their text. */
export class PartCollector {
  readonly #clock: Clock;
  readonly #incomplete = new Map<string, Incomplete>();
  #sizeBytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The text that this part completes. Parts of one text come in their order. */
  add(message: Uint8Array): WholeText | undefined {
    if (message.length < HEAD_BYTES) return undefined;
    const head = Buffer.from(message.buffer, message.byteOffset, HEAD_BYTES);
    const callId = Uint8Array.prototype.slice.call(message, 0, CALL_ID_BYTES);
    const [index, count] = [head.readUInt32BE(CALL_ID_BYTES), head.readUInt32BE(CALL_ID_BYTES + 4)];
    const bytes = message.subarray(HEAD_BYTES);
    const id = head.toString("hex", 0, CALL_ID_BYTES);
    if (index === 0 && count === 1) return { callId, sealed: bytes };
    const incomplete = index === 0 ? this.#begin(id, count) : this.#incomplete.get(id);
    if (incomplete === undefined) return undefined;
    const isNext = incomplete.count === count && incomplete.parts.length === index;
    const fits =
      incomplete.sizeBytes + bytes.length <= TEXT_SIZE_MAX_BYTES &&
      this.#sizeBytes + bytes.length <= INCOMPLETE_SIZE_MAX_BYTES;
    if (!isNext || !fits) {
      this.#drop(id);
      return undefined;
    }
    // A part may be a view of a larger read from the socket.
    incomplete.parts.push(Uint8Array.prototype.slice.call(bytes));
    incomplete.sizeBytes += bytes.length;
    this.#sizeBytes += bytes.length;
    if (incomplete.parts.length < count) return undefined;
    this.#drop(id);
    return { callId, sealed: Buffer.concat(incomplete.parts) };
  }

  /** Forgets all that is incomplete. */
  clear(): void {
    for (const id of [...this.#incomplete.keys()]) this.#drop(id);
  }

  #begin(id: string, count: number): Incomplete | undefined {
    if (count < 2 || count > TEXT_SIZE_MAX_BYTES || this.#incomplete.size >= INCOMPLETE_MAX) return undefined;
    this.#drop(id);
    const timer = this.#clock.after(INCOMPLETE_MS_MAX, () => this.#drop(id));
    const incomplete: Incomplete = { parts: [], count, sizeBytes: 0, timer };
    this.#incomplete.set(id, incomplete);
    return incomplete;
  }

  #drop(id: string): void {
    const incomplete = this.#incomplete.get(id);
    if (incomplete === undefined) return;
    incomplete.timer.cancel();
    this.#incomplete.delete(id);
    this.#sizeBytes -= incomplete.sizeBytes;
  }
}
