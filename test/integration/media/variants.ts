// The files that every-format.test.ts plays, with ffmpeg's arguments for each.

import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replaceSampleTimes } from "../../support/mp4-sample-times.ts";
import { addVbriHeader } from "../../support/song-vbri.ts";

export const LENGTH_MS = 4000;

export interface SongVariant {
  readonly file: string;
  /** Arguments of ffmpeg, separated by spaces. */
  readonly encode: string;
  readonly sampleRateHz?: number;
  readonly layout?: string;
  /** The output argument of ffmpeg, when it is not the file itself. */
  readonly output?: string;
  /** Further work on the file in its folder. */
  readonly finish?: (folder: string) => void | Promise<void>;
  /** File made before it that ffmpeg reads for the reference, when not the same: what ffmpeg cannot read as it is. */
  readonly reference?: string;
  /** How much ffmpeg plays behind the end of the edit list: it leaves out whole packets only. Default 0. */
  readonly beyondEndMs?: number;
  /** Maximum offset of the received song, with the reason beside each value. Default 1 ms. */
  readonly delayMsMax?: number;
}

/** The metadata arguments of the tagged files. */
export const TAGS = "-metadata title=Song -metadata artist=Singer";
const HLS = "-f hls -hls_time 1 -hls_list_size 0 -hls_playlist_type vod";
/**
 * Packets that are passed through: the encoder's delay (6.5 ms) is audible, as in every player that passes packets
 * through.
 */
const PASSED = { sampleRateHz: 48_000, delayMsMax: 7 } as const;

const MP3: readonly SongVariant[] = [
  { file: "cbr.mp3", encode: `-c:a libmp3lame -b:a 192k ${TAGS}` },
  { file: "cbr320.mp3", encode: "-c:a libmp3lame -b:a 320k", sampleRateHz: 48_000 },
  { file: "vbr.mp3", encode: `-c:a libmp3lame -q:a 2 ${TAGS}` },
  { file: "vbr0.mp3", encode: "-c:a libmp3lame -q:a 0", sampleRateHz: 48_000 },
  { file: "no-xing.mp3", encode: "-c:a libmp3lame -b:a 128k -write_xing 0 -id3v2_version 0" },
  { file: "vbr-no-xing.mp3", encode: "-c:a libmp3lame -q:a 2 -write_xing 0 -id3v2_version 0" },
  {
    file: "vbri.mp3",
    encode: "-c:a libmp3lame -q:a 2 -write_xing 0 -id3v2_version 0",
    finish: (folder) => {
      copyFileSync(join(folder, "vbri.mp3"), join(folder, "vbri-bare.mp3"));
      writeFileSync(join(folder, "vbri.mp3"), addVbriHeader(readFileSync(join(folder, "vbri.mp3"))));
    },
    reference: "vbri-bare.mp3",
  },
  {
    file: "picture.mp3",
    encode: `-i cover.png -map 0 -map 1 -c:v copy -c:a libmp3lame -b:a 192k -id3v2_version 3 -write_id3v1 1 ${TAGS}`,
  },
  {
    file: "picture24.mp3",
    encode: `-i cover.png -map 0 -map 1 -c:v copy -c:a libmp3lame -b:a 192k -id3v2_version 4 ${TAGS}`,
  },
  { file: "mono.mp3", encode: "-c:a libmp3lame -b:a 96k", layout: "mono" },
  ...[8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000].map((sampleRateHz) => ({
    file: `${sampleRateHz}.mp3`,
    encode: `-c:a libmp3lame -b:a ${sampleRateHz < 16_000 ? 64 : 128}k`,
    sampleRateHz,
  })),
  { file: "8000-mono.mp3", encode: "-c:a libmp3lame -b:a 32k", sampleRateHz: 8000, layout: "mono" },
];

const MP4: readonly SongVariant[] = [
  { file: "aac.m4a", encode: `-c:a aac -b:a 192k ${TAGS}` },
  { file: "faststart.m4a", encode: `-c:a aac -b:a 192k -movflags +faststart ${TAGS}` },
  {
    file: "picture.m4a",
    encode: `-i cover.png -map 0 -map 1 -c:v copy -disposition:v attached_pic -c:a aac -b:a 192k ${TAGS}`,
  },
  { file: "fragmented.mp4", encode: "-c:a aac -b:a 192k -movflags frag_keyframe+empty_moov -frag_duration 500000" },
  {
    file: "dash.mp4",
    encode: "-c:a aac -b:a 192k -movflags +dash+global_sidx+frag_keyframe+empty_moov -frag_duration 1000000",
  },
  { file: "mono.m4a", encode: "-c:a aac -b:a 96k", layout: "mono" },
  { file: "22050.m4a", encode: "-c:a aac -b:a 128k", sampleRateHz: 22_050 },
  { file: "96k.m4a", encode: "-c:a aac -b:a 256k", sampleRateHz: 96_000 },
  { file: "surround.m4a", encode: "-c:a aac -b:a 448k", layout: "5.1", sampleRateHz: 48_000 },
  { file: "alac.m4a", encode: `-c:a alac -sample_fmt s16p ${TAGS}` },
  { file: "alac24.m4a", encode: "-c:a alac -sample_fmt s32p -bits_per_raw_sample 24", sampleRateHz: 96_000 },
  { file: "alac-mono.m4a", encode: "-c:a alac -sample_fmt s16p", layout: "mono" },
  { file: "alac-surround.m4a", encode: "-c:a alac -sample_fmt s16p", layout: "5.1", sampleRateHz: 48_000 },
  { file: "flac.mp4", encode: "-c:a flac -strict -2" },
  { file: "opus.mp4", encode: `-c:a libopus -b:a 128k ${TAGS}`, ...PASSED },
  { file: "mp3.mp4", encode: "-c:a libmp3lame -b:a 192k" },
  { file: "mp3.mov", encode: "-c:a libmp3lame -b:a 192k" },
  {
    file: "picture.mp4",
    encode: "-f lavfi -i testsrc2=size=64x64:rate=10:duration=4 -map 0 -map 1 -c:v libx264 -c:a aac -b:a 192k",
  },
];

/** The sample times of the file as a phone writes them that begins the audio late, or by a clock that wobbles. */
function withTimes(file: string, durations: readonly (readonly [count: number, ticks: number])[]): SongVariant {
  const finish = (folder: string) => {
    const path = join(folder, file);
    writeFileSync(path, replaceSampleTimes(readFileSync(path), durations));
  };
  return { file, encode: "-c:a aac -b:a 192k", finish };
}

const VIDEO = "-f lavfi -i testsrc2=size=64x64:rate=30:duration=4 -map 0 -map 1 -c:v libx264";
const MP4_TIMES: readonly SongVariant[] = [
  {
    ...withTimes("late.m4a", [
      [1, 2964],
      [173, 1024],
    ]),
    beyondEndMs: 15,
  },
  withTimes(
    "jitter.m4a",
    Array.from({ length: 58 }, () => [
      [1, 1472],
      [1, 576],
      [1, 1024],
    ]).flat() as [number, number][],
  ),
  { file: "b-frames.mp4", encode: `${VIDEO} -c:a aac -b:a 192k -movflags frag_keyframe+empty_moov` },
  { file: "b-frames-mp3.mp4", encode: `${VIDEO} -c:a libmp3lame -b:a 192k -movflags frag_keyframe+empty_moov` },
  { file: "first-in-moov.m4a", encode: "-c:a aac -b:a 192k -f mp4 -frag_duration 1000000" },
  { file: "first-in-moov.mp4", encode: `${VIDEO} -g 15 -c:a aac -b:a 192k -movflags frag_keyframe` },
  { file: "sidx-each.mp4", encode: "-c:a aac -b:a 192k -movflags +dash -frag_duration 1000000" },
];

/** AAC that describes its channels itself: FFmpeg's encoder does so for layouts without a number. */
const AAC_CHANNELS: readonly SongVariant[] = [
  ...["2.1", "quad", "3.1", "4.0", "4.1", "5.0", "5.1(side)", "6.1", "7.1", "7.1(wide)"].map((layout) => ({
    file: `aac-${layout.replace(/\W/g, "-")}.m4a`,
    encode: "-c:a aac -b:a 768k",
    sampleRateHz: 48_000,
    layout,
  })),
  { file: "aac-quad.mkv", encode: "-c:a aac -b:a 448k", sampleRateHz: 48_000, layout: "quad" },
  { file: "aac-quad.aac", encode: "-c:a aac -b:a 448k", sampleRateHz: 48_000, layout: "quad" },
];

const MOV: readonly SongVariant[] = [
  ...["s8", "u8", "s16le", "s16be", "s24le", "s24be", "s32be", "f32le", "f32be", "f64be", "alaw", "mulaw"].map(
    (name) => ({ file: `${name}.mov`, encode: `-c:a pcm_${name}` }),
  ),
  { file: "s16be-fragments.mov", encode: "-c:a pcm_s16be -movflags frag_keyframe+empty_moov -frag_duration 500000" },
];

const MATROSKA: readonly SongVariant[] = [
  { file: "opus.webm", encode: `-c:a libopus -b:a 128k ${TAGS}`, ...PASSED },
  {
    file: "video.webm",
    encode: "-f lavfi -i testsrc2=size=64x64:rate=10:duration=4 -map 0 -map 1 -c:v libvpx -c:a libopus -b:a 128k",
    ...PASSED,
  },
  { file: "live.webm", encode: "-c:a libopus -b:a 128k -live 1", ...PASSED },
  { file: "vorbis.webm", encode: `-c:a libvorbis -q:a 6 ${TAGS}` },
  { file: "opus.mkv", encode: "-c:a libopus -b:a 128k", ...PASSED },
  { file: "vorbis.mkv", encode: "-c:a libvorbis -q:a 6" },
  { file: "aac.mkv", encode: `-c:a aac -b:a 192k ${TAGS}` },
  { file: "mp3.mkv", encode: "-c:a libmp3lame -b:a 192k" },
  { file: "flac.mkv", encode: "-c:a flac" },
  { file: "flac24.mkv", encode: "-c:a flac -sample_fmt s32 -bits_per_raw_sample 24", sampleRateHz: 96_000 },
  { file: "alac.mkv", encode: "-c:a alac -sample_fmt s16p" },
  { file: "s16.mkv", encode: "-c:a pcm_s16le" },
  { file: "s24.mkv", encode: "-c:a pcm_s24le" },
  { file: "f32.mkv", encode: "-c:a pcm_f32le" },
  { file: "s16be.mkv", encode: "-c:a pcm_s16be" },
];

const OGG: readonly SongVariant[] = [
  { file: "opus.ogg", encode: `-c:a libopus -b:a 128k ${TAGS}`, ...PASSED },
  { file: "opus-mono.opus", encode: "-c:a libopus -b:a 96k", layout: "mono", ...PASSED },
  ...[2.5, 5, 10, 40, 60, 100].map((frameMs) => ({
    file: `opus-${frameMs}ms.opus`,
    encode: `-c:a libopus -b:a 160k -frame_duration ${frameMs}`,
    ...PASSED,
  })),
  {
    file: "opus-surround.opus",
    encode: "-c:a libopus -b:a 384k -mapping_family 1",
    layout: "5.1",
    sampleRateHz: 48_000,
  },
  { file: "vorbis.ogg", encode: `-c:a libvorbis -q:a 6 ${TAGS}` },
  { file: "vorbis-mono.ogg", encode: "-c:a libvorbis -q:a 6", sampleRateHz: 22_050, layout: "mono" },
  { file: "vorbis-surround.ogg", encode: "-c:a libvorbis -q:a 6", sampleRateHz: 48_000, layout: "5.1" },
  { file: "flac.ogg", encode: `-c:a flac -f ogg ${TAGS}` },
];

const FLAC: readonly SongVariant[] = [
  { file: "cd.flac", encode: `-c:a flac ${TAGS}` },
  {
    file: "picture.flac",
    encode: `-i cover.png -map 0 -map 1 -c:v copy -disposition:v attached_pic -c:a flac ${TAGS}`,
  },
  { file: "mono.flac", encode: "-c:a flac", layout: "mono", sampleRateHz: 16_000 },
  { file: "studio.flac", encode: "-c:a flac -sample_fmt s32 -bits_per_raw_sample 24", sampleRateHz: 96_000 },
  {
    file: "dvd.flac",
    encode: "-c:a flac -sample_fmt s32 -bits_per_raw_sample 24 -compression_level 12",
    sampleRateHz: 48_000,
  },
  { file: "surround.flac", encode: "-c:a flac", layout: "5.1", sampleRateHz: 48_000 },
];

const WAV: readonly SongVariant[] = [
  ...["u8", "s16le", "s24le", "s32le", "f32le", "f64le", "alaw", "mulaw"].map((name) => ({
    file: `${name}.wav`,
    encode: `-c:a pcm_${name}`,
  })),
  ...[8000, 11_025, 16_000, 22_050, 32_000, 37_800, 48_000, 88_200, 96_000, 192_000].map((sampleRateHz) => ({
    file: `${sampleRateHz}.wav`,
    encode: "-c:a pcm_s16le",
    sampleRateHz,
  })),
  ...["mono", "3.0", "quad", "5.0", "5.1", "5.1(side)", "6.1", "7.1"].map((layout) => ({
    file: `${layout.replace(/\W/g, "-")}.wav`,
    encode: "-c:a pcm_s16le",
    sampleRateHz: 48_000,
    layout,
  })),
  { file: "rf64.wav", encode: "-c:a pcm_s16le -rf64 always" },
];

const STREAMS: readonly SongVariant[] = [
  { file: "raw.aac", encode: "-c:a aac -b:a 192k -f adts" },
  { file: "aac.ts", encode: "-c:a aac -b:a 192k -f mpegts" },
  { file: "mp3.ts", encode: "-c:a libmp3lame -b:a 192k -f mpegts" },
  { file: "hls-ts.m3u8", encode: `-c:a aac -b:a 192k ${HLS}` },
  { file: "hls-mp4.m3u8", encode: `-c:a aac -b:a 192k ${HLS} -hls_segment_type fmp4 -hls_fmp4_init_filename i.mp4` },
  {
    file: "hls-aac.m3u8",
    encode: "-c:a aac -b:a 192k -f segment -segment_time 1 -segment_format adts -segment_list hls-aac.m3u8",
    output: "hls-aac-%d.aac",
  },
  {
    file: "hls-mp3.m3u8",
    encode:
      "-c:a libmp3lame -b:a 192k -f segment -segment_time 1 -segment_format mp3 -segment_format_options " +
      "write_xing=0:id3v2_version=0 -segment_list hls-mp3.m3u8",
    output: "hls-mp3-%d.mp3",
  },
  {
    file: "hls-aes.m3u8",
    encode: `-c:a aac -b:a 192k ${HLS} -hls_key_info_file key-info.txt`,
    reference: "hls-ts.m3u8",
  },
];

export const SONG_VARIANTS: readonly SongVariant[] = [
  ...MP3,
  ...MP4,
  ...MP4_TIMES,
  ...AAC_CHANNELS,
  ...MOV,
  ...MATROSKA,
  ...OGG,
  ...FLAC,
  ...WAV,
  ...STREAMS,
];
