// Ogg, Matroska, streams without a container, MPEG-TS, HLS, and formats that the node refuses.

import { OpusFrameEncoder } from "../../../src/media/encode/opus-encoder.ts";
import { ascii, be, concat } from "../../media-files/bytes.ts";
import { cluster, ebml, matroskaHead, opusHead, simpleBlock } from "../../media-files/containers.ts";
import { chainWithItself, changePages, delayGranules } from "../../media-files/ogg-pages.ts";
import { damage, LAYOUTS, type MadeFile, plainName, soundSamples, TAGS, truncate } from "./made-file.ts";

const OPUS = "-c:a libopus -b:a 128k";
const VORBIS = "-c:a libvorbis -q:a 5";
const AT_48 = { rateHz: 48_000 } as const;
const LIST = "-hls_time 1 -hls_list_size 0 -hls_playlist_type vod";

const OGG: readonly MadeFile[] = [
  ...[8000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 96_000].map((rateHz) => ({
    file: `ogg/vorbis-${rateHz}.ogg`,
    encode: `${VORBIS} ${TAGS}`,
    rateHz,
  })),
  ...["mono", "3.0", "quad", "5.0", "5.1", "6.1", "7.1"].map((layout) => ({
    file: `ogg/vorbis-${plainName(layout)}.ogg`,
    encode: VORBIS,
    layout,
    ...AT_48,
  })),
  ...[0, 10].map((quality) => ({ file: `ogg/vorbis-q${quality}.ogg`, encode: `-c:a libvorbis -q:a ${quality}` })),
  ...[2.5, 5, 10, 20, 40, 60, 80, 100, 120].map((frameMs) => ({
    file: `ogg/opus-${plainName(frameMs)}-ms.opus`,
    encode: `${OPUS} -frame_duration ${frameMs} ${TAGS}`,
    ...AT_48,
  })),
  { file: "ogg/opus-mono.opus", encode: "-c:a libopus -b:a 64k", layout: "mono", ...AT_48 },
  { file: "ogg/opus-voice.opus", encode: "-c:a libopus -b:a 24k -application voip", layout: "mono", ...AT_48 },
  ...["3.0", "quad", "5.0", "5.1", "6.1", "7.1"].map((layout) => ({
    file: `ogg/opus-family-1-${plainName(layout)}.opus`,
    encode: `-c:a libopus -b:a ${64 * (LAYOUTS[layout] ?? 2)}k -mapping_family 1`,
    layout,
    ...AT_48,
  })),
  ...["stereo", "quad"].map((layout) => ({
    file: `ogg/opus-family-255-${layout}.opus`,
    encode: "-c:a libopus -b:a 256k -mapping_family 255",
    layout,
    ...AT_48,
    // Nothing says which channels these are: ffmpeg takes the third for the centre.
    ...(layout === "quad" && { expected: { audio: "wav/quad.wav" } }),
  })),
  { file: "ogg/flac.oga", encode: `-c:a flac -f ogg ${TAGS}` },
  { file: "ogg/flac-last-flag-missing.oga", encode: "-c:a flac -f ogg", finish: withoutLastFlag },
  { file: "ogg/opus-starts-at-5h.opus", encode: OPUS, ...AT_48, finish: (bytes) => delayGranules(bytes, 864_000_000) },
  { file: "ogg/vorbis-starts-at-1h.ogg", encode: VORBIS, finish: (bytes) => delayGranules(bytes, 158_760_000) },
  { file: "ogg/vorbis-chain.ogg", encode: VORBIS, finish: chainWithItself },
  { file: "ogg/opus-chain.opus", encode: OPUS, ...AT_48, finish: chainWithItself },
  { file: "ogg/wide-title.ogg", encode: `${VORBIS} -metadata title=Привет -metadata artist=世界` },
  { file: "ogg/vorbis-damaged.ogg", encode: VORBIS, finish: damage(1000) },
  { file: "ogg/opus-damaged.opus", encode: OPUS, ...AT_48, finish: damage(1000) },
  { file: "ogg/vorbis-truncated.ogg", encode: VORBIS, finish: truncate },
  { file: "ogg/speex.spx", encode: "-c:a libspeex", rateHz: 16_000, layout: "mono" },
];

const MATROSKA: readonly MadeFile[] = [
  ...[
    ["opus", OPUS],
    ["vorbis", VORBIS],
    ["aac", "-c:a aac -b:a 160k"],
    ["mp3", "-c:a libmp3lame -b:a 160k"],
    ["flac", "-c:a flac"],
    ["alac", "-c:a alac"],
    ["s16le", "-c:a pcm_s16le"],
    ["s24le", "-c:a pcm_s24le"],
    ["s16be", "-c:a pcm_s16be"],
    ["f32le", "-c:a pcm_f32le"],
    ["mp2", "-c:a mp2 -b:a 192k"],
    ["ac3", "-c:a ac3 -b:a 192k"],
  ].map(([name, encode]) => ({ file: `matroska/${name}.mka`, encode: `${encode} ${TAGS}`, ...AT_48 })),
  { file: "matroska/opus.webm", encode: `${OPUS} ${TAGS}`, ...AT_48 },
  { file: "matroska/vorbis.webm", encode: `${VORBIS} ${TAGS}` },
  { file: "matroska/live.webm", encode: `${OPUS} -live 1`, ...AT_48, expected: { lengthMs: 3000 } },
  { file: "matroska/album-and-track-title.webm", make: taggedWebm, expected: { title: "Track", artist: "Singer" } },
  { file: "matroska/cues-first.mka", encode: "-c:a aac -b:a 160k -cues_to_front 1" },
  { file: "matroska/truncated.webm", encode: OPUS, ...AT_48, finish: truncate },
  { file: "matroska/damaged.mka", encode: "-c:a aac -b:a 160k", finish: damage(1000) },
];

const STREAMS: readonly MadeFile[] = [
  ...[8000, 16_000, 22_050, 44_100, 48_000].map((rateHz) => ({
    file: `adts/${rateHz}.aac`,
    encode: `-c:a aac -b:a ${rateHz < 20_000 ? 48 : 128}k -f adts`,
    rateHz,
  })),
  { file: "adts/mono.aac", encode: "-c:a aac -b:a 64k -f adts", layout: "mono" },
  { file: "adts/damaged.aac", encode: "-c:a aac -b:a 128k -f adts", finish: damage(1000) },
  ...[
    ["aac", "-c:a aac -b:a 128k"],
    ["latm", "-c:a aac -b:a 128k -mpegts_flags latm"],
    ["mp3", "-c:a libmp3lame -b:a 128k"],
    ["mp2", "-c:a mp2 -b:a 192k"],
    ["mp2-96k", "-c:a mp2 -b:a 96k"],
    ["opus", OPUS],
    ["ac3", "-c:a ac3 -b:a 192k"],
  ].map(([name, encode]) => ({ file: `mpegts/${name}.ts`, encode: `${encode} -f mpegts`, ...AT_48 })),
  { file: "mpegts/aac.m2ts", encode: "-c:a aac -b:a 128k -f mpegts -mpegts_m2ts_mode 1" },
  { file: "mpegts/pat-in-the-middle.ts", encode: "-c:a aac -b:a 128k -f mpegts", finish: withoutFirstTables },
  { file: "hls/ts/list.m3u8", encode: `-c:a aac -b:a 128k -f hls ${LIST}` },
  {
    file: "hls/fmp4/list.m3u8",
    encode: `-c:a aac -b:a 128k -f hls ${LIST} -hls_segment_type fmp4 -hls_fmp4_init_filename init.mp4`,
  },
  {
    file: "hls/mp3/list.m3u8",
    encode:
      "-c:a libmp3lame -b:a 128k -reservoir 0 -f segment -segment_time 1 -segment_format mpegts -segment_list list.m3u8",
    output: "segment-%d.ts",
  },
];

/** What ffmpeg plays and the node refuses: it must say so when it is loaded. */
const REFUSED: readonly MadeFile[] = [
  { file: "refused/wma.wma", encode: "-c:a wmav2" },
  { file: "refused/ac3.ac3", encode: "-c:a ac3 -b:a 192k" },
  { file: "refused/eac3.eac3", encode: "-c:a eac3 -b:a 192k" },
  { file: "refused/dts.dts", encode: "-c:a dca -strict -2 -b:a 768k", ...AT_48 },
  { file: "refused/tta.tta", encode: "-c:a tta" },
  { file: "refused/wavpack.wv", encode: "-c:a wavpack" },
  { file: "refused/mp3.flv", encode: "-c:a libmp3lame -b:a 128k" },
  { file: "refused/aac.flv", encode: "-c:a aac -b:a 128k" },
];

export const OTHER_FILES: readonly MadeFile[] = [...OGG, ...MATROSKA, ...STREAMS, ...REFUSED];

/** Clears the last-block flag of the metadata in an Ogg FLAC file (Strawberry and TagLib do so). */
function withoutLastFlag(file: Uint8Array): Uint8Array {
  return changePages(file, (page, index) => {
    const body = 27 + (page[26] ?? 0);
    if (index > 0 && index < 4 && ((page[body] ?? 0) & 0x80) !== 0 && page[body] !== 0xff) page[body]! &= 0x7f;
    return page;
  });
}

/** The tables come back some tenths of a second later: a recording that was begun in between. */
function withoutFirstTables(file: Uint8Array): Uint8Array {
  const packets = Array.from({ length: file.length / 188 }, (_, index) =>
    file.subarray(index * 188, (index + 1) * 188),
  );
  const isAudio = (packet: Uint8Array) => ((((packet[1] ?? 0) & 0x1f) << 8) | (packet[2] ?? 0)) === 0x100;
  const first = packets.findIndex(isAudio);
  return concat(...packets.slice(first));
}

/** Tags of the album come before those of the track. */
async function taggedWebm(): Promise<Uint8Array> {
  const simple = (name: string, value: string) =>
    ebml(0x67c8, concat(ebml(0x45a3, ascii(name)), ebml(0x4487, ascii(value))));
  const tag = (level: number, ...tags: Uint8Array[]) =>
    ebml(0x7373, concat(ebml(0x63c0, ebml(0x68ca, be(level, 1))), ...tags));
  const tags = ebml(
    0x1254c367,
    concat(tag(50, simple("TITLE", "Album")), tag(30, simple("TITLE", "Track"), simple("ARTIST", "Singer"))),
  );
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 96_000 });
  const [left, right] = [soundSamples(0, 48_000), soundSamples(1, 48_000)];
  const blocks = Array.from({ length: 150 }, (_, index) => {
    const range = [index * 960, (index + 1) * 960] as const;
    return simpleBlock((index % 50) * 20, encoder.encode(left.subarray(...range), right.subarray(...range)).slice());
  });
  encoder.close();
  const track = { codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHead() };
  const clusters = [0, 1, 2].map((second) => cluster(second * 1000, blocks.slice(second * 50, second * 50 + 50)));
  return concat(matroskaHead(track, 3000), tags, ...clusters);
}
