// MPEG-TS streams written by hand: tables, and PES packets of frames at chosen times.

import { be, bits, concat, digits } from "../../lab/media-files/bytes.ts";

export const MAP_PID = 0x1000;
export const AUDIO_PID = 0x100;
const PAYLOAD_BYTES = 184;

/** Packets of one PID; the counter continues over calls with the same object. */
export class TsPid {
  readonly #pid: number;
  #counter = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** The unit in as many packets as it needs, the last one filled up by an adaptation field. */
  packets(unit: Uint8Array): Uint8Array[] {
    const made: Uint8Array[] = [];
    for (let at = 0; at < unit.length; at += PAYLOAD_BYTES) {
      const part = unit.subarray(at, at + PAYLOAD_BYTES);
      const fillBytes = PAYLOAD_BYTES - part.length;
      const filling = new Uint8Array(fillBytes).fill(0xff);
      if (fillBytes > 0) filling[0] = fillBytes - 1;
      if (fillBytes > 1) filling[1] = 0;
      const head = concat(
        Uint8Array.of(0x47, (at === 0 ? 0x40 : 0) | (this.#pid >> 8), this.#pid & 0xff),
        Uint8Array.of((fillBytes > 0 ? 0x30 : 0x10) | (this.#counter++ & 15)),
      );
      made.push(concat(head, filling, part));
    }
    return made;
  }
}

/** A section of a table; without a checksum by default. */
export function section(tableId: number, body: Uint8Array, checksum = 0): Uint8Array {
  const rest = concat(be(1, 2), Uint8Array.of(0xc1, 0, 0), body, be(checksum, 4));
  return concat(Uint8Array.of(0, tableId), be(0xb000 | rest.length, 2), rest);
}

export interface TsStreamEntry {
  readonly type: number;
  readonly pid?: number;
  readonly descriptors?: Uint8Array;
}

/** A PAT that names one program, and its PMT. */
export function tsTables(streams: readonly TsStreamEntry[], checksum?: number): Uint8Array[] {
  const entries = streams.map(({ type, pid = AUDIO_PID, descriptors = new Uint8Array(0) }) =>
    concat(Uint8Array.of(type), be(0xe000 | pid, 2), be(0xf000 | descriptors.length, 2), descriptors),
  );
  const map = concat(be(0xe000 | AUDIO_PID, 2), be(0xf000, 2), ...entries);
  return [
    ...new TsPid(0).packets(section(0, concat(be(1, 2), be(0xe000 | MAP_PID, 2)))),
    ...new TsPid(MAP_PID).packets(section(2, map, checksum)),
  ];
}

/** A PES packet of audio at this time of the 90 kHz clock, which wraps around at 33 bits. */
export function pesUnit(ticks: number, data: Uint8Array, streamId = 0xc0): Uint8Array {
  const time = digits(((ticks % 2 ** 33) + 2 ** 33) % 2 ** 33, 33);
  const stamp = bits(`0010 ${time.slice(0, 3)} 1 ${time.slice(3, 18)} 1 ${time.slice(18)} 1`);
  const size = data.length + 8;
  return concat(
    be(1, 3),
    Uint8Array.of(streamId),
    be(size > 0xffff ? 0 : size, 2),
    Uint8Array.of(0x80, 0x80, 5),
    stamp,
    data,
  );
}
