// Receives the RTP stream of one SSRC as Discord would: header, order, clock, nonce, decryption; keeps arrival
// statistics and hands each frame on. One exists per Identify (new SSRC, new key); a Resume keeps it.

import { ArrivalStatistics } from "./arrival-statistics.ts";
import { PacketTiming } from "./packet-timing.ts";
import { StopRules } from "./stop-rules.ts";
import { openTransport, RTP_HEADER_BYTES, TRANSPORT_TRAILER_BYTES, type TransportMode } from "./transport-crypto.ts";
import type { ViolationKind } from "./violations.ts";

/** The Opus packet that means silence; never DAVE-encrypted. */
export const SILENCE_FRAME = Buffer.from([0xf8, 0xff, 0xfe]);

const SAMPLES_PER_FRAME = 960;
const PACKET_BYTES_MIN = RTP_HEADER_BYTES + TRANSPORT_TRAILER_BYTES + 1;

/** One packet after transport decryption. */
export interface RtpFrame {
  readonly ssrc: number;
  readonly sequence: number;
  readonly timestamp: number;
  /** By the fake Discord's clock, when the datagram was read. */
  readonly arrivalMs: number;
  readonly isSilence: boolean;
  /** Opus, DAVE-encrypted or not; undefined when this packet was only counted (`decryptEvery`). */
  readonly payload: Buffer | undefined;
}

interface RtpReceiverOptions {
  readonly ssrc: number;
  readonly secretKey: Buffer;
  /** Decrypt each n-th packet only (1: all). The others are counted and timed by their header. */
  readonly decryptEvery: number;
  readonly report: (kind: ViolationKind, detail: string) => void;
  readonly onFrame: (frame: RtpFrame) => void;
}

export class RtpReceiver {
  readonly ssrc: number;
  readonly secretKey: Buffer;
  readonly arrivals = new ArrivalStatistics();
  readonly timing = new PacketTiming();
  readonly stopRules: StopRules;
  /** Undefined until Select Protocol. */
  mode: TransportMode | undefined;
  /** True once op 4 went out. */
  isOpen = false;
  #frameCount = 0;
  #audioFrameCount = 0;
  #lostPackets = 0;
  #skippedFrames = 0;
  #firstAudioMs: number | undefined;

  readonly #options: RtpReceiverOptions;
  #last: { readonly sequence: number; readonly timestamp: number } | undefined;
  #nonces: NonceRule | undefined;

  constructor(options: RtpReceiverOptions) {
    this.ssrc = options.ssrc;
    this.secretKey = options.secretKey;
    this.stopRules = new StopRules(options.report);
    this.#options = options;
  }

  /** Packets accepted, silence included. */
  get frameCount(): number {
    return this.#frameCount;
  }

  get audioFrameCount(): number {
    return this.#audioFrameCount;
  }

  /** Packets missing by sequence number. */
  get lostPackets(): number {
    return this.#lostPackets;
  }

  /** Frames the client left out on purpose: sequence +1, timestamp further by a multiple of 960. */
  get skippedFrames(): number {
    return this.#skippedFrames;
  }

  /** When the first packet other than silence arrived, by the fake Discord's clock. */
  get firstAudioMs(): number | undefined {
    return this.#firstAudioMs;
  }

  /** Plain data. */
  counters() {
    return {
      ssrc: this.ssrc,
      frames: this.#frameCount,
      audioFrames: this.#audioFrameCount,
      lostPackets: this.#lostPackets,
      skippedFrames: this.#skippedFrames,
    };
  }

  /** Handles one datagram that carries this SSRC; it may be retained. */
  receive(packet: Buffer, arrivalMs: number): void {
    if (this.mode === undefined || !this.isOpen) {
      this.#options.report("rtp-before-session", "RTP before the Session Description");
      return;
    }
    if (packet.length < PACKET_BYTES_MIN || packet[0] !== 0x80 || packet[1] !== 0x78) {
      this.#options.report("rtp-header", `${packet.length} bytes starting ${packet.toString("hex", 0, 2)}`);
      return;
    }
    const sequence = packet.readUInt16BE(2);
    const timestamp = packet.readUInt32BE(4);
    this.#checkOrder(sequence, timestamp);
    this.#checkNonce(packet);
    const payload = this.#decrypt(this.mode, packet);
    if (payload === "undecryptable") return;
    const isSilence =
      payload?.equals(SILENCE_FRAME) ??
      packet.length === RTP_HEADER_BYTES + SILENCE_FRAME.length + TRANSPORT_TRAILER_BYTES;
    this.#count(isSilence, timestamp, arrivalMs);
    this.#options.onFrame({ ssrc: this.ssrc, sequence, timestamp, arrivalMs, isSilence, payload });
  }

  #count(isSilence: boolean, timestamp: number, arrivalMs: number): void {
    if (this.stopRules.hasStoppedBefore(arrivalMs)) {
      this.arrivals.endRun();
      this.timing.endRun();
    }
    this.arrivals.add(timestamp, arrivalMs);
    this.timing.add(timestamp, arrivalMs);
    this.stopRules.onFrame(isSilence, arrivalMs);
    this.#frameCount++;
    if (isSilence) return;
    this.#audioFrameCount++;
    this.#firstAudioMs ??= arrivalMs;
  }

  #decrypt(mode: TransportMode, packet: Buffer): Buffer | undefined | "undecryptable" {
    if (this.#frameCount % this.#options.decryptEvery !== 0) return undefined;
    const payload = openTransport(mode, this.secretKey, packet);
    if (payload !== undefined) return payload;
    this.#options.report("transport-undecryptable", `${packet.length} bytes in ${mode}`);
    return "undecryptable";
  }

  #checkNonce(packet: Buffer): void {
    const suffix = Buffer.from(packet.subarray(packet.length - 4));
    if (this.#nonces === undefined) {
      this.#nonces = new NonceRule(suffix);
    } else if (!this.#nonces.isFresh(suffix)) {
      this.#options.report("nonce-reuse", `nonce ${suffix.toString("hex")} does not follow the ones before`);
    }
  }

  #checkOrder(sequence: number, timestamp: number): void {
    const last = this.#last;
    this.#last = { sequence, timestamp };
    if (last === undefined) return;
    const sequenceStep = (sequence - last.sequence) & 0xffff;
    const timestampStep = (timestamp - last.timestamp) >>> 0;
    if (sequenceStep === 0 || sequenceStep >= 0x8000) {
      this.#options.report("rtp-sequence", `${sequence} after ${last.sequence}`);
      return;
    }
    const isWholeFrames = timestampStep % SAMPLES_PER_FRAME === 0 && timestampStep < 0x8000_0000;
    const extraFrames = timestampStep / SAMPLES_PER_FRAME - sequenceStep;
    if (!isWholeFrames || extraFrames < 0) {
      const sequences = `sequence ${last.sequence} to ${sequence}`;
      this.#options.report("rtp-timestamp", `${timestamp} after ${last.timestamp} (${sequences})`);
    } else {
      this.#skippedFrames += extraFrames;
    }
    if (sequenceStep > 1) {
      this.#lostPackets += sequenceStep - 1;
      this.#options.report("rtp-lost", `${sequenceStep - 1} packet(s) between ${last.sequence} and ${sequence}`);
    }
  }
}

/**
 * Distinguishes fresh nonces from used ones without storing them: the counter must grow, in the byte order in which its
 * first step is the smaller one (big endian as in discord.js, little endian as in koe).
 */
class NonceRule {
  #last: Buffer;
  #isLittleEndian: boolean | undefined;

  constructor(first: Buffer) {
    this.#last = first;
  }

  isFresh(suffix: Buffer): boolean {
    const last = this.#last;
    if (last.equals(suffix)) return false;
    this.#last = suffix;
    const bigStep = suffix.readUInt32BE(0) - last.readUInt32BE(0);
    const littleStep = suffix.readUInt32LE(0) - last.readUInt32LE(0);
    this.#isLittleEndian ??= littleStep > 0 && (bigStep <= 0 || littleStep < bigStep);
    return (this.#isLittleEndian ? littleStep : bigStep) > 0;
  }
}
