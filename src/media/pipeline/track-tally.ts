// What became of the packets of one track: counted by its reader, decoders and pipeline, and read when the track ends
// (player/early-end.ts). Called in the tick; no allocation. Audio thread.

import type { InputFormat } from "../../bridge/audio-metrics.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { AudioCodec, Packet } from "../format/packet.ts";

/** Times between packets that are smaller are rounding. */
const GAP_MS_MIN = 1;

/** One per track; it survives when the track is opened again. */
export class TrackTally {
  /** Packets read from the container. */
  packetCount = 0;
  /** Their bytes and length together, milliseconds, and the codec of the last; undefined before the first. */
  #readBytes = 0;
  #readMs = 0;
  #codec: AudioCodec | undefined;
  /** Packets that a decoder made no audio of, and the length they should have had, milliseconds. */
  undecodedCount = 0;
  undecodedMs = 0;
  /** True once a decoder has made audio, even if none of it was to be played. */
  hasDecoded = false;
  /** True once there was audio to play: decoded and neither trimmed nor before the start, or passed through. */
  hasAudio = false;
  /** Track time without audio: that no packet covered while packets were passed through, or concealed. Milliseconds. */
  gapMs = 0;
  #passedUntilMs = Number.NEGATIVE_INFINITY;

  onRead({ data, durationMs }: Packet, codec: AudioCodec): void {
    this.packetCount += 1;
    this.#readBytes += data.length;
    this.#readMs += durationMs;
    this.#codec = codec;
  }

  /** What has been read so far; undefined before the first packet. */
  get input(): InputFormat | undefined {
    const codec = this.#codec;
    return codec && { codec, bitrate: this.#readMs > 0 ? Math.round((this.#readBytes * 8000) / this.#readMs) : 0 };
  }

  onUndecoded(packet: Packet): void {
    this.undecodedCount += 1;
    this.undecodedMs += packet.durationMs;
  }

  /** A packet is played as silence because it could not be decoded. */
  onConcealed(packet: Packet): void {
    this.onUndecoded(packet);
    this.gapMs += packet.durationMs;
  }

  /** A packet of this track time is passed through, possibly again; `positionMs` is the end of the frame before it. */
  onPassed(timestampMs: number, positionMs: number): void {
    this.hasAudio = true;
    if (timestampMs <= this.#passedUntilMs) return;
    this.#passedUntilMs = timestampMs + FRAME_MS / 2;
    if (timestampMs - positionMs >= GAP_MS_MIN) this.gapMs += timestampMs - positionMs;
  }
}
