// Turns MP4 samples into packets: times count from the first audible sample, padding is cut off at the end. Audio
// thread.

import { SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import type { Packet } from "../../format/packet.ts";
import { parseFlacFrameHeader } from "../flac-frame-header.ts";
import { parseMpegAudioHeader } from "../mpeg-audio-header.ts";
import { createPacketClock, type PacketClock, seekPreRollMs } from "../packet-clock.ts";
import type { Movie } from "./movie.ts";

/** Largest sample that is accepted: a second of 32-bit ALAC in eight channels, and more. */
export const SAMPLE_BYTES_MAX = 4 * 1024 * 1024;

/** Time of a sample, in ticks of the track. */
interface SampleTime {
  readonly ticks: number;
  /** When the next sample is due, which is not how much audio this one holds (ISO 14496-12 section 8.6.1.2). */
  readonly durationTicks: number;
  /** True for the last sample of the table or of a fragment; the pump trims it only where nothing follows. */
  readonly isLast: boolean;
  /** Time at which the edit list ends the audio; infinite when it does not. */
  readonly endTicks: number;
}

export class Mp4Packets {
  readonly #movie: Movie;
  readonly #opusClock: PacketClock | undefined;
  /** Time of the first audible sample, moved forward for fragmented files that do not start at 0. */
  #startTicks: number;

  constructor(movie: Movie) {
    this.#movie = movie;
    this.#opusClock = movie.stream.codec === "opus" ? createPacketClock(movie.stream) : undefined;
    this.#startTicks = movie.startTicks;
  }

  /** Makes the time count from `ticks`, where the first fragment starts, unless the audible range starts later. */
  setBase(ticks: number): void {
    this.#startTicks = Math.max(this.#movie.startTicks, ticks);
  }

  create(data: Uint8Array, time: SampleTime): Packet {
    const { timescale, stream } = this.#movie;
    const decodedTicks = this.#decodedTicks(data, time.durationTicks);
    const isPadded = time.isLast && time.durationTicks > 0;
    const endTicks = Math.min(time.endTicks, isPadded ? time.ticks + time.durationTicks : Number.POSITIVE_INFINITY);
    const surplus = Math.max(0, Math.min(decodedTicks, time.ticks + decodedTicks - endTicks));
    return {
      data,
      timestampMs: this.toMs(time.ticks),
      durationMs: (1000 * decodedTicks) / timescale,
      trimEndSamples: Math.round((surplus * stream.sampleRateHz) / timescale),
    };
  }

  /** The time of `ticks` on the clock of packets. */
  toMs(ticks: number): number {
    return (1000 * (ticks - this.#startTicks)) / this.#movie.timescale;
  }

  /** The time in ticks from which to decode for a seek. */
  seekTicks(positionMs: number): number {
    const ms = Math.max(0, positionMs) - seekPreRollMs(this.#movie.stream);
    return this.#startTicks + (ms * this.#movie.timescale) / 1000;
  }

  /** Length of the decoded sample: as the packet or the codec says, as declared where neither does. */
  #decodedTicks(data: Uint8Array, durationTicks: number): number {
    const { stream, timescale, frame } = this.#movie;
    const toTicks = (samples: number, rateHz: number) => (samples * timescale) / rateHz;
    switch (stream.codec) {
      case "opus":
        return toTicks(this.#opusClock?.count(data) ?? 0, SAMPLE_RATE_HZ);
      case "mp3": {
        const header =
          data.length < 4 ? undefined : parseMpegAudioHeader(Buffer.from(data.subarray(0, 4)).readUInt32BE());
        return header === undefined ? durationTicks : toTicks(header.frameSamples, header.sampleRateHz);
      }
      case "flac":
        return toTicks(parseFlacFrameHeader(data)?.blockSamples ?? 0, stream.sampleRateHz) || durationTicks;
      case "pcm":
        return toTicks(Math.floor(data.length / Math.max(1, frame.sizeBytes)), stream.sampleRateHz);
      case "alac":
        // The last frame is as short as the music, not padded.
        return durationTicks > 0 ? Math.min(durationTicks, frame.ticks) : frame.ticks;
      default:
        return frame.ticks || durationTicks;
    }
  }
}
