// MPEG-TS packets, their tables and PES headers (ISO 13818-1 sections 2.4.3 and 2.4.4). Audio thread.
//
//   0x47 | DUxPPPPP | PPPPPPPP | SSAACCCC   D damaged, U start of a unit, P PID, S scrambled,
//                                           A adaptation field and payload, C counter

import type { ByteCursor } from "../byte-cursor.ts";

const SYNC = 0x47;
/** Plain packets, with a time code in front (Blu-ray), with error correction behind. */
const PACKET_SIZES = [188, 192, 204] as const;
/** Packets in a row that confirm a stream; a few less will do in the first packet. */
const CONFIRM_COUNT = 5;
const FIRST_BYTES = 204;
/** Enough to find the stride from anywhere in the first packet. */
export const TS_SNIFF_BYTES = FIRST_BYTES + CONFIRM_COUNT * 204;
/** The same, behind as much of anything else: some sites put a picture in front of their segments. */
export const TS_HEAD_BYTES = 4096 + CONFIRM_COUNT * 204;

export interface TsLayout {
  /** Position of the first sync byte. */
  readonly offsetBytes: number;
  readonly packetBytes: number;
}

/** The stride of the packets at the start of `bytes`; fewer than five will do where the data ends. */
export function findTsLayout(bytes: Uint8Array): TsLayout | undefined {
  for (let offset = bytes.indexOf(SYNC); offset >= 0; offset = bytes.indexOf(SYNC, offset + 1)) {
    for (const packetBytes of PACKET_SIZES) {
      const held = Math.floor((bytes.length - offset + 16) / packetBytes);
      const count = Math.min(CONFIRM_COUNT, held);
      if (count < (offset === 0 ? 2 : offset < FIRST_BYTES ? 4 : CONFIRM_COUNT)) continue;
      if (isStride(bytes, { offset, packetBytes, count })) return { offsetBytes: offset, packetBytes };
    }
  }
  return undefined;
}

function isStride(bytes: Uint8Array, stride: { offset: number; packetBytes: number; count: number }): boolean {
  for (let index = 0; index < stride.count; index++) {
    if (bytes[stride.offset + index * stride.packetBytes] !== SYNC) return false;
  }
  return true;
}

export interface TsPacket {
  readonly pid: number;
  readonly isUnitStart: boolean;
  readonly isScrambled: boolean;
  readonly continuity: number;
  readonly payload: Uint8Array;
}

/** The packet in these 188 bytes; undefined when it is damaged or carries nothing. */
export function parseTsPacket(bytes: Uint8Array): TsPacket | undefined {
  if (bytes[0] !== SYNC || (bytes[1]! & 0x80) !== 0) return undefined;
  const control = bytes[3]!;
  if ((control & 0x10) === 0) return undefined;
  const start = 4 + ((control & 0x20) !== 0 ? 1 + bytes[4]! : 0);
  if (start >= 188) return undefined;
  return {
    pid: ((bytes[1]! & 0x1f) << 8) | bytes[2]!,
    isUnitStart: (bytes[1]! & 0x40) !== 0,
    isScrambled: (control & 0xc0) !== 0,
    continuity: control & 15,
    payload: bytes.subarray(start, 188),
  };
}

/** True when the cursor is at a sync byte; call with at least one byte. */
export function isAtSync(cursor: ByteCursor): boolean {
  return cursor.u8(0) === SYNC;
}

/** PIDs of the programme maps in a PAT. */
export function readPat(body: Uint8Array): number[] {
  const pids: number[] = [];
  for (let at = 0; at + 4 <= body.length; at += 4) {
    const programme = (body[at]! << 8) | body[at + 1]!;
    if (programme !== 0) pids.push(((body[at + 2]! & 0x1f) << 8) | body[at + 3]!);
  }
  return pids;
}

export interface TsDescriptor {
  readonly tag: number;
  readonly data: Uint8Array;
}

export interface TsStream {
  readonly pid: number;
  readonly type: number;
  /** They give the codec of private streams. */
  readonly descriptors: readonly TsDescriptor[];
}

/** The elementary streams in a PMT. */
export function readPmt(body: Uint8Array): TsStream[] {
  const streams: TsStream[] = [];
  let at = 4 + (((body[2] ?? 0) & 15) << 8) + (body[3] ?? 0);
  while (at + 5 <= body.length) {
    const infoBytes = ((body[at + 3]! & 15) << 8) | body[at + 4]!;
    const info = body.subarray(at + 5, at + 5 + infoBytes);
    const descriptors: TsDescriptor[] = [];
    for (let entry = 0; entry + 2 <= info.length; entry += 2 + info[entry + 1]!) {
      descriptors.push({ tag: info[entry]!, data: info.subarray(entry + 2, entry + 2 + info[entry + 1]!) });
    }
    streams.push({ pid: ((body[at + 1]! & 0x1f) << 8) | body[at + 2]!, type: body[at]!, descriptors });
    at += 5 + infoBytes;
  }
  return streams;
}

interface PesHeader {
  readonly sizeBytes: number;
  /** 33 bits at 90 kHz; undefined when the packet has none. */
  readonly pts: number | undefined;
}

/** The PES header at the start of a unit; undefined when there is none. */
export function parsePesHeader(payload: Uint8Array): PesHeader | undefined {
  if (payload.length < 9 || payload[0] !== 0 || payload[1] !== 0 || payload[2] !== 1) return undefined;
  if ((payload[6]! & 0xc0) !== 0x80) return undefined;
  const sizeBytes = 9 + payload[8]!;
  const hasPts = (payload[7]! & 0x80) !== 0 && payload.length >= 14;
  const pts = hasPts
    ? ((payload[9]! >> 1) & 7) * 2 ** 30 +
      (payload[10]! << 22) +
      ((payload[11]! >> 1) << 15) +
      (payload[12]! << 7) +
      (payload[13]! >> 1)
    : undefined;
  return { sizeBytes, pts };
}
