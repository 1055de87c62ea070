// The seek points of a FLAC file (RFC 9639 section 8.5), searched in the raw bytes of the file. Audio thread.

import type { DemuxWork } from "../demux-work.ts";

/** Points of 18 bytes: sample, offset from the first frame, samples in the frame. */
const POINT_BYTES = 18;
/** A sample of all ones is a placeholder; only those follow. */
const PLACEHOLDER = 0xffffffff;
/** Points checked in one step. */
const STEP_COUNT = 1024;

interface SeekRange {
  /** Offsets of the points around a sample: the last at or before it, the first behind it. */
  readonly lowBytes: number;
  readonly highBytes: number | undefined;
}

export class SeekTable {
  readonly #view: DataView;
  readonly #count: number;

  /** Reads from the body of the block, which is retained. */
  constructor(body: Uint8Array) {
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    this.#count = Math.floor(body.length / POINT_BYTES);
  }

  /** The points around the sample, whatever order the table is in. */
  async around(sample: number, work: DemuxWork): Promise<SeekRange> {
    let low = { sample: -1, offsetBytes: 0 };
    let high = { sample: Number.POSITIVE_INFINITY, offsetBytes: Number.POSITIVE_INFINITY };
    for (let index = 0; index < this.#count; index++) {
      if (index % STEP_COUNT === 0 && work.isSpent) await work.yield();
      const at = index * POINT_BYTES;
      if (this.#view.getUint32(at) === PLACEHOLDER) break;
      const point = { sample: this.#u64(at), offsetBytes: this.#u64(at + 8) };
      if (point.sample <= sample && point.sample >= low.sample) low = point;
      if (point.sample > sample && point.sample < high.sample) high = point;
    }
    return {
      lowBytes: low.offsetBytes,
      highBytes: Number.isFinite(high.offsetBytes) ? high.offsetBytes : undefined,
    };
  }

  #u64(at: number): number {
    return this.#view.getUint32(at) * 2 ** 32 + this.#view.getUint32(at + 4);
  }
}
