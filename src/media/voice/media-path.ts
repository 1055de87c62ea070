// The way of one frame to Discord once a session is described: RTP header, transport encryption, UDP. Belongs to one
// session and outlives its WebSocket across a resume. Called from the tick of the audio thread.

import { RTP_HEADER_BYTES, type RtpStream } from "./rtp-stream.ts";
import { PACKET_BYTES_MAX, PAYLOAD_BYTES_MAX, type PacketSealer } from "./transport-encryption.ts";
import type { UdpSocket } from "./udp-socket.ts";

/** A busy system may read a packet late; by then four more are due, 80 ms later. */
const PACKETS_IN_FLIGHT = 4;
const SLOT_BYTES = Math.ceil(PACKET_BYTES_MAX / 16) * 16;

export class MediaPath {
  readonly #udp: UdpSocket;
  readonly #rtp: RtpStream;
  #sealer: PacketSealer;
  readonly #slots: readonly Buffer[];
  #slotIndex = 0;

  constructor(parts: { readonly udp: UdpSocket; readonly rtp: RtpStream; readonly sealer: PacketSealer }) {
    this.#udp = parts.udp;
    this.#rtp = parts.rtp;
    this.#sealer = parts.sealer;
    const slab = Buffer.allocUnsafeSlow(PACKETS_IN_FLIGHT * SLOT_BYTES);
    this.#slots = Array.from({ length: PACKETS_IN_FLIGHT }, (_, index) =>
      slab.subarray(index * SLOT_BYTES, (index + 1) * SLOT_BYTES),
    );
  }

  /** Sends one payload. "exhausted": the key has no fresh counter left, a new session is due. */
  send(payload: Uint8Array): "sent" | "tooLarge" | "exhausted" {
    if (payload.length > PAYLOAD_BYTES_MAX) {
      this.#rtp.skipFrames(1);
      return "tooLarge";
    }
    this.#slotIndex = (this.#slotIndex + 1) % PACKETS_IN_FLIGHT;
    const packet = this.#slots[this.#slotIndex]!;
    this.#rtp.writeHeader(packet);
    const sizeBytes = this.#sealer.seal(packet, payload);
    if (sizeBytes < RTP_HEADER_BYTES) return "exhausted";
    this.#udp.send(packet.subarray(0, sizeBytes));
    return "sent";
  }

  /** Lets the time of `count` frames pass without packets. */
  skipFrames(count: number): void {
    this.#rtp.skipFrames(count);
  }

  /** Takes a new key; its counter starts afresh. */
  replaceSealer(sealer: PacketSealer): void {
    this.#sealer.close();
    this.#sealer = sealer;
  }

  close(): void {
    this.#udp.close();
    this.#sealer.close();
  }
}
