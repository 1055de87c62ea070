// Frames that several pipelines of a worker send: those that play the same track with the same settings, near each other.
// One of them, the maker, decodes and encodes; all send the result. Each reads the track by itself, so that it can go
// its own way at any frame. With pictures: docs/internals/effects.md. Audio thread.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import {
  activeFilterNames,
  type FilterName,
  type FilterSettings,
  moduleFiltersIn,
} from "../../filters/filter-settings.ts";
import type { Owner } from "../../lib/owners.ts";
import { FRAME_MS, FRAMES_AHEAD_MAX, SAMPLE_RATE_HZ } from "../format/audio-format.ts";
import type { AudioCodec, AudioStream } from "../format/packet.ts";
import { PacketStore } from "./packet-store.ts";

/** A track can be joined until this much of it has been made: 5 s. Until then its frames are kept in case. */
const JOINABLE_FRAMES = 250;
/** A station can be joined at any time: frames kept while one pipeline plays it alone, 3 s. */
const STATION_FRAMES = 150;
/** Frames for those behind the maker: 10 s. A pipeline that falls further behind goes its own way. */
const BEHIND_FRAMES_MAX = 500;
/** Codecs with small packets, of which every pipeline keeps a second behind its position. */
const SHARED_CODECS: ReadonlySet<AudioCodec> = new Set(["mp3", "aac", "opus", "vorbis"]);
/** Filters that sound the same whenever they began: they know no phase and no more than 0.2 s of earlier audio. */
const SHARED_FILTERS: ReadonlySet<FilterName> = new Set([
  "volume",
  "equalizer",
  "karaoke",
  "channelMix",
  "lowPass",
  "distortion",
]);
/** What the frames are: needed by the store. */
const FRAME_STREAM: AudioStream = {
  codec: "opus",
  sampleRateHz: SAMPLE_RATE_HZ,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};

/** What must be equal for two pipelines to send the same frames. */
export interface SharedPlayback {
  readonly input: PlayableInput;
  readonly lengthMs: number | undefined;
  /** The first audible position, milliseconds of track time. */
  readonly startMs: number;
  readonly volume: number;
  readonly filters: FilterSettings;
  readonly owner: Owner;
  /** Of a station that is read together with others: its id, and its time at which the packets begin, milliseconds. */
  readonly station?: { readonly id: number; readonly fromMs: number } | undefined;
}

/** A pipeline that takes part. */
export interface SharedFramesMember {
  /** Number of the frame it plays next. */
  readonly frameNumber: number;
  /** As the maker: makes the next frame and adds it. False when it cannot now. */
  makeFrame(): boolean;
  /** As the maker: a decoder is at work, and `makeFrame` will succeed soon. */
  readonly isWaiting: boolean;
  /** As the maker: the track has no more audio. */
  readonly isDrained: boolean;
}

/** False where the frames depend on more than `SharedPlayback`. Other live streams begin elsewhere for each listener. */
export function canShareFrames({ lengthMs, filters, station }: SharedPlayback, codec: AudioCodec): boolean {
  if (lengthMs === undefined && station === undefined) return false;
  if (!SHARED_CODECS.has(codec) || moduleFiltersIn(filters).length > 0) return false;
  return activeFilterNames(filters).every((name) => SHARED_FILTERS.has(name));
}

/** The shared frames of one worker, by what they are made of. */
export class FrameShares {
  readonly #joinable = new Map<string, SharedFrames>();

  /** Adds a member to those that play the same and have not come far; without such, it is the first. */
  join(playback: SharedPlayback, member: SharedFramesMember): SharedFrames {
    const { owner, input, lengthMs, startMs, volume, filters, station } = playback;
    const audio = station === undefined ? [owner, input, lengthMs, startMs] : [station.id];
    const key = JSON.stringify([...audio, volume, filters]);
    let frames = this.#joinable.get(key);
    if (frames === undefined) {
      frames = new SharedFrames({ isStation: station !== undefined, onClosed: () => this.#joinable.delete(key) });
      this.#joinable.set(key, frames);
    }
    frames.join(member);
    return frames;
  }
}

/**
 * Frames are numbered from 0 on. Members join before the first is dropped, and leave when they stop or change anything;
 * a member that finds its next frame missing makes the maker work, or takes its place.
 */
export class SharedFrames {
  readonly #store = new PacketStore();
  readonly #members = new Set<SharedFramesMember>();
  readonly #isStation: boolean;
  #onClosed: (() => void) | undefined;
  #maker: SharedFramesMember | undefined;
  /** Prepares to be the maker. */
  #candidate: SharedFramesMember | undefined;
  /** The last maker had come to the end. */
  #isComplete = false;

  /** `onClosed`: nobody can join any more. */
  constructor({ isStation, onClosed }: { readonly isStation: boolean; readonly onClosed: () => void }) {
    this.#isStation = isStation;
    this.#onClosed = onClosed;
  }

  join(member: SharedFramesMember): void {
    this.#members.add(member);
  }

  leave(member: SharedFramesMember): void {
    this.#members.delete(member);
    if (this.#maker === member) {
      this.#isComplete = member.isDrained;
      this.#maker = undefined;
    }
    if (this.#candidate === member) this.#candidate = undefined;
    if (this.#members.size === 0) this.#close();
  }

  /** Nobody else takes part, and nobody can join any more. */
  get isAlone(): boolean {
    return this.#onClosed === undefined && this.#members.size === 1;
  }

  isMaker(member: SharedFramesMember): boolean {
    return this.#maker === member;
  }

  /** Number of the frame to be made next. */
  get end(): number {
    return this.#store.end;
  }

  /** This frame, and those before it, are no longer there, or soon will not be. */
  isGone(number: number): boolean {
    return number < this.#firstLasting;
  }

  /** Number of the first frame that begins at this time or later, of those that are made and the one that comes next. */
  numberFrom(timeMs: number): number {
    let number = this.#firstLasting;
    while (number < this.end && this.endMsOf(number) - FRAME_MS < timeMs) number += 1;
    return number;
  }

  /** What a member was given is not overwritten while it waits to be sent. */
  get #firstLasting(): number {
    const { first } = this.#store;
    return first === 0 ? 0 : first + FRAMES_AHEAD_MAX;
  }

  /** The maker has come to the end of its track, and this frame would lie behind it. */
  isBehindEnd(number: number): boolean {
    return number >= this.end && (this.#maker?.isDrained ?? this.#isComplete);
  }

  /** True when the frame is there, or could be made. */
  provide(number: number): boolean {
    if (number < this.end) return !this.isGone(number);
    const maker = this.#maker;
    // No further ahead than the maker can rewind when it leaves.
    if (maker === undefined || number - maker.frameNumber >= FRAMES_AHEAD_MAX) return false;
    return maker.makeFrame();
  }

  /** False when the maker or another candidate will make the next frame soon. Otherwise this member is the candidate. */
  applyAsMaker(member: SharedFramesMember): boolean {
    if (this.#candidate === undefined && this.#maker?.isWaiting !== true) this.#candidate = member;
    return this.#candidate === member;
  }

  isCandidate(member: SharedFramesMember): boolean {
    return this.#candidate === member;
  }

  /** It does not apply any more. */
  withdraw(member: SharedFramesMember): void {
    if (this.#candidate === member) this.#candidate = undefined;
  }

  /** The member makes the frames from the next on. */
  setMaker(member: SharedFramesMember): void {
    this.withdraw(member);
    this.#maker = member;
  }

  /** Adds the next frame, of which the bytes are copied. Times as in `endMsOf`. */
  add(data: Uint8Array, endMs: number): void {
    const packet = { data, timestampMs: endMs, durationMs: FRAME_MS, trimEndSamples: 0 };
    this.#store.push({ packet, stream: FRAME_STREAM });
    if (this.end > JOINABLE_FRAMES && !this.#isStation) this.#close();
    const isAloneNow = this.#isStation && this.#members.size === 1;
    const keptFrames = isAloneNow ? STATION_FRAMES : BEHIND_FRAMES_MAX;
    this.#store.dropBefore(this.end - keptFrames - FRAMES_AHEAD_MAX);
  }

  /** A frame that `provide` has confirmed. The bytes are valid until FRAMES_AHEAD_MAX others are made. */
  dataOf(number: number): Uint8Array {
    return this.#store.dataOf(number);
  }

  /** Track time at the end of such a frame, milliseconds. */
  endMsOf(number: number): number {
    return this.#store.timestampMsOf(number);
  }

  #close(): void {
    this.#onClosed?.();
    this.#onClosed = undefined;
  }
}
