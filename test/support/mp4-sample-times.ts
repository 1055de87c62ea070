// Gives the samples of an MP4 file other durations, as muxers of phones write them. ffmpeg puts `moov` behind the
// audio, so that no position changes.

/** `durations` replaces the table of times (stts): runs of samples, the last of which may be longer than the file. */
export function replaceSampleTimes(
  file: Uint8Array,
  durations: readonly (readonly [count: number, ticks: number])[],
): Uint8Array {
  const bytes = Buffer.from(file);
  const at = bytes.lastIndexOf("stts") - 4;
  const oldBytes = bytes.readUInt32BE(at);
  const table = Buffer.alloc(16 + 8 * durations.length);
  table.writeUInt32BE(table.length, 0);
  table.write("stts", 4, "latin1");
  table.writeUInt32BE(durations.length, 12);
  for (const [index, [count, ticks]] of durations.entries()) {
    table.writeUInt32BE(count, 16 + 8 * index);
    table.writeUInt32BE(ticks, 20 + 8 * index);
  }
  for (const parent of ["stbl", "minf", "mdia", "trak", "moov"]) {
    const size = bytes.lastIndexOf(parent, at) - 4;
    bytes.writeUInt32BE(bytes.readUInt32BE(size) + table.length - oldBytes, size);
  }
  return new Uint8Array(Buffer.concat([bytes.subarray(0, at), table, bytes.subarray(at + oldBytes)]));
}
