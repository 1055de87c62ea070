// Sends the packets of one voice session: takes frames from the ring as they become due, adds the RTP header, seals
// them and sends them over UDP. Outlives the session's WebSocket across a resume. Pacer thread.

import { type Clock, wrapTimers } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { DatagramSocket } from "../../network/sockets.ts";
import { FrameRingReader, RING_FRAMES } from "./frame-ring.ts";
import { createHandlerGuard, type HandlerGuard } from "./handler-guard.ts";
import type { OpenRtpSender, PacerEvent, TransportKey } from "./pacer-messages.ts";
import { RTP_HEADER_BYTES, type RtpStart, RtpStream } from "./rtp-stream.ts";
import { createSealer, PACKET_BYTES_MAX, type PacketSealer, prepareEncryption } from "./transport-encryption.ts";
import { UdpSocket } from "./udp-socket.ts";

/** A busy system may read a packet late; by then a late pacer may have sent this many more in a row. */
const PACKETS_IN_FLIGHT = RING_FRAMES;
const SLOT_BYTES = Math.ceil(PACKET_BYTES_MAX / 16) * 16;

interface RtpSenderOptions {
  readonly open: OpenRtpSender;
  /** Not connected yet; closed with the RTP sender. */
  readonly socket: DatagramSocket;
  readonly clock: Clock;
  /** Asked before each packet with audio; false: it is dropped. */
  readonly maySend: () => boolean;
  /** Reports to the worker that opened it. */
  readonly send: (event: PacerEvent) => void;
}

export class RtpSender {
  readonly #options: RtpSenderOptions;
  readonly #ring: FrameRingReader;
  readonly #udp: UdpSocket;
  readonly #guardHandler: HandlerGuard;
  readonly #closing = new AbortController();
  readonly #packets: readonly Buffer[];
  #packetIndex = 0;
  #rtp: RtpStream | undefined;
  #sealer: PacketSealer | undefined;
  #isClosed = false;

  constructor(options: RtpSenderOptions) {
    this.#options = options;
    const { open, socket, clock, send } = options;
    const { rtpSenderId, address, port } = open;
    this.#ring = new FrameRingReader(open.ring);
    this.#guardHandler = createHandlerGuard({ work: (handler) => handler(), onThrown: (error) => this.#die(error) });
    this.#udp = new UdpSocket({
      socket,
      address,
      port,
      guardHandler: this.#guardHandler,
      clock: wrapTimers(clock, this.#guardHandler),
      onError: () => send({ type: "udpError", rtpSenderId }),
      onDead: (error) => this.#die(error),
    });
    const slab = Buffer.allocUnsafeSlow(PACKETS_IN_FLIGHT * SLOT_BYTES);
    this.#packets = Array.from({ length: PACKETS_IN_FLIGHT }, (_, index) =>
      slab.subarray(index * SLOT_BYTES, (index + 1) * SLOT_BYTES),
    );
  }

  /**
   * Connects the socket, discovers our external address and reports the result to the worker. Called once; never
   * rejects.
   */
  async discover(): Promise<void> {
    const { open, send } = this.#options;
    const { rtpSenderId, ssrc } = open;
    try {
      await Promise.all([this.#udp.connect(), prepareEncryption()]);
      const found = await this.#udp.discover(ssrc, this.#closing.signal);
      if (!this.#isClosed) send({ type: "discovered", rtpSenderId, found });
    } catch (error) {
      if (!this.#isClosed) send({ type: "unreachable", rtpSenderId, reason: messageOf(error) });
    }
  }

  /** Starts sending the frames in the ring. Called after `discover`; does nothing if the sender has died meanwhile. */
  start(key: TransportKey, rtp: RtpStart): void {
    if (this.#isClosed) return;
    this.#guardHandler(() => {
      this.#rtp = new RtpStream(rtp);
      this.rekey(key);
      this.#udp.startKeepAlive();
    })();
  }

  rekey({ mode, secretKey }: TransportKey): void {
    if (this.#isClosed) return;
    this.#guardHandler(() => {
      this.#sealer?.close();
      this.#sealer = createSealer(mode, secretKey);
    })();
  }

  /** Deadline of its oldest frame; Infinity without one. */
  get dueMs(): number {
    return this.#sealer === undefined ? Number.POSITIVE_INFINITY : this.#ring.dueMs;
  }

  /** Sends the oldest frame if it is due and returns its deadline. Undefined: it was revoked or lost, or may not be sent. */
  sendNext(nowMs: number): number | undefined {
    const frame = this.#ring.take();
    if (frame === undefined) return undefined;
    const dueMs = this.#ring.takenDueMs;
    if (dueMs > nowMs) {
      // Between `dueMs` and `take` the frame was revoked and another one put into its slot.
      this.#ring.putBack();
      return undefined;
    }
    let hasLeft = false;
    try {
      hasLeft = this.#send(frame, dueMs);
    } catch (error) {
      this.#die(error);
    }
    this.#ring.release();
    return hasLeft ? dueMs : undefined;
  }

  /** Closes for good; frames still in the ring are not sent. May be called more than once. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closing.abort();
    this.#udp.close();
    this.#sealer?.close();
    this.#sealer = undefined;
  }

  #send(frame: Uint8Array, dueMs: number): boolean {
    const rtp = this.#rtp;
    const sealer = this.#sealer;
    if (rtp === undefined || sealer === undefined) return false;
    const packet = this.#packets[this.#packetIndex]!;
    rtp.writeHeader(packet, dueMs);
    const sizeBytes = sealer.seal(packet, frame);
    if (sizeBytes < RTP_HEADER_BYTES) {
      this.#die(new Error("the packet counter is used up"));
      return false;
    }
    // As late as possible: the process may stand still at any line.
    if (!this.#options.maySend()) return false;
    const isTaken = this.#udp.send(packet.subarray(0, sizeBytes));
    // Otherwise the same memory is used again, which the processor still holds.
    if (!isTaken) this.#packetIndex = (this.#packetIndex + 1) % PACKETS_IN_FLIGHT;
    return true;
  }

  /** Nothing can be sent any more: the worker begins a new session. */
  #die(error: unknown): void {
    if (this.#isClosed) return;
    const { open, send } = this.#options;
    this.close();
    send({ type: "dead", rtpSenderId: open.rtpSenderId, reason: messageOf(error) });
  }
}
