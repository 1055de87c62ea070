// The first bits of a CELT frame (RFC 6716 sections 4.3.1 and 4.3.7.1).

/** The pitch filter, by which a decoder adds the audio one period before, scaled by the gain; and the blocks. */
export interface FrameHead {
  /** 15 to 1022 samples at 48 kHz; 0: the filter is off, as in silence. */
  readonly period: number;
  /** 0 to 7; the gain is this many steps of 3/32, and one more. */
  readonly gainStep: number;
  /** Which of three sets of taps, 0 to 2. */
  readonly taps: number;
  /** Eight short blocks and not one long one. */
  readonly isTransient: boolean;
}
