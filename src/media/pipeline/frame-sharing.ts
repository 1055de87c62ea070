// One pipeline's part in shared frames (shared-frames.ts): it plays them, makes them while it is the maker, and leaves
// them at the frame where it stops to play what the others play. It reads its packets all the time, so it can do that
// without waiting for anything but a decoder and an encoder, and then it continues the audio where it was. Part of
// pipeline.ts. Audio thread.

import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { EffectChain } from "../effects/effect-chain.ts";
import { FRAME_MS, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import type { AudioStream } from "../format/packet.ts";
import type { PacketReader } from "./packet-reader.ts";
import type { PacketSupply } from "./packet-supply.ts";
import {
  canShareFrames,
  type FrameShares,
  type SharedFrames,
  type SharedFramesMember,
  type SharedPlayback,
} from "./shared-frames.ts";
import type { TrackTally } from "./track-tally.ts";
import { CONTINUE_BEFORE_MS, type Transcoder } from "./transcoder.ts";
import type { TranscoderSupply } from "./transcoder-supply.ts";

/** Packets kept behind the position: a transcoder may start at any frame that can be rewound, or was made ahead. */
const HISTORY_MS = CONTINUE_BEFORE_MS + (2 * FRAMES_AHEAD_MAX + 5) * FRAME_MS;
/** Where a track ends may differ by this much between its packets and its frames, milliseconds. */
const END_MS_MAX = 100;

/** What it needs of its pipeline. */
interface FrameSharingOptions {
  /** Default: nowhere to find others. */
  readonly shares: FrameShares | undefined;
  /** The track and its initial settings. */
  readonly playback: SharedPlayback;
  readonly reader: PacketReader;
  readonly supply: PacketSupply;
  readonly transcoders: TranscoderSupply;
  readonly chain: EffectChain;
  readonly tally: TrackTally;
  /** The pipeline's transcoder; setting it closes the one before. */
  readonly transcoder: () => Transcoder | undefined;
  readonly setTranscoder: (transcoder: Transcoder | undefined) => void;
  /** How many frames were played, and track time at their end. */
  readonly frameNumber: () => number;
  readonly positionMs: () => number;
  /** Runs what may throw: an error ends the track, and undefined is returned. */
  readonly guard: <T>(work: () => T) => T | undefined;
  /** Starts a transcoder at the beginning of the track. */
  readonly begin: (transcoder: Transcoder) => void;
  /** Call before a frame is made. */
  readonly beforeFrame: () => void;
}

interface NewSettings {
  readonly volume?: number;
  readonly filters?: FilterSettings;
}

export class FrameSharing implements SharedFramesMember {
  readonly #options: FrameSharingOptions;
  #canJoin = true;
  /** Number of the pipeline's first frame, and what is added to the times of shared frames: not 0 on a station. */
  #firstNumber = 0;
  #offsetMs = 0;
  /** Undefined: it makes its frames for itself alone. */
  #shared: SharedFrames | undefined;
  /** It is about to leave, and plays shared frames until its transcoder is ready: settings that begin then. */
  #leavesWith: NewSettings | undefined;
  #volume: number;
  #filters: FilterSettings;
  #endMs = 0;

  constructor(options: FrameSharingOptions) {
    this.#options = options;
    this.#volume = options.playback.volume;
    this.#filters = options.playback.filters;
  }

  /** True while the frames of `produce` are the pipeline's next. */
  get isActive(): boolean {
    return this.#shared !== undefined;
  }

  /** True while it plays frames that another pipeline makes. */
  get isFollowing(): boolean {
    return this.#shared !== undefined && !this.#isMaker;
  }

  /** A transcoder is ready with which it can leave: the frames produced last would sound different now. */
  get isOutdated(): boolean {
    return this.#leavesWith !== undefined && this.#options.reader.queue.length > 0;
  }

  /** How many frames the transcoder has made for others that are ahead. */
  get framesAhead(): number {
    return this.#isMaker && this.#shared !== undefined ? this.#shared.end - this.frameNumber : 0;
  }

  /** A track that begins is to be decoded: joins others that play the same, or lets others join. False: neither. */
  join(stream: AudioStream): boolean {
    const { shares, playback, reader } = this.#options;
    const { queue, station } = reader;
    const offsetMs = station?.offsetMs ?? 0;
    const now = {
      ...playback,
      volume: this.#volume,
      filters: this.#filters,
      station: station && { id: station.id, fromMs: queue.timestampMs - offsetMs },
    };
    if (!this.#canJoin || shares === undefined || !canShareFrames(now, stream.codec)) return false;
    this.#canJoin = false;
    this.#offsetMs = offsetMs;
    this.#shared = shares.join(now, this);
    if (now.station !== undefined) this.#firstNumber = this.#shared.numberFrom(now.station.fromMs);
    reader.queue.keepHistory(HISTORY_MS);
    return true;
  }

  /** Track time at the end of the frame produced last, milliseconds. */
  get endMs(): number {
    return this.#endMs;
  }

  /** The next frame; undefined while there is none, or it is not active any more. */
  produce(): Uint8Array | undefined {
    const shared = this.#shared;
    if (shared === undefined) return undefined;
    const { transcoders, transcoder, setTranscoder, reader, tally, positionMs } = this.#options;
    const number = this.frameNumber;
    if (this.#leavesWith !== undefined || shared.isGone(number)) {
      // Until it can leave, what is still there is played on.
      if (this.leaveIfReady() || transcoder() !== undefined) return undefined;
    } else if (!this.#isMaker && transcoder() !== undefined) {
      // Another one has become the maker.
      setTranscoder(undefined);
    }
    if (!shared.provide(number) && !this.#becomeMaker(shared)) return undefined;
    const frame = shared.dataOf(number);
    this.#endMs = shared.endMsOf(number) + this.#offsetMs;
    if (!this.#isMaker) {
      shared.withdraw(this);
      if (this.#leavesWith === undefined) transcoders.drop();
      reader.queue.skipTo(positionMs());
      tally.hasDecoded = true;
      tally.hasAudio = true;
    } else if (shared.isAlone && shared.end === number + 1) this.#stop();
    return frame;
  }

  /** The pipeline no longer plays what the others play. It continues with a transcoder for itself, once that is ready. */
  leave(settings: NewSettings = {}): void {
    this.#canJoin = false;
    const shared = this.#shared;
    if (shared === undefined) return;
    shared.withdraw(this);
    if (this.#isMaker) this.stop();
    else this.#leavesWith = { ...this.#leavesWith, ...settings };
  }

  /** True when the pipeline has left, or could now: its transcoder continues at its position. */
  leaveIfReady(): boolean {
    const { supply, transcoder } = this.#options;
    if (this.#shared === undefined) return true;
    if (!this.#isMaker) {
      if (transcoder() === undefined && !this.#startTranscoder()) return false;
      if (transcoder()?.prime(supply) !== true) return false;
    }
    this.stop();
    return true;
  }

  /** Leaves at once: a transcoder that it has works for the pipeline alone. */
  stop(): void {
    const { guard, transcoder } = this.#options;
    const { framesAhead } = this;
    this.#stop();
    if (framesAhead > 0) guard(() => transcoder()?.rewind(framesAhead));
  }

  setVolume(volume: number): void {
    if (this.#shared !== undefined && volume !== this.#volume) this.leave({ volume });
    this.#volume = volume;
    if (this.#leavesWith === undefined) this.#options.chain.setVolume(volume);
  }

  setFilters(filters: FilterSettings): void {
    if (this.#shared !== undefined) {
      // Clients set the same filters again and again.
      if (JSON.stringify(filters) === JSON.stringify(this.#filters)) return;
      this.leave({ filters });
    }
    this.#filters = filters;
    if (this.#leavesWith === undefined) this.#options.chain.setFilters(filters);
  }

  /**
   * True when there are no more frames. The maker's may end too early, where its connection was cut: a pipeline that has
   * more packets makes the rest.
   */
  get isEnded(): boolean {
    const shared = this.#shared;
    const { reader, playback, positionMs } = this.#options;
    if (shared?.isBehindEnd(this.frameNumber) !== true) return false;
    const { lengthMs = Number.POSITIVE_INFINITY } = playback;
    const untilMs = positionMs() + END_MS_MAX;
    return this.#isMaker || untilMs >= lengthMs || (reader.isFinished && reader.readUntilMs <= untilMs);
  }

  /** Decoder and encoder are ready. If others wait for its frame, it makes that now, even while its player is paused. */
  onTranscoderReady(): void {
    const shared = this.#shared;
    if (shared?.isCandidate(this) === true && !this.#becomeMaker(shared)) shared.withdraw(this);
  }

  // For the shared frames

  get frameNumber(): number {
    return this.#firstNumber + this.#options.frameNumber();
  }

  get isWaiting(): boolean {
    return this.#options.transcoder()?.isWaiting ?? false;
  }

  get isDrained(): boolean {
    return this.#options.guard(() => this.#options.transcoder()?.isDrained) ?? true;
  }

  makeFrame(): boolean {
    const { guard, transcoder, supply, reader, beforeFrame } = this.#options;
    const isMade = guard(() => {
      const ofPipeline = transcoder();
      if (ofPipeline === undefined) return false;
      beforeFrame();
      const frame = ofPipeline.encode(supply);
      if (frame !== undefined) this.#shared?.add(frame, ofPipeline.encodedUntilMs - this.#offsetMs);
      reader.wake();
      return frame !== undefined;
    });
    return isMade ?? false;
  }

  get #isMaker(): boolean {
    return this.#shared?.isMaker(this) ?? false;
  }

  /** Makes the missing frame, and those behind it. False when it cannot now. */
  #becomeMaker(shared: SharedFrames): boolean {
    const { transcoders } = this.#options;
    const isNext = this.frameNumber === shared.end && this.#leavesWith === undefined;
    if (!isNext || this.#isMaker || !shared.applyAsMaker(this)) return false;
    if (!this.#startTranscoder()) {
      if (!transcoders.isPending) shared.withdraw(this);
      return false;
    }
    shared.setMaker(this);
    return this.makeFrame();
  }

  /** Starts one at the next frame. False when none is ready, or there is no packet. */
  #startTranscoder(): boolean {
    const { reader, transcoders, setTranscoder, begin, positionMs } = this.#options;
    const { queue } = reader;
    if (queue.length === 0) return false;
    const isFirst = this.#options.frameNumber() === 0;
    if (!isFirst) queue.returnBefore(positionMs() - CONTINUE_BEFORE_MS);
    const transcoder = transcoders.take(queue.stream, { isComplete: !isFirst })?.transcoder;
    if (transcoder === undefined) return false;
    setTranscoder(transcoder);
    if (isFirst) begin(transcoder);
    else transcoder.continueAt(positionMs(), queue.timestampMs);
    return true;
  }

  #stop(): void {
    const shared = this.#shared;
    if (shared === undefined) return;
    const { reader, chain } = this.#options;
    this.#shared = undefined;
    shared.leave(this);
    reader.queue.keepHistory(0);
    const { volume, filters } = this.#leavesWith ?? {};
    this.#leavesWith = undefined;
    if (volume !== undefined) chain.setVolume(volume);
    if (filters !== undefined) chain.setFilters(filters);
  }
}
