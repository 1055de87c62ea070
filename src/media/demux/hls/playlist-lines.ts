// The lines of a playlist, one at a time, out of the received pieces: only lines that are read get decoded, and a step
// never takes longer than one line of bounded length. Audio thread.

import type { ByteWindow } from "../../input/byte-window.ts";
import { decodeText } from "../../input/legacy-text.ts";
import { invalidPlaylist } from "./playlist-errors.ts";

/** Signed addresses have one or two KiB. */
const LINE_BYTES_MAX = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;
/** Blank lines skipped in one step. */
const BLANKS_PER_STEP = 1024;
const [NEWLINE, HASH] = [0x0a, 0x23];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

export interface PlaylistLine {
  readonly atBytes: number;
  /** Tags and comments begin with `#`; everything else is an address. Undefined: blank. */
  readonly kind: "tag" | "address" | undefined;
  /** Trimmed; decoded when it is called. */
  text(): string;
}

const BLANKS: Omit<PlaylistLine, "atBytes"> = { kind: undefined, text: () => "" };

export class PlaylistLines {
  readonly #data: ByteWindow;
  #block: Uint8Array = new Uint8Array(0);
  #blockAtBytes = 0;
  #atBytes: number;

  /** Begins at this byte, which begins a line. */
  constructor(data: ByteWindow, atBytes: number) {
    this.#data = data;
    this.#atBytes = atBytes === 0 ? startBytes(data) : atBytes;
  }

  /** Where the next line begins. */
  get atBytes(): number {
    return this.#atBytes;
  }

  /**
   * The next line, or a stretch of blanks; undefined at the end.
   * @throws NodeError "hls-playlist-invalid" when the line is too long
   */
  next(): PlaylistLine | undefined {
    const atBytes = this.#skipBlanks();
    if (atBytes >= this.#data.endBytes) return undefined;
    if (atBytes - this.#atBytes >= BLANKS_PER_STEP) {
      this.#atBytes = atBytes;
      return { ...BLANKS, atBytes };
    }
    const bytes = this.#lineAt(atBytes);
    this.#atBytes = Math.min(this.#data.endBytes, atBytes + bytes.length + 1);
    return { atBytes, kind: bytes[0] === HASH ? "tag" : "address", text: () => decodeText(bytes).trim() };
  }

  /** Position of the first byte that is not blank, scanning no further than one step may. */
  #skipBlanks(): number {
    let atBytes = this.#atBytes;
    const untilBytes = Math.min(this.#data.endBytes, atBytes + BLANKS_PER_STEP);
    while (atBytes < untilBytes && this.#byteAt(atBytes) <= 0x20) atBytes++;
    return atBytes;
  }

  #byteAt(atBytes: number): number {
    if (atBytes >= this.#blockAtBytes + this.#block.length || atBytes < this.#blockAtBytes) this.#loadBlock(atBytes);
    return this.#block[atBytes - this.#blockAtBytes]!;
  }

  /** From here up to its newline or the end. */
  #lineAt(atBytes: number): Uint8Array {
    let line = this.#lineInBlock(atBytes);
    if (line === undefined) {
      this.#loadBlock(atBytes);
      line = this.#lineInBlock(atBytes) ?? this.#block;
    }
    if (line.length > LINE_BYTES_MAX) throw invalidPlaylist(`it has a line of more than ${LINE_BYTES_MAX} bytes`);
    return line;
  }

  #lineInBlock(atBytes: number): Uint8Array | undefined {
    const from = atBytes - this.#blockAtBytes;
    const end = this.#block.indexOf(NEWLINE, from);
    return end === -1 ? undefined : this.#block.subarray(from, end);
  }

  #loadBlock(atBytes: number): void {
    const sizeBytes = Math.min(BLOCK_BYTES, this.#data.endBytes - atBytes);
    this.#block = this.#data.read(atBytes, sizeBytes) ?? new Uint8Array(0);
    this.#blockAtBytes = atBytes;
  }
}

function startBytes(data: ByteWindow): number {
  const start = data.read(0, Math.min(BYTE_ORDER_MARK.length, data.endBytes)) ?? [];
  return BYTE_ORDER_MARK.every((byte, index) => start[index] === byte) ? BYTE_ORDER_MARK.length : 0;
}
