// The last frames of a transcoder, as audio: frames that have not been sent can be rewound, and are output again from
// here, with other gains or, from their position in the track, with other filters. A ring buffer, allocated once. Part
// of transcoder.ts. Audio thread.

import { LevelSnapshot } from "../effects/effect-chain.ts";
import { FRAME_SAMPLES, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";

/** The frames that can be rewound, and the one before them, at whose end they begin. */
const RECENT_FRAMES = FRAMES_AHEAD_MAX + 1;

/** One frame, and the state at its end. */
interface RecentFrame {
  /** Output of the filters: without fades and volume. */
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly level: LevelSnapshot;
  /** Track time at the end of the audio that listeners have received then (see `Transcoder.encodedUntilMs`). */
  endMs: number;
  /**
   * Track time at the end of the filters' output, and its position in the queue of decoded audio
   * (`StereoFifo.readSamples`).
   */
  contentMs: number;
  readSamples: number;
  /** `EffectChain.filterChanges` when it was made. */
  filterChanges: number;
}

export class RecentFrames {
  readonly #frames = Array.from({ length: RECENT_FRAMES }, createFrame);
  /** Index of the newest frame that has not been rewound. */
  #index = 0;
  /** Frames behind that one that were rewound and are to be output again. */
  #rewoundCount = 0;
  #rewindFramesMax = 0;

  /** The newest frame that has not been rewound. */
  get last(): RecentFrame {
    return this.#frames[this.#index]!; // the ring buffer is full from the start
  }

  /** The next frame: while `isRepeating` it is filled, else the caller fills it. */
  get next(): RecentFrame {
    return this.#frames[(this.#index + 1) % RECENT_FRAMES]!; // as above
  }

  /** True while rewound frames are to be output again. */
  get isRepeating(): boolean {
    return this.#rewoundCount > 0;
  }

  /** How many of the frames up to the newest can be rewound. */
  get rewindFramesMax(): number {
    return this.#rewindFramesMax;
  }

  /** The next frame has been made, or output again. */
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

  /** Drops the rewound frames: they are produced again. */
  dropRewound(): void {
    this.#rewoundCount = 0;
  }

  /** Nothing up to here can be rewound any more. */
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
