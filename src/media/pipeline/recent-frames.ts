// The last frames that a transcoder made, as sound: what has not been sent can be taken back, and is given again from
// here, with other gains or, from its place in the track, with other filters. A ring, allocated once. Part of
// transcoder.ts. Audio thread.

import { LevelSnapshot } from "../effects/effect-chain.ts";
import { FRAME_SAMPLES, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";

/** Those that can be taken back, and the one before them, at whose end they begin. */
const RECENT_FRAMES = FRAMES_AHEAD_MAX + 1;

/** One frame, and what is so at its end. */
interface RecentFrame {
  /** What the filters made: without fades and volume. */
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly level: LevelSnapshot;
  /** Track time at the end of what listeners have heard then (see `Transcoder.encodedUntilMs`)… */
  endMs: number;
  /**
   * …and of what the filters have given; and where that is in the queue of decoded sound (`StereoFifo.readSamples`).
   */
  contentMs: number;
  readSamples: number;
  /** `EffectChain.filterChanges` when it was made. */
  filterChanges: number;
}

export class RecentFrames {
  readonly #frames = Array.from({ length: RECENT_FRAMES }, createFrame);
  /** Place in the ring of the newest frame that has not been taken back. */
  #index = 0;
  /** Frames behind that one that were taken back and are to be given again. */
  #rewoundCount = 0;
  #rewindFramesMax = 0;

  /** The newest one that has not been taken back. */
  get last(): RecentFrame {
    return this.#frames[this.#index]!; // the ring is full from the start
  }

  /** The one that comes next: while `isRepeating` it is there, else it is to be filled. */
  get next(): RecentFrame {
    return this.#frames[(this.#index + 1) % RECENT_FRAMES]!; // as above
  }

  /** True while frames that were taken back are to be given again. */
  get isRepeating(): boolean {
    return this.#rewoundCount > 0;
  }

  /** How many of the frames up to that one can be taken back. */
  get rewindFramesMax(): number {
    return this.#rewindFramesMax;
  }

  /** The next one has been made, or given again. */
  advance(): void {
    this.#index = (this.#index + 1) % RECENT_FRAMES;
    if (this.#rewoundCount > 0) this.#rewoundCount -= 1;
    this.#rewindFramesMax = Math.min(this.#rewindFramesMax + 1, FRAMES_AHEAD_MAX - this.#rewoundCount);
  }

  /** Up to `rewindFramesMax`. */
  rewind(frameCount: number): void {
    this.#index = (this.#index + RECENT_FRAMES - frameCount) % RECENT_FRAMES;
    this.#rewoundCount += frameCount;
    this.#rewindFramesMax -= frameCount;
  }

  /** What was taken back is made anew. */
  dropRewound(): void {
    this.#rewoundCount = 0;
  }

  /** Nothing up to here can be taken back any more. */
  settle(): void {
    this.#rewindFramesMax = 0;
  }
}

function createFrame(): RecentFrame {
  return {
    left: new Float32Array(FRAME_SAMPLES),
    right: new Float32Array(FRAME_SAMPLES),
    level: new LevelSnapshot(),
    endMs: 0,
    contentMs: 0,
    readSamples: 0,
    filterChanges: 0,
  };
}
