// The last frames that a transcoder made, as sound: what has not been sent can be taken back, and is given again from
// here, with other gains or, from its place in the track, with other filters. A ring, allocated once. Part of
// transcoder.ts. Audio thread.

import { FRAME_SAMPLES, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import { LevelMark } from "../sound/sound-chain.ts";

/** Those that can be taken back, and the one before them, at whose end they begin. */
const FRAMES_KEPT = FRAMES_AHEAD_MAX + 1;

/** One frame, and what is so at its end. */
export interface KeptFrame {
  /** What the filters made: without fades and volume. */
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly level: LevelMark;
  /** Track time at the end of what listeners have heard then (see `Transcoder.encodedUntilMs`)… */
  endMs: number;
  /**
   * …and of what the filters have given; and where that is in the queue of decoded sound (`StereoFifo.readSamples`).
   */
  contentMs: number;
  readSamples: number;
  /** `SoundChain.filterChanges` when it was made. */
  filterChanges: number;
}

export class KeptFrames {
  readonly #frames = Array.from({ length: FRAMES_KEPT }, createFrame);
  /** Place in the ring of the newest frame that has not been taken back. */
  #place = 0;
  /** Frames behind that one that were taken back and are to be given again. */
  #takenBack = 0;
  #takeBackMax = 0;

  /** The newest one that has not been taken back. */
  get last(): KeptFrame {
    return this.#frames[this.#place]!; // the ring is full from the start
  }

  /** The one that comes next: while `isRepeating` it is there, else it is to be filled. */
  get next(): KeptFrame {
    return this.#frames[(this.#place + 1) % FRAMES_KEPT]!; // as above
  }

  /** True while frames that were taken back are to be given again. */
  get isRepeating(): boolean {
    return this.#takenBack > 0;
  }

  /** How many of the frames up to that one can be taken back. */
  get takeBackMax(): number {
    return this.#takeBackMax;
  }

  /** The next one has been made, or given again. */
  advance(): void {
    this.#place = (this.#place + 1) % FRAMES_KEPT;
    if (this.#takenBack > 0) this.#takenBack -= 1;
    this.#takeBackMax = Math.min(this.#takeBackMax + 1, FRAMES_AHEAD_MAX - this.#takenBack);
  }

  /** Up to `takeBackMax`. */
  takeBack(frameCount: number): void {
    this.#place = (this.#place + FRAMES_KEPT - frameCount) % FRAMES_KEPT;
    this.#takenBack += frameCount;
    this.#takeBackMax -= frameCount;
  }

  /** What was taken back is made anew. */
  dropTakenBack(): void {
    this.#takenBack = 0;
  }

  /** Nothing up to here can be taken back any more. */
  settle(): void {
    this.#takeBackMax = 0;
  }
}

function createFrame(): KeptFrame {
  return {
    left: new Float32Array(FRAME_SAMPLES),
    right: new Float32Array(FRAME_SAMPLES),
    level: new LevelMark(),
    endMs: 0,
    contentMs: 0,
    readSamples: 0,
    filterChanges: 0,
  };
}
