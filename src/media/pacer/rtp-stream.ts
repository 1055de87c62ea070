// The RTP headers of one outgoing stream: sequence, timestamp, SSRC (discord-voice.md section 2.1). In front of the
// transport encryption, on the pacer thread.

import type { Random } from "../../lib/random.ts";
import { FRAME_MS, FRAME_SAMPLES } from "../format/audio-format.ts";

export const RTP_HEADER_BYTES = 12;

/** Where a stream begins; plain data. */
export interface RtpStart {
  readonly ssrc: number;
  /** 0 to 65535. */
  readonly sequence: number;
  /** 0 to 2^32 - 1. */
  readonly timestamp: number;
}

export class RtpStream {
  readonly #ssrc: number;
  #sequence: number;
  #timestamp: number;
  #lastDueMs: number | undefined;

  constructor({ ssrc, sequence, timestamp }: RtpStart) {
    this.#ssrc = ssrc;
    this.#sequence = sequence;
    this.#timestamp = timestamp;
  }

  /**
   * Writes the header of the packet that is due at `dueMs` to the front of `packet`: `80 78`, sequence u16, timestamp
   * u32, SSRC u32, all big endian. The timestamp advances where nothing was sent (pause, starved input, dropped
   * deadlines), by whole frames; the sequence has no gaps.
   */
  writeHeader(packet: Buffer, dueMs: number): void {
    if (this.#lastDueMs !== undefined) {
      const frames = Math.max(1, Math.round((dueMs - this.#lastDueMs) / FRAME_MS));
      this.#timestamp = (this.#timestamp + frames * FRAME_SAMPLES) % 2 ** 32;
    }
    this.#lastDueMs = dueMs;
    packet[0] = 0x80;
    packet[1] = 0x78;
    packet.writeUInt16BE(this.#sequence, 2);
    packet.writeUInt32BE(this.#timestamp, 4);
    packet.writeUInt32BE(this.#ssrc, 8);
    this.#sequence = (this.#sequence + 1) & 0xffff;
  }
}

/** Random initial values, as RFC 3550 requires. */
export function randomRtpStart(ssrc: number, random: Random): RtpStart {
  return { ssrc, sequence: random.uint32() & 0xffff, timestamp: random.uint32() };
}
