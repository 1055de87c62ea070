// MP4, M4A, MOV, 3GP: AAC in every channel configuration, fragments of every kind, times that jitter, other codecs.

import { damage, LAYOUTS, type MadeFile, plainName, TAGS, truncate } from "./made-file.ts";

const AAC = "-c:a aac -b:a 160k";
const VIDEO = "-f lavfi -i testsrc2=size=64x64:rate=10:duration=3 -map 0 -map 1 -c:v libx264 -preset ultrafast -bf 2";
/** Times of packets by their number N, in samples. */
const TIMES: Readonly<Record<string, string>> = {
  "first-gap": "if(eq(N,0),0,PTS+1940)",
  "first-gap-small": "if(eq(N,0),0,PTS+176)",
  "first-gap-10s": "if(eq(N,0),0,PTS+441000)",
  jitter: "PTS+mod(N*7,5)*90",
  "jitter-large": "PTS+mod(N,3)*400",
  "wobble-in-the-middle": "if(eq(N,32),PTS+448,PTS)",
};

export const MP4_FILES: readonly MadeFile[] = [
  ...[8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000].map((rateHz) => ({
    file: `mp4/${rateHz}.m4a`,
    encode: `-c:a aac -b:a ${rateHz < 20_000 ? 48 : 160}k ${TAGS}`,
    rateHz,
  })),
  ...Object.keys(LAYOUTS).map((layout) => ({
    file: `mp4/aac-${plainName(layout)}.m4a`,
    encode: `-c:a aac -b:a ${64 * (LAYOUTS[layout] ?? 2)}k`,
    rateHz: 48_000,
    layout,
  })),
  { file: "mp4/faststart.m4a", encode: `${AAC} -movflags +faststart ${TAGS}` },
  { file: "mp4/ipod.m4b", encode: `${AAC} -f ipod ${TAGS}` },
  { file: "mp4/no-edit-list.m4a", encode: `${AAC} -use_editlist 0` },
  { file: "mp4/aac.mov", encode: `${AAC} ${TAGS}` },
  { file: "mp4/aac.3gp", encode: `${AAC} -f 3gp` },
  { file: "mp4/aac.3g2", encode: `${AAC} -f 3g2` },
  { file: "mp4/wide-title.m4a", encode: `${AAC} -metadata title=Привет -metadata artist=世界` },
  { file: "mp4/video.mp4", encode: `${VIDEO} ${AAC} ${TAGS}` },
  { file: "mp4/damaged.m4a", encode: `${AAC} -movflags +faststart`, finish: damage(1500) },
  { file: "mp4/truncated.m4a", encode: `${AAC} -movflags +faststart`, finish: truncate },
  ...Object.entries(TIMES).map(([name, ts]) => ({
    file: `mp4-times/${name}.m4a`,
    encode: `${AAC} -bsf:a setts=ts='${ts.replaceAll(",", "\\,")}'`,
  })),
  ...[
    ["empty-moov", "-movflags frag_keyframe+empty_moov -frag_duration 500000"],
    ["no-empty-moov", "-movflags frag_keyframe -frag_duration 500000"],
    ["frag-duration-alone", "-frag_duration 1000000"],
    ["default-base-moof", "-movflags frag_keyframe+empty_moov+default_base_moof -frag_duration 500000"],
    ["separate-moof", "-movflags frag_keyframe+empty_moov+separate_moof -frag_duration 500000"],
    ["omit-tfhd-offset", "-movflags frag_keyframe+empty_moov+omit_tfhd_offset -frag_duration 500000"],
    ["dash", "-movflags +dash+frag_keyframe+empty_moov -frag_duration 1000000"],
    ["dash-alone", "-movflags +dash -frag_duration 1000000"],
    ["dash-global-sidx", "-movflags +dash+global_sidx+frag_keyframe+empty_moov -frag_duration 1000000"],
    ["cmaf", "-movflags +cmaf+frag_keyframe+empty_moov -frag_duration 1000000"],
  ].map(([name, flags]) => ({ file: `mp4-fragments/${name}.mp4`, encode: `${AAC} ${flags}` })),
  ...["frag_keyframe+empty_moov", "frag_keyframe", "frag_keyframe+empty_moov+default_base_moof"].map((flags) => ({
    file: `mp4-fragments/video-${plainName(flags)}.mp4`,
    encode: `${VIDEO} ${AAC} -g 10 -movflags ${flags}`,
  })),
  ...["s16p", "s32p -bits_per_raw_sample 24"].map((format) => ({
    file: `mp4-other/alac-${plainName(format)}.m4a`,
    encode: `-c:a alac -sample_fmt ${format} ${TAGS}`,
  })),
  { file: "mp4-other/alac-mono.m4a", encode: "-c:a alac -sample_fmt s16p", layout: "mono" },
  { file: "mp4-other/alac-5-1.m4a", encode: "-c:a alac -sample_fmt s16p", layout: "5.1", rateHz: 48_000 },
  { file: "mp4-other/flac.mp4", encode: "-c:a flac -strict -2" },
  { file: "mp4-other/opus.mp4", encode: `-c:a libopus -b:a 128k ${TAGS}`, rateHz: 48_000 },
  { file: "mp4-other/mp3.mp4", encode: "-c:a libmp3lame -b:a 160k" },
  { file: "mp4-other/mp2.mp4", encode: "-c:a mp2 -b:a 192k" },
  { file: "mp4-other/ac3.mp4", encode: "-c:a ac3 -b:a 192k" },
  { file: "mp4-other/eac3.mp4", encode: "-c:a eac3 -b:a 192k" },
  ...["pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_f32le", "pcm_u8", "pcm_alaw", "adpcm_ima_qt"].map((codec) => ({
    file: `mov-pcm/${codec}.mov`,
    encode: `-c:a ${codec}`,
  })),
];
