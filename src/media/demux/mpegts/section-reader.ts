// Joins the sections of program tables, which may be longer than a packet. Audio thread.

import type { TsPacket } from "./ts-packets.ts";

/** ISO 13818-1 section 2.4.4: the most for these tables, with their header. */
const SECTION_BYTES_MAX = 1024;
/** Tables that are read at a time; a hostile stream can name thousands. */
const TABLES_MAX = 64;

const CRC_POLYNOMIAL = 0x04c11db7;

/** A table's section: its id, and the bytes between header and checksum. */
export interface TsSection {
  readonly tableId: number;
  readonly body: Uint8Array;
  /** True when its checksum is right, or 0: some writers leave it out. */
  readonly isIntact: () => boolean;
}

export class SectionReader {
  /** Sections of which a part is missing, by PID. */
  readonly #parts = new Map<number, Uint8Array>();

  /** Forgets the parts. */
  reset(): void {
    this.#parts.clear();
  }

  /** The section that this packet completes. */
  add({ pid, isUnitStart, payload }: TsPacket): TsSection | undefined {
    if (!isUnitStart) return this.#complete(pid, this.#continued(pid, payload));
    const nextStart = 1 + (payload[0] ?? 0);
    // What stands in front belongs to the section before.
    const before = nextStart > 1 ? this.#continued(pid, payload.subarray(1, nextStart)) : undefined;
    return this.#complete(pid, before) ?? this.#complete(pid, payload.subarray(nextStart));
  }

  #complete(pid: number, part: Uint8Array | undefined): TsSection | undefined {
    if (part === undefined || part.length < 3) return undefined;
    const sizeBytes = 3 + (((part[1]! & 15) << 8) | part[2]!);
    if (part.length < sizeBytes) {
      if (sizeBytes <= SECTION_BYTES_MAX && (this.#parts.size < TABLES_MAX || this.#parts.has(pid))) {
        this.#parts.set(pid, part.slice());
      }
      return undefined;
    }
    this.#parts.delete(pid);
    const section = part.subarray(0, sizeBytes);
    return {
      tableId: part[0]!,
      body: section.subarray(8, Math.max(8, sizeBytes - 4)),
      isIntact: () => section.subarray(-4).every((byte) => byte === 0) || remainderOf(section) === 0,
    };
  }

  #continued(pid: number, payload: Uint8Array): Uint8Array | undefined {
    const before = this.#parts.get(pid);
    if (before === undefined) return undefined;
    const joined = new Uint8Array(before.length + payload.length);
    joined.set(before);
    joined.set(payload, before.length);
    return joined;
  }
}

/** The CRC of a section with its checksum (ISO 13818-1 annex A): 0 when it is right. */
function remainderOf(section: Uint8Array): number {
  let crc = -1;
  for (const byte of section) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ CRC_POLYNOMIAL : crc << 1;
  }
  return crc;
}
