// The interface of everything that changes decoded sound, in place, at 48 kHz stereo. Audio thread; no allocation.

export interface AudioFilter {
  /** Changes the first `lengthSamples` samples of both channels in place. */
  process(left: Float32Array, right: Float32Array, lengthSamples: number): void;
  /** Forgets what was heard before, for a new track. */
  reset(): void;
  /** True when what it hears is heard again later: the same sound must not go through it twice. */
  readonly isEchoing?: boolean;
}
