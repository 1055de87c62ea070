// The RTP headers of one outgoing stream: sequence, timestamp, SSRC (discord-voice.md section 2.1). Between the DAVE
// frame and the transport encryption, in the tick of the audio thread.

import type { Random } from "../../lib/random.ts";
import { FRAME_SAMPLES } from "../format/audio-format.ts";

export const RTP_HEADER_BYTES = 12;

export class RtpStream {
  readonly #ssrc: number;
  #sequence: number;
  #timestamp: number;

  constructor(ssrc: number, start: { readonly sequence: number; readonly timestamp: number }) {
    this.#ssrc = ssrc;
    this.#sequence = start.sequence;
    this.#timestamp = start.timestamp;
  }

  /**
   * Writes the next header to the front of `packet` and moves on by one frame:
   * `80 78`, sequence u16, timestamp u32, SSRC u32, all big endian.
   */
  writeHeader(packet: Buffer): void {
    packet[0] = 0x80;
    packet[1] = 0x78;
    packet.writeUInt16BE(this.#sequence, 2);
    packet.writeUInt32BE(this.#timestamp, 4);
    packet.writeUInt32BE(this.#ssrc, 8);
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.skipFrames(1);
  }

  /** Lets `count` frames of time pass without a packet: the timestamp moves, the sequence never has holes. */
  skipFrames(count: number): void {
    this.#timestamp = (this.#timestamp + count * FRAME_SAMPLES) % 2 ** 32;
  }
}

/** A random place to start from, as RFC 3550 wants. */
export function randomRtpStart(random: Random): { sequence: number; timestamp: number } {
  return { sequence: random.uint32() & 0xffff, timestamp: random.uint32() };
}
