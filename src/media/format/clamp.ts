// Cuts samples to full scale where upstream does. Audio thread.

/** To -1 … 1; what is no number stays none. */
export function clamp(value: number): number {
  // biome-ignore lint/complexity/useMathMinMax: far dearer in a loop over samples, for the sake of NaN and -0
  return value > 1 ? 1 : value < -1 ? -1 : value;
}
