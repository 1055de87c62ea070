// A reading position over a ByteSource with a small window of bytes that parsers read synchronously; a parser waits
// only when both the window and the source's own buffer are too short. Used by every container reader. Audio thread.

import { allocateBytes } from "../../lib/large-buffer.ts";
import type { ByteSource } from "../input/byte-source.ts";

/** How much is taken from the source's buffer at once, when it is available. */
const WINDOW_BYTES = 16 * 1024;
/** How far one scan for a pattern goes: some tens of microseconds. */
const SCAN_BYTES = 32 * 1024;

/** Half of the bytes that every source promises to return again. */
const HELD_BYTES_MIN = 32 * 1024;

/**
 * The largest position: sums of sizes that a file claims, also infinite ones, are clamped here. No file reaches it, and
 * numbers are still exact.
 */
const POSITION_MAX = 2 ** 52;

const NOTHING = new Uint8Array(0);

/** A request to the source: where the new window starts, how much of it is held, and how much is missing. */
interface Request {
  readonly position: number;
  readonly held: Uint8Array;
  readonly from: number;
  readonly asked: number;
}

/**
 * Result of a scan for a pattern: it was found at the requested offset, or this many bytes are known not to start it.
 */
interface Scan {
  readonly isFound: boolean;
  readonly skippedBytes: number;
}

/**
 * Positions are bytes from the source's beginning. One reader at a time; returned views stay valid, as the window is
 * replaced and never overwritten.
 */
export class ByteCursor {
  readonly source: ByteSource;
  #window: Uint8Array = NOTHING;
  #windowStart = 0;
  #offset = 0;
  #neededBytes = 0;
  #endBytes: number | undefined;
  #fetchedBytes = 0;

  constructor(source: ByteSource, positionBytes = 0) {
    this.source = source;
    this.#windowStart = positionBytes;
  }

  /** Position of the next byte, from the source's beginning. */
  get position(): number {
    return this.#windowStart + this.#offset;
  }

  /** Where the data ends: the source's size, or the result of a short read; undefined while unknown. */
  get endBytes(): number | undefined {
    return this.#endBytes ?? this.source.sizeBytes;
  }

  /** How many bytes were taken from the source so far; bytes taken twice count twice. */
  get fetchedBytes(): number {
    return this.#fetchedBytes;
  }

  /** True when at least `count` bytes can be read now. If not, `fill` fetches them and `isShort` reports the end. */
  has(count: number): boolean {
    this.#neededBytes = count;
    if (this.#offset + count <= this.#window.length) return true;
    const exact = this.#request(count);
    // At least one window, so that retained bytes are not copied again for every few new ones.
    const ample = { ...exact, asked: Math.max(exact.asked, WINDOW_BYTES) };
    for (const request of [ample, exact]) {
      const bytes = this.source.readBuffered(request.from, request.asked);
      if (bytes === undefined) continue;
      this.#take(bytes, request);
      return this.#offset + count <= this.#window.length;
    }
    return false;
  }

  /** After `has` returned false: true when the data ends before the requested bytes. */
  get isShort(): boolean {
    return this.#endBytes !== undefined && this.position + this.#neededBytes > this.#endBytes;
  }

  /** Waits for the bytes that `has` last requested (or the end of the data). */
  async fill(): Promise<void> {
    const request = this.#request(this.#neededBytes);
    this.#take(await this.source.read(request.from, request.asked), request);
  }

  /** `has` that waits: false only when the data ends first. */
  async need(count: number): Promise<boolean> {
    if (this.has(count)) return true;
    if (!this.isShort) await this.fill();
    return this.#offset + count <= this.#window.length;
  }

  /** Returns up to `count` bytes without moving: fewer only at the end of the data. */
  async peek(count: number): Promise<Uint8Array> {
    await this.need(count);
    return this.#window.subarray(this.#offset, this.#offset + count);
  }

  /** Reads up to `count` bytes: fewer only at the end of the data. */
  async read(count: number): Promise<Uint8Array> {
    const bytes = await this.peek(count);
    this.#offset += bytes.length;
    return bytes;
  }

  /** The next `count` bytes, which `has` has confirmed; moves behind them. */
  take(count: number): Uint8Array {
    const start = this.#offset;
    this.#offset = start + count;
    return this.#window.subarray(start, start + count);
  }

  /** A view of up to `count` buffered bytes at the position; does not move. */
  view(count: number): Uint8Array {
    return this.#window.subarray(this.#offset, this.#offset + count);
  }

  /** How many bytes can be read now without asking the source. */
  get bufferedBytes(): number {
    return Math.max(0, this.#window.length - this.#offset);
  }

  /** The byte `ahead` of the position; 0 outside the window (confirm with `has` first). */
  u8(ahead: number): number {
    return this.#window[this.#offset + ahead] ?? 0;
  }

  /** Two bytes, most significant first; as `u8` outside the window. */
  u16be(ahead: number): number {
    return (this.u8(ahead) << 8) | this.u8(ahead + 1);
  }

  /** Four bytes, most significant first, unsigned; as `u8` outside the window. */
  u32be(ahead: number): number {
    return ((this.u8(ahead) << 24) | (this.u8(ahead + 1) << 16) | (this.u8(ahead + 2) << 8) | this.u8(ahead + 3)) >>> 0;
  }

  /** Four bytes, least significant first, unsigned; as `u8` outside the window. */
  u32le(ahead: number): number {
    return ((this.u8(ahead + 3) << 24) | (this.u8(ahead + 2) << 16) | (this.u8(ahead + 1) << 8) | this.u8(ahead)) >>> 0;
  }

  /** Like `moveTo`, from here; `count` may be negative. */
  skip(count: number): void {
    this.moveTo(this.position + count);
  }

  /** A position behind the end (as a box may claim) means the end, one before the beginning the beginning. */
  moveTo(positionBytes: number): void {
    const offset = positionBytes - this.#windowStart;
    if (offset >= 0 && offset <= this.#window.length) {
      this.#offset = offset;
      return;
    }
    this.#window = NOTHING;
    this.#windowStart = Math.min(Math.max(0, positionBytes), POSITION_MAX);
    this.#offset = 0;
  }

  /**
   * Moves so that the next `pattern` is `ahead` bytes ahead of the position, or else past the scanned bytes: one step
   * of a search, over the buffered bytes.
   */
  scanFor(pattern: readonly number[], ahead = 0): Scan {
    const window = this.#window;
    const start = this.#offset;
    const last = Math.min(window.length - pattern.length - ahead, start + SCAN_BYTES);
    for (let at = start; at <= last; at++) {
      if (!isAt(window, at + ahead, pattern)) continue;
      this.#offset = at;
      return { isFound: true, skippedBytes: at - start };
    }
    this.#offset = Math.max(start, last + 1);
    return { isFound: false, skippedBytes: this.#offset - start };
  }

  /**
   * The request to the source that makes `count` bytes available. As a rule it covers all of them, from the position
   * on; but when much of that is held already, the held part is retained, because a forward-only source need not
   * deliver it twice.
   */
  #request(count: number): Request {
    const held = this.#window.subarray(this.#offset);
    const position = this.position;
    const isRetained = held.length >= HELD_BYTES_MIN && count > held.length;
    if (!isRetained) return { position, held: NOTHING, from: position, asked: count };
    return { position, held, from: position + held.length, asked: count - held.length };
  }

  #take(bytes: Uint8Array, { position, held, from, asked }: Request): void {
    this.#window = held.length === 0 ? bytes : join(held, bytes);
    this.#windowStart = position;
    this.#offset = 0;
    this.#fetchedBytes += bytes.length;
    if (bytes.length < asked) this.#endBytes = from + bytes.length;
  }
}

function isAt(bytes: Uint8Array, at: number, pattern: readonly number[]): boolean {
  for (let index = 0; index < pattern.length; index++) if (bytes[at + index] !== pattern[index]) return false;
  return true;
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  // Not zeroed before it is filled: up to some megabytes.
  const joined = allocateBytes(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
