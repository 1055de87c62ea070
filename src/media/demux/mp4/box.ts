// Boxes, the notation of MP4 (ISO 14496-12 section 4.2): headers and children. Audio thread.

export interface BoxHeader {
  readonly type: string;
  readonly headerBytes: number;
  /** Whole box; infinite for one that reaches to the end of the file. */
  readonly sizeBytes: number;
}

/** Durations of samples from here on are negative numbers: a muxer's clock went back. */
export const DURATION_MAX = 2 ** 31;

/** 32 bits of size, type, and perhaps 64 bits of size. */
export const BOX_HEADER_BYTES_MAX = 16;

/** The header at `start`; undefined when it is cut off or invalid. */
export function parseBoxHeader(bytes: Uint8Array, start = 0): BoxHeader | undefined {
  if (start + 8 > bytes.length) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const type = String.fromCharCode(...bytes.subarray(start + 4, start + 8));
  const size = view.getUint32(start);
  if (size === 0) return { type, headerBytes: 8, sizeBytes: Number.POSITIVE_INFINITY };
  if (size !== 1) return size < 8 ? undefined : { type, headerBytes: 8, sizeBytes: size };
  if (start + 16 > bytes.length) return undefined;
  const sizeBytes = view.getUint32(start + 8) * 2 ** 32 + view.getUint32(start + 12);
  return sizeBytes < 16 ? undefined : { type, headerBytes: 16, sizeBytes };
}

interface Box {
  readonly type: string;
  readonly body: Uint8Array;
}

/** Children read below one parent. */
const CHILD_COUNT_MAX = 1024;

/**
 * The boxes in `body` from `start`; stops at the first invalid one. A box that is cut off yields the bytes that are
 * there.
 */
export function* readBoxes(body: Uint8Array, start = 0): Generator<Box> {
  let at = start;
  for (let count = 0; count < CHILD_COUNT_MAX; count++) {
    const header = parseBoxHeader(body, at);
    if (header === undefined) return;
    yield { type: header.type, body: body.subarray(at + header.headerBytes, at + header.sizeBytes) };
    at += header.sizeBytes;
  }
}

/** The body of the first box of that type in `body`, going down the path; undefined when one is missing. */
export function findBox(body: Uint8Array, ...path: readonly string[]): Uint8Array | undefined {
  let current: Uint8Array | undefined = body;
  for (const type of path) {
    let found: Uint8Array | undefined;
    for (const box of readBoxes(current)) {
      if (box.type !== type) continue;
      found = box.body;
      break;
    }
    if (found === undefined) return undefined;
    current = found;
  }
  return current;
}

/** Numbers of a box body, big-endian; 0 behind its end, so that a short box reads as an empty one. */
export class Fields {
  readonly #view: DataView;

  constructor(body: Uint8Array) {
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  }

  get sizeBytes(): number {
    return this.#view.byteLength;
  }

  u8(at: number): number {
    return at + 1 <= this.#view.byteLength ? this.#view.getUint8(at) : 0;
  }

  u16(at: number): number {
    return at + 2 <= this.#view.byteLength ? this.#view.getUint16(at) : 0;
  }

  u32(at: number): number {
    return at + 4 <= this.#view.byteLength ? this.#view.getUint32(at) : 0;
  }

  s32(at: number): number {
    return this.u32(at) | 0;
  }

  /** 64 bits, exact up to 2^53. */
  u64(at: number): number {
    return this.u32(at) * 2 ** 32 + this.u32(at + 4);
  }

  f64(at: number): number {
    return at + 8 <= this.#view.byteLength ? this.#view.getFloat64(at) : 0;
  }

  /** 64 bits signed. */
  s64(at: number): number {
    return this.s32(at) * 2 ** 32 + this.u32(at + 4);
  }
}
