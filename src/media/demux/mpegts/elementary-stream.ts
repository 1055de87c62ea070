// Cuts the AAC or MP3 frames out of one elementary stream of MPEG-TS, whose PES packets may start anywhere in a frame,
// and assigns each its time. Audio thread.

import type { AudioStream, Packet } from "../../format/packet.ts";
import { ADTS_HEADER_BYTES, parseAdtsHeader } from "../adts/adts-header.ts";
import { parseMpegAudioHeader } from "../mpeg-audio-header.ts";

/** A frame is at most 8191 bytes; more bytes without a frame are junk. */
const HELD_BYTES_MAX = 64 * 1024;
/** The clock of PES times. */
const TICKS_PER_MS = 90;
/** A time this far from the counted one is trusted: audio is missing. Less is rounding. */
const GAP_MS_MIN = 50;
/** A jump this far, or back, is a new clock (spliced files): the count continues. */
const GAP_MS_MAX = 10_000;

export type TsCodec = "aac" | "mp3";

interface Frame {
  readonly sizeBytes: number;
  readonly samples: number;
  readonly sampleRateHz: number;
  readonly channelCount: number;
}

export class ElementaryStream {
  stream: AudioStream | undefined;
  readonly #codec: TsCodec;
  #held: Uint8Array = new Uint8Array(0);
  /** The time of the first frame that starts at or behind this offset in `#held`. */
  #pendingPts: { at: number; ticks: number } | undefined;
  #timeMs = 0;
  /** PES time at which `#timeMs` was 0, adjusted at every splice. */
  #baseTicks: number | undefined;

  constructor(codec: TsCodec) {
    this.#codec = codec;
  }

  /** Time at which the next frame starts. */
  get timeMs(): number {
    return this.#timeMs;
  }

  /** Discards the buffered bytes after lost packets; the time continues. */
  drop(): void {
    this.#held = new Uint8Array(0);
    this.#pendingPts = undefined;
  }

  /** Starts over for a jump to the start of the file. */
  reset(): void {
    this.drop();
    this.#timeMs = 0;
    this.#baseTicks = undefined;
  }

  /** Adds the bytes of a packet and appends the frames that are now complete to `packets`. */
  add(bytes: Uint8Array, pts: number | undefined, packets: Packet[]): void {
    if (pts !== undefined) this.#pendingPts = { at: this.#held.length, ticks: pts };
    const all = new Uint8Array(this.#held.length + bytes.length);
    all.set(this.#held);
    all.set(bytes, this.#held.length);
    let at = 0;
    for (;;) {
      const frame = this.#parse(all, at);
      if (frame === "more") break;
      if (frame === undefined) {
        const next = all.indexOf(0xff, at + 1);
        at = next < 0 ? all.length : next;
        continue;
      }
      if (at + frame.sizeBytes > all.length) break;
      packets.push(this.#packet(all.subarray(at, at + frame.sizeBytes), { frame, at }));
      at += frame.sizeBytes;
    }
    const rest = all.subarray(at);
    this.#held = rest.length > HELD_BYTES_MAX ? new Uint8Array(0) : rest;
    if (this.#pendingPts !== undefined) this.#pendingPts = { ...this.#pendingPts, at: this.#pendingPts.at - at };
  }

  #parse(bytes: Uint8Array, at: number): Frame | "more" | undefined {
    if (at + ADTS_HEADER_BYTES > bytes.length) return "more";
    if (this.#codec === "aac") {
      const header = parseAdtsHeader(bytes, at);
      return header && { ...header, samples: header.frameSamples };
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const header = parseMpegAudioHeader(view.getUint32(at));
    return header && { ...header, samples: header.frameSamples };
  }

  #packet(data: Uint8Array, position: { frame: Frame; at: number }): Packet {
    const { samples, sampleRateHz, channelCount } = position.frame;
    if (this.stream?.sampleRateHz !== sampleRateHz || this.stream.channelCount !== channelCount) {
      this.stream = { codec: this.#codec, sampleRateHz, channelCount, description: undefined, pcm: undefined };
    }
    if (this.#pendingPts !== undefined && position.at >= this.#pendingPts.at) {
      this.#settle(this.#pendingPts.ticks);
      this.#pendingPts = undefined;
    }
    const timestampMs = this.#timeMs;
    const durationMs = (1000 * samples) / sampleRateHz;
    this.#timeMs += durationMs;
    return { data, timestampMs, durationMs, trimEndSamples: 0 };
  }

  /**
   * Compares the declared time with the counted one. The clock wraps around after 26.5 hours, anywhere in a file: that
   * looks like any other new clock.
   */
  #settle(ticks: number): void {
    this.#baseTicks ??= ticks;
    const gapMs = (ticks - this.#baseTicks) / TICKS_PER_MS - this.#timeMs;
    if (Math.abs(gapMs) < GAP_MS_MIN) return;
    if (gapMs > 0 && gapMs < GAP_MS_MAX) this.#timeMs += gapMs;
    else this.#baseTicks = ticks - this.#timeMs * TICKS_PER_MS;
  }
}
