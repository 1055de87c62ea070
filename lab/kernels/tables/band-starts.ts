// Writes where the bands of a spectrum begin, as the decoders of AAC and MPEG layer III look them up. Part of the build.

/** The start of each band, by their widths, and the end of the last: 16 bits each. */
export function writeBandStarts(view: DataView, address: number, widths: readonly number[]): void {
  let start = 0;
  for (const [band, width] of [...widths, 0].entries()) {
    view.setUint16(address + 2 * band, start, true);
    start += width;
  }
}
