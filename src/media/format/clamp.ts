// Cuts samples to full scale where upstream does. Audio thread.

/** Clamps to -1 … 1; NaN stays NaN. */
export function clamp(value: number): number {
  // biome-ignore lint/complexity/useMathMinMax: far dearer in a loop over samples, for the sake of NaN and -0
  return value > 1 ? 1 : value < -1 ? -1 : value;
}
