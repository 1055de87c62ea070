// FLAC, WAV and other PCM: bit depths, rates, channels, odd heads, damage.

import { ascii, concat, le } from "../../media-files/bytes.ts";
import { flacFile } from "../../media-files/flac-writer.ts";
import { id3Tag, id3Text } from "../../media-files/tag-writers.ts";
import { damage, LAYOUTS, type MadeFile, plainName, soundSamples, TAGS, truncate } from "./made-file.ts";

const DEEP = "-c:a flac -sample_fmt s32 -bits_per_raw_sample 24";
const WAVE_LAYOUTS = Object.keys(LAYOUTS).filter((layout) => layout !== "2.1");

const FLAC: readonly MadeFile[] = [
  ...[8000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400, 192_000].map((rateHz) => ({
    file: `flac/${rateHz}.flac`,
    encode: `-c:a flac ${TAGS}`,
    rateHz,
  })),
  ...[44_100, 96_000].map((rateHz) => ({ file: `flac/24-bit-${rateHz}.flac`, encode: `${DEEP} ${TAGS}`, rateHz })),
  ...WAVE_LAYOUTS.map((layout) => ({
    file: `flac/${plainName(layout)}.flac`,
    encode: "-c:a flac",
    rateHz: 48_000,
    layout,
  })),
  ...[0, 5, 12].map((level) => ({ file: `flac/level-${level}.flac`, encode: `-c:a flac -compression_level ${level}` })),
  ...[256, 1152, 16_384].map((size) => ({ file: `flac/blocks-${size}.flac`, encode: `-c:a flac -frame_size ${size}` })),
  ...[4, 8, 12, 15, 16, 17, 20, 24].map((bitsPerSample) => ({
    file: `flac/depth-${bitsPerSample}.flac`,
    make: () =>
      flacFile({ rateHz: 16_000, bitsPerSample, channels: [soundSamples(0, 16_000), soundSamples(1, 16_000)] }),
  })),
  {
    file: "flac/no-total.flac",
    make: () => flacFile({ rateHz: 16_000, bitsPerSample: 16, channels: [soundSamples(0, 16_000)], hasTotal: false }),
    expected: { lengthMs: 3000 },
  },
  {
    file: "flac/behind-id3.flac",
    encode: `-c:a flac ${TAGS}`,
    finish: (bytes) => concat(id3Tag({ version: 3, frames: [{ id: "TALB", body: id3Text("Album", 0) }] }), bytes),
  },
  { file: "flac/wide-title.flac", encode: "-c:a flac -metadata title=Привет -metadata artist=世界" },
  { file: "flac/padding.flac", encode: `-c:a flac ${TAGS}`, finish: paddedFlac },
  { file: "flac/damaged-1000.flac", encode: "-c:a flac", finish: damage(1000) },
  { file: "flac/damaged-6000.flac", encode: "-c:a flac", finish: damage(6000) },
  { file: "flac/truncated.flac", encode: "-c:a flac", finish: truncate },
];

const WAV: readonly MadeFile[] = [
  ...["u8", "s16le", "s24le", "s32le", "f32le", "f64le", "alaw", "mulaw"].flatMap((codec) =>
    ["mono", "stereo"].map((layout) => ({ file: `wav/${codec}-${layout}.wav`, encode: `-c:a pcm_${codec}`, layout })),
  ),
  ...[8000, 11_025, 16_000, 22_050, 32_000, 37_800, 48_000, 88_200, 96_000, 192_000].map((rateHz) => ({
    file: `wav/${rateHz}.wav`,
    encode: "-c:a pcm_s16le",
    rateHz,
  })),
  ...WAVE_LAYOUTS.map((layout) => ({
    file: `wav/${plainName(layout)}.wav`,
    encode: "-c:a pcm_s24le",
    rateHz: 48_000,
    layout,
  })),
  { file: "wav/rf64.wav", encode: "-c:a pcm_s16le -rf64 always" },
  { file: "wav/info.wav", encode: `-c:a pcm_s16le ${TAGS}` },
  { file: "wav/peak.wav", encode: "-c:a pcm_s16le -write_peak on" },
  { file: "wav/junk-chunk.wav", encode: "-c:a pcm_s16le", finish: (bytes) => withChunk(bytes, "JUNK", 5001) },
  { file: "wav/large-chunk.wav", encode: "-c:a pcm_s16le", finish: (bytes) => withChunk(bytes, "bext", 300_000) },
  { file: "wav/data-size-0.wav", encode: "-c:a pcm_s16le -bitexact", finish: (bytes) => withDataSize(bytes, 0) },
  {
    file: "wav/data-size-max.wav",
    encode: "-c:a pcm_s16le -bitexact",
    finish: (bytes) => withDataSize(bytes, 0xffffffff),
  },
  { file: "wav/truncated.wav", encode: "-c:a pcm_s16le", finish: truncate },
  { file: "wav/mp3.wav", encode: "-c:a libmp3lame -b:a 128k" },
  { file: "wav/mp2.wav", encode: "-c:a mp2 -b:a 192k" },
  { file: "wav/adpcm-ms.wav", encode: "-c:a adpcm_ms" },
  { file: "wav/adpcm-ima.wav", encode: "-c:a adpcm_ima_wav" },
];

const OTHERS: readonly MadeFile[] = [
  ...["s8", "s16be", "s24be", "s32be"].map((codec) => ({
    file: `aiff/${codec}.aiff`,
    encode: `-c:a pcm_${codec} ${TAGS}`,
  })),
  ...["f32be", "s16le", "alaw"].map((codec) => ({ file: `aiff/${codec}.aifc`, encode: `-c:a pcm_${codec} -f aiff` })),
  { file: "aiff/mono-8000.aiff", encode: "-c:a pcm_s16be", rateHz: 8000, layout: "mono" },
  ...["pcm_s16le", "pcm_s24be", "pcm_f32le", "alac"].map((codec) => ({
    file: `caf/${codec}.caf`,
    encode: `-c:a ${codec} ${TAGS}`,
  })),
  { file: "other/s16.au", encode: "-c:a pcm_s16be" },
  { file: "other/s16.w64", encode: "-c:a pcm_s16le" },
];

export const LOSSLESS_FILES: readonly MadeFile[] = [...FLAC, ...WAV, ...OTHERS];

/** A PADDING block of 100,000 bytes behind STREAMINFO. */
function paddedFlac(bytes: Uint8Array): Uint8Array {
  const size = 100_000;
  const head = Uint8Array.of(1, size >> 16, (size >> 8) & 255, size & 255);
  return concat(bytes.subarray(0, 42), head, new Uint8Array(size), bytes.subarray(42));
}

/** A chunk in front of all others; an odd size is padded. */
function withChunk(bytes: Uint8Array, name: string, sizeBytes: number): Uint8Array {
  const chunk = concat(ascii(name), le(sizeBytes, 4), new Uint8Array(sizeBytes + (sizeBytes & 1)));
  const riff = concat(ascii("RIFF"), le(bytes.length - 8 + chunk.length, 4), ascii("WAVE"));
  return concat(riff, chunk, bytes.subarray(12));
}

/** As programs write that cannot go back to the head: 44 bytes of head. */
function withDataSize(bytes: Uint8Array, size: number): Uint8Array {
  return concat(bytes.subarray(0, 4), le(size, 4), bytes.subarray(8, 40), le(size, 4), bytes.subarray(44));
}
