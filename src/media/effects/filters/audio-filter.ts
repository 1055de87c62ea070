// The interface of everything that changes decoded audio, in place, at 48 kHz stereo. Audio thread; no allocation.

export interface AudioFilter {
  /** Changes the first `lengthSamples` samples of both channels in place. */
  process(left: Float32Array, right: Float32Array, lengthSamples: number): void;
  /** Clears the state from earlier audio, for a new track. */
  reset(): void;
  /** The next audio does not continue the last: a seek. Default: its state stays. */
  jump?(): void;
  /** It is never used again: others may have its memory. */
  release?(): void;
  /** True when its input is audible again later: the same audio must not go through it twice. */
  readonly isEchoing?: boolean;
}
