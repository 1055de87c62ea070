// Cuts the AAC or MPEG audio frames out of one elementary stream of MPEG-TS, whose PES packets may start anywhere in a
// frame, and assigns each its time. Audio thread.

import type { AudioStream, Packet } from "../../format/packet.ts";
import { FRAME_HEADER_BYTES, parseFrame, type TsFrame } from "./frame-headers.ts";
import type { TsCodec } from "./ts-codecs.ts";

/** A frame is at most 8191 bytes; more bytes without a frame are junk. */
const HELD_BYTES_MAX = 64 * 1024;
/** The clock of PES times. */
export const TICKS_PER_MS = 90;
/** A time this far from the counted one is trusted: audio is missing. Less is rounding. */
const GAP_MS_MIN = 50;
/** A jump this far, or back, is a new clock (spliced files): the count continues. */
const GAP_MS_MAX = 10_000;

export class ElementaryStream {
  stream: AudioStream | undefined;
  readonly #codec: TsCodec;
  #held: Uint8Array = new Uint8Array(0);
  /** The time of the first frame that starts at or behind this offset in `#held`. */
  #pendingPts: { at: number; ticks: number } | undefined;
  /** Of the frames so far: what only looks like a frame in their midst has another. */
  #streamKey: number | undefined;
  #timeMs = 0;
  /** PES time at which `#timeMs` was 0, adjusted at every splice. */
  #baseTicks: number | undefined;

  /** @param timeMs time of its first frame */
  constructor(codec: TsCodec, timeMs = 0) {
    this.#codec = codec;
    this.#timeMs = timeMs;
  }

  /** Time at which the next frame starts. */
  get timeMs(): number {
    return this.#timeMs;
  }

  /** PES time at which the time was 0; undefined before the first. */
  get baseTicks(): number | undefined {
    return this.#baseTicks;
  }

  /** Discards the buffered bytes after lost packets; the time continues. */
  drop(): void {
    this.#held = new Uint8Array(0);
    this.#pendingPts = undefined;
    this.#streamKey = undefined;
  }

  /** Starts over for a jump: the next frame with a PES time has this one, relative to the time `ticks`. */
  restart(timeMs = 0, ticks?: number): void {
    this.drop();
    this.#timeMs = timeMs;
    this.#baseTicks = ticks === undefined ? undefined : ticks - timeMs * TICKS_PER_MS;
  }

  /** Adds the bytes of a packet and appends the frames that are now complete to `packets`. */
  add(bytes: Uint8Array, pts: number | undefined, packets: Packet[]): void {
    if (pts !== undefined) this.#pendingPts = { at: this.#held.length, ticks: pts };
    const all = new Uint8Array(this.#held.length + bytes.length);
    all.set(this.#held);
    all.set(bytes, this.#held.length);
    const at = this.#cut(all, packets, false);
    const rest = all.subarray(at);
    this.#held = rest.length > HELD_BYTES_MAX ? new Uint8Array(0) : rest;
    if (this.#pendingPts !== undefined) this.#pendingPts = { ...this.#pendingPts, at: this.#pendingPts.at - at };
  }

  /** At the end of the data: a last frame counts that nothing follows to confirm it. */
  flush(packets: Packet[]): void {
    this.#cut(this.#held, packets, true);
    this.drop();
  }

  /** Returns where the part begins that has to wait for more bytes. */
  #cut(all: Uint8Array, packets: Packet[], isEnd: boolean): number {
    let at = 0;
    while (at + FRAME_HEADER_BYTES <= all.length) {
      const frame = this.#frameAt(all, at, isEnd);
      if (frame === "more") break;
      if (frame === undefined) {
        const next = all.indexOf(0xff, at + 1);
        at = next < 0 ? all.length : next;
        continue;
      }
      packets.push(this.#packet(all.subarray(at, at + frame.sizeBytes), { frame, at }));
      at += frame.sizeBytes;
    }
    return at;
  }

  /** The frame at `at`: one unlike those before it has to be followed by another of its kind. */
  #frameAt(bytes: Uint8Array, at: number, isEnd: boolean): TsFrame | "more" | undefined {
    const frame = parseFrame(this.#codec, bytes, at);
    if (frame === undefined) return undefined;
    const end = at + frame.sizeBytes;
    if (end > bytes.length) return isEnd ? undefined : "more";
    if (frame.streamKey === this.#streamKey) return frame;
    if (end + FRAME_HEADER_BYTES > bytes.length) {
      if (!isEnd) return "more";
      // All there is: from the start of a unit to the end of the data.
      return this.#streamKey === undefined && end === bytes.length ? frame : undefined;
    }
    if (parseFrame(this.#codec, bytes, end)?.streamKey !== frame.streamKey) return undefined;
    this.#streamKey = frame.streamKey;
    return frame;
  }

  #packet(data: Uint8Array, position: { frame: TsFrame; at: number }): Packet {
    const { samples, sampleRateHz, channelCount } = position.frame;
    if (this.stream?.sampleRateHz !== sampleRateHz || this.stream.channelCount !== channelCount) {
      const codec = this.#codec === "aac" ? "aac" : "mp3";
      this.stream = { codec, sampleRateHz, channelCount, description: undefined, pcm: undefined };
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
    this.#baseTicks ??= ticks - this.#timeMs * TICKS_PER_MS;
    const gapMs = (ticks - this.#baseTicks) / TICKS_PER_MS - this.#timeMs;
    if (Math.abs(gapMs) < GAP_MS_MIN) return;
    if (gapMs > 0 && gapMs < GAP_MS_MAX) this.#timeMs += gapMs;
    else this.#baseTicks = ticks - this.#timeMs * TICKS_PER_MS;
  }
}
