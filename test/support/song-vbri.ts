// A VBRI header, as Fraunhofer's encoder writes it, for MP3 files of another encoder: ffmpeg makes none.

const SAMPLE_RATES_HZ = [44_100, 48_000, 32_000] as const;
const BITRATES_KBPS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320] as const;
/** The header is at a fixed offset, whatever the channels: 4 bytes of frame header and 32 more. */
const VBRI_OFFSET = 36;
const FRAMES_PER_ENTRY = 10;

/** Puts a VBRI frame with a table of contents before an MPEG 1 layer III stream without tags. */
export function addVbriHeader(mp3: Uint8Array): Buffer {
  const stream = Buffer.from(mp3);
  const sizes = frameSizes(stream);
  const entries: number[] = [];
  for (let at = 0; at < sizes.length; at += FRAMES_PER_ENTRY) {
    entries.push(sizes.slice(at, at + FRAMES_PER_ENTRY).reduce((sum, size) => sum + size, 0));
  }
  // The first frame's header with the largest bitrate, so that the table fits, and without a checksum.
  const header = Buffer.from([0xff, stream[1]! | 1, 0xe0 | (stream[2]! & 0x0c), stream[3]!]);
  const frame = Buffer.alloc(frameSize(header));
  header.copy(frame);
  let at = frame.write("VBRI", VBRI_OFFSET, "latin1") + VBRI_OFFSET;
  for (const word of [1, 0, 75]) at = frame.writeUInt16BE(word, at);
  at = frame.writeUInt32BE(stream.length + frame.length, at);
  at = frame.writeUInt32BE(sizes.length, at);
  for (const word of [entries.length, 1, 2, FRAMES_PER_ENTRY]) at = frame.writeUInt16BE(word, at);
  for (const entry of entries) at = frame.writeUInt16BE(entry, at);
  return Buffer.concat([frame, stream]);
}

function frameSizes(stream: Buffer): number[] {
  const sizes: number[] = [];
  for (let at = 0; at + 4 <= stream.length; at += sizes.at(-1)!) {
    if (stream.readUInt16BE(at) < 0xffe0) break;
    sizes.push(frameSize(stream.subarray(at, at + 4)));
  }
  return sizes;
}

function frameSize(header: Buffer): number {
  const bitrateKbps = BITRATES_KBPS[header[2]! >> 4] ?? 0;
  const sampleRateHz = SAMPLE_RATES_HZ[(header[2]! >> 2) & 3] ?? 44_100;
  return Math.floor((144_000 * bitrateKbps) / sampleRateHz) + ((header[2]! >> 1) & 1);
}
