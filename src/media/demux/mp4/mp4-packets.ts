// Turns MP4 samples into packets: times count from the first audible sample, padding is cut off at the end. Audio
// thread.

import { SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import type { Packet } from "../../format/packet.ts";
import { createPacketClock, type PacketClock, seekPreRollMs } from "../packet-clock.ts";
import type { Movie } from "./movie.ts";

/** Largest sample that is accepted: a second of 32-bit ALAC in eight channels, and more. */
export const SAMPLE_BYTES_MAX = 4 * 1024 * 1024;
/** A sample this much shorter than usual was cut; less is rounding of coarse timescales. */
const CUT_SHARE = 0.9;

/** Time of a sample, in ticks of the track. */
interface SampleTime {
  readonly ticks: number;
  readonly durationTicks: number;
  /** Time at which the audio ends as far as is known; infinite when open. */
  readonly endTicks: number;
}

export class Mp4Packets {
  readonly #movie: Movie;
  readonly #opusClock: PacketClock | undefined;
  /** FLAC and ALAC: the last frame is as short as the music, not padded. */
  readonly #isExact: boolean;
  /** Time of the first audible sample, moved forward for fragmented files that do not start at 0. */
  #startTicks: number;
  #nominalTicks: number;

  constructor(movie: Movie) {
    this.#movie = movie;
    this.#opusClock = movie.stream.codec === "opus" ? createPacketClock(movie.stream) : undefined;
    this.#isExact = movie.stream.codec === "flac" || movie.stream.codec === "alac";
    this.#startTicks = movie.startTicks;
    this.#nominalTicks = movie.fragments?.durationTicks ?? movie.table.nominalTicks;
  }

  /** Makes the time count from `ticks` instead of 0. */
  setBase(ticks: number): void {
    this.#startTicks = this.#movie.startTicks + ticks;
  }

  create(data: Uint8Array, time: SampleTime): Packet {
    const { timescale, stream } = this.#movie;
    const decodedTicks = this.#decodedTicks(data, time);
    const isCut = time.durationTicks > 0 && time.durationTicks < CUT_SHARE * decodedTicks;
    const endTicks = Math.min(time.endTicks, isCut ? time.ticks + time.durationTicks : Number.POSITIVE_INFINITY);
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

  /**
   * Length of the decoded sample: from the packet for Opus, as declared for lossless codecs, else as long as the
   * others.
   */
  #decodedTicks(data: Uint8Array, time: SampleTime): number {
    if (this.#isExact) return time.durationTicks;
    if (this.#opusClock !== undefined) return (this.#opusClock.count(data) * this.#movie.timescale) / SAMPLE_RATE_HZ;
    if (this.#nominalTicks === 0) this.#nominalTicks = time.durationTicks;
    return Math.max(this.#nominalTicks, time.durationTicks);
  }
}
