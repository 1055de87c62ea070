// The four-byte header of an MPEG audio frame, Layer I to III (ISO 11172-3 section 2.4.1.3, 13818-3 for the lower rates). Used by the MP3 and
// MPEG-TS readers and for packet lengths in Matroska and MP4. Audio thread.
//
//   11111111 111VVLLP BBBBRRPx MMxxxxxx   V version, L layer, B bit rate, R sample rate, P padding, M channel mode

export interface MpegAudioHeader {
  /** 1, 2, or 2.5. */
  readonly version: number;
  /** 1, 2, or 3. */
  readonly layer: number;
  readonly bitrateBps: number;
  readonly sampleRateHz: number;
  readonly channelCount: number;
  readonly frameSamples: number;
  /** Whole frame with its header. */
  readonly sizeBytes: number;
  /** Layer III: bytes between the header and the main data: CRC and side information. */
  readonly sideBytes: number;
}

/** The bits that stay the same through one stream: sync, version, layer, sample rate. */
export const MPEG_STREAM_MASK = 0xfffe0c00;

/** The longest frame: Layer II at 160 kbit/s and 8 kHz. */
export const MPEG_FRAME_BYTES_MAX = 2881;

/** By layer. */
const KBPS_VERSION_1: readonly (readonly number[])[] = [
  [],
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
const KBPS_VERSION_2_LOW = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const KBPS_VERSION_2: readonly (readonly number[])[] = [
  [],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  KBPS_VERSION_2_LOW,
  KBPS_VERSION_2_LOW,
];
const RATES_VERSION_1 = [44100, 48000, 32000];

/** Undefined for anything that is not a header with a declared bit rate. `word` is unsigned. */
export function parseMpegAudioHeader(word: number): MpegAudioHeader | undefined {
  const versionBits = (word >>> 19) & 3;
  const layer = 4 - ((word >>> 17) & 3);
  const rateIndex = (word >>> 10) & 3;
  const bitrateIndex = (word >>> 12) & 15;
  if (word >>> 21 !== 0x7ff || versionBits === 1 || layer === 4) return undefined;
  if (rateIndex === 3 || bitrateIndex === 0 || bitrateIndex === 15) return undefined;
  const isVersion1 = versionBits === 3;
  const bitrateBps = 1000 * (isVersion1 ? KBPS_VERSION_1 : KBPS_VERSION_2)[layer]![bitrateIndex]!;
  const sampleRateHz = RATES_VERSION_1[rateIndex]! / (isVersion1 ? 1 : versionBits === 2 ? 2 : 4);
  const frameSamples = layer === 1 ? 384 : layer === 3 && !isVersion1 ? 576 : 1152;
  const isMono = ((word >>> 6) & 3) === 3;
  const crcBytes = ((word >>> 16) & 1) === 0 ? 2 : 0;
  // Layer I counts in slots of four bytes.
  const slotBytes = layer === 1 ? 4 : 1;
  const slots = Math.floor(((frameSamples / 8 / slotBytes) * bitrateBps) / sampleRateHz) + ((word >>> 9) & 1);
  return {
    version: isVersion1 ? 1 : versionBits === 2 ? 2 : 2.5,
    layer,
    bitrateBps,
    sampleRateHz,
    channelCount: isMono ? 1 : 2,
    frameSamples,
    sizeBytes: slots * slotBytes,
    sideBytes: layer < 3 ? 0 : crcBytes + (isVersion1 ? (isMono ? 17 : 32) : isMono ? 9 : 17),
  };
}
