// The interface of every container reader to the pipeline: compressed packets of one audio stream in order, with times.
// Audio thread.

import type { AudioStream, Packet } from "../format/packet.ts";

/** Tags and facts of the container, read when it was opened. */
export interface ContainerInfo {
  /** Lavalink's name for the container (protocol-v4.md section 5.4): "mp3", "matroska/webm", "ogg", "adts" … */
  readonly probeName: string;
  readonly title: string | undefined;
  readonly author: string | undefined;
  readonly isrc: string | undefined;
  /** Only when the file names one by URL; embedded pictures are not served. */
  readonly artworkUrl: string | undefined;
  /** Whole length in milliseconds; undefined when unknown or endless. */
  readonly lengthMs: number | undefined;
}

/** How the times of packets lie in a station that several players listen to. */
export interface StationTimes {
  /** Different for each connection to a station. */
  readonly id: number;
  /** What is added to the station's times, milliseconds. */
  readonly offsetMs: number;
}

/**
 * Stores the frames that a track is encoded to, if they turn out to be the whole track, unchanged. Called in the tick;
 * none of it throws or waits.
 */
export interface FrameRecorder {
  /** No frame was added, or all were rewound. */
  readonly isEmpty: boolean;
  /** The next 20 ms, as Opus; the bytes are copied. The first one begins with the track's first sample. */
  add(frame: Uint8Array): void;
  /** The last `frameCount` frames were not sent: those that replace them come next. */
  rewind(frameCount: number): void;
  /** It is not the whole track, or something was changed: nothing is stored. Later calls are without effect. */
  giveUp(): void;
  /** Every frame was added. The track is `lengthSamples` long; the rest of the last frame is padding. */
  finish(lengthSamples: number): void;
}

/**
 * One call at a time: `next` and `seek` are not called while either is pending. `close` may be called at any time,
 * which makes them reject.
 */
export interface Demuxer {
  readonly info: ContainerInfo;
  /** May be replaced during playback (chained Ogg, HLS discontinuity): compare after each packet by identity. */
  readonly stream: AudioStream;
  /** The station that it reads together with others. */
  readonly station?: StationTimes | undefined;
  /** Takes what the packets are encoded to, when all of them are, from the first on. Set when the track is opened. */
  recorder?: FrameRecorder | undefined;
  /** True when `seek` works: container knows times and the source is random access (or the target is buffered). */
  readonly isSeekable: boolean;
  /**
   * The next packet, or undefined at the end. Damaged packets are skipped. Rejects with a NodeError from the source.
   */
  next(): Promise<Packet | undefined>;
  /** The next packet, if nothing has to be waited for; otherwise undefined, and `next` returns it. */
  nextNow?(): Packet | undefined;
  /**
   * Goes to the last point from which decoding yields correct audio at `positionMs` (including the codec's pre-roll: 80
   * ms for Opus, one packet or more for others). The following packets start at or before the target; the pipeline
   * drops the samples before it. A target behind the end makes `next` return undefined.
   */
  seek(positionMs: number): Promise<void>;
  /** Closes the byte source as well. */
  close(): void;
  /** After `close`: true when others read on with the budget that it was opened with, whose memory they release. */
  keepsBudget?(): boolean;
}
