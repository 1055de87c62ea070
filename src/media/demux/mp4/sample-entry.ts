// Converts an MP4 sample description to the pipeline's description of its audio: mp4a with its elementary stream
// descriptor (ISO 14496-14, 14496-1), Opus, FLAC, ALAC, and their QuickTime forms. Audio thread.

import { SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import type { AudioCodec, AudioStream } from "../../format/packet.ts";
import { readAacConfig } from "../aac-config.ts";
import { parseFlacStreamInfo } from "../flac-frame-header.ts";
import { Fields, findBox, readBoxes } from "./box.ts";
import { nameCodec, nameObjectType } from "./codec-names.ts";
import { readPcmLayout } from "./pcm-entry.ts";

export interface SampleEntry {
  readonly stream: AudioStream;
  /** Samples to drop at the start if the codec itself declares them (Opus); else 0. */
  readonly preSkipSamples: number;
  /** Samples that every packet but the last decodes to, at `frameRateHz`; 0 where packets differ. */
  readonly frameSamples: number;
  readonly frameRateHz: number;
  /** Uncompressed audio: bytes of a sample of all channels; else 0. */
  readonly frameBytes: number;
}

/** A playable entry, or the name of an unsupported codec. */
export type EntryResult = SampleEntry | { readonly unsupported: string };

/** Reads the body of an `stsd` box. `timescale` gives the decoded rate of HE-AAC that does not signal itself. */
export function readSampleEntry(stsd: Uint8Array, timescale: number): EntryResult {
  for (const { type, body } of readBoxes(stsd, 8)) return readEntry(type, { body, timescale });
  return { unsupported: "none" };
}

interface EntryContext {
  readonly body: Uint8Array;
  readonly timescale: number;
}

function readEntry(type: string, { body, timescale }: EntryContext): EntryResult {
  const fields = new Fields(body);
  const version = fields.u16(8);
  const channelCount = version === 2 ? fields.u32(40) : fields.u16(16);
  const sampleRateHz = version === 2 ? Math.round(fields.f64(32)) : fields.u32(24) >>> 16;
  const children = body.subarray(version === 2 ? 64 : version === 1 ? 44 : 28);
  const result = describe(type, children, { body, channelCount, sampleRateHz: sampleRateHz || timescale, timescale });
  if (result === undefined) return { unsupported: nameCodec(type) };
  if ("unsupported" in result || isSaneStream(result.stream)) return result;
  const { stream } = result;
  return { unsupported: `${nameCodec(type)} with ${stream.channelCount} channels at ${stream.sampleRateHz} Hz` };
}

function isSaneStream({ sampleRateHz, channelCount }: AudioStream): boolean {
  return sampleRateHz > 0 && sampleRateHz <= 768_000 && channelCount > 0 && channelCount <= 255;
}

interface Basics {
  readonly body: Uint8Array;
  readonly channelCount: number;
  readonly sampleRateHz: number;
  readonly timescale: number;
}

function describe(type: string, children: Uint8Array, basics: Basics): EntryResult | undefined {
  if (type === "mp4a") return describeMp4a(children, basics);
  if (type === ".mp3") return entry("mp3", basics, undefined);
  if (type === "Opus") return describeOpus(findBox(children, "dOps"));
  if (type === "fLaC") return describeFlac(findBox(children, "dfLa"));
  if (type === "alac") {
    const cookie = findBox(children, "alac") ?? findBox(children, "wave", "alac");
    if (cookie === undefined || cookie.length < 28) return undefined;
    return describeAlac(cookie.slice(4));
  }
  return describePcm(type, children, basics);
}

/** As many as its decoder accepts. */
const PCM_CHANNELS_MAX = 64;

function describePcm(type: string, children: Uint8Array, basics: Basics): EntryResult | undefined {
  const pcm = readPcmLayout(type, basics.body, children);
  if (pcm === undefined) return undefined;
  const { channelCount } = basics;
  if (channelCount > PCM_CHANNELS_MAX) return { unsupported: `${nameCodec(type)} with ${channelCount} channels` };
  const plain = entry("pcm", basics, undefined);
  const frameBytes = (pcm.bitsPerSample / 8) * basics.channelCount;
  return { ...plain, stream: { ...plain.stream, pcm }, frameSamples: 1, frameBytes };
}

/** ALACSpecificConfig: frame length, …, channels at 9, rate at 20. */
function describeAlac(cookie: Uint8Array): SampleEntry {
  const fields = new Fields(cookie);
  const plain = entry("alac", { channelCount: fields.u8(9), sampleRateHz: fields.u32(20) }, cookie);
  return { ...plain, frameSamples: fields.u32(0) };
}

function describeMp4a(children: Uint8Array, basics: Basics): EntryResult {
  const esds = findBox(children, "esds") ?? findBox(children, "wave", "esds");
  const descriptor = esds && readDescriptor(esds);
  if (descriptor === undefined) return { unsupported: "mp4a without a description (esds)" };
  const { objectType, config } = descriptor;
  if (objectType === 0x6b || objectType === 0x69) return entry("mp3", basics, undefined);
  const isAac = objectType === 0x40 || (objectType >= 0x66 && objectType <= 0x68);
  if (!isAac) return { unsupported: `mp4a: ${nameObjectType(objectType)}` };
  if (config === undefined) return { unsupported: "mp4a: AAC without a configuration" };
  const read = readAacConfig(config);
  if ("unsupported" in read) return { unsupported: `mp4a: ${read.unsupported}` };
  const isDoubled = basics.timescale === 2 * read.sampleRateHz;
  const sampleRateHz = isDoubled ? basics.timescale : read.sampleRateHz;
  const plain = entry("aac", { channelCount: read.channelCount, sampleRateHz }, config.slice());
  return { ...plain, frameSamples: read.frameSamples, frameRateHz: read.sampleRateHz };
}

interface Descriptor {
  /** 0x40 MPEG-4 audio, 0x66 to 0x68 MPEG-2 AAC, 0x69 and 0x6b MP3. */
  readonly objectType: number;
  readonly config: Uint8Array | undefined;
}

/** Descriptors nest: ES (3) holds a decoder configuration (4), which holds the codec's own data (5). */
function readDescriptor(esds: Uint8Array): Descriptor | undefined {
  let at = 4;
  let objectType: number | undefined;
  for (let count = 0; count < 16 && at < esds.length; count++) {
    const tag = esds[at++]!;
    let size = 0;
    for (let index = 0; index < 4; index++) {
      const byte = esds[at++] ?? 0;
      size = size * 128 + (byte & 0x7f);
      if (byte < 0x80) break;
    }
    if (tag === 3) {
      const flags = esds[at + 2] ?? 0;
      at += 3 + (flags & 0x80 ? 2 : 0) + (flags & 0x40 ? 1 + (esds[at + 3] ?? 0) : 0) + (flags & 0x20 ? 2 : 0);
    } else if (tag === 4) {
      objectType = esds[at] ?? 0;
      at += 13;
    } else if (tag === 5 && objectType !== undefined) {
      return { objectType, config: esds.subarray(at, at + size) };
    } else at += size;
  }
  return objectType === undefined ? undefined : { objectType, config: undefined };
}

/** dOps holds the same as OpusHead, big-endian and without its name. */
function describeOpus(dops: Uint8Array | undefined): SampleEntry | undefined {
  if (dops === undefined || dops.length < 11) return undefined;
  const fields = new Fields(dops);
  const head = new Uint8Array(8 + dops.length);
  head.set(Buffer.from("OpusHead\x01", "latin1"));
  head.set(dops.subarray(1), 9);
  const view = new DataView(head.buffer);
  view.setUint16(10, fields.u16(2), true);
  view.setUint32(12, fields.u32(4), true);
  view.setUint16(16, fields.u16(8), true);
  const plain = entry("opus", { channelCount: fields.u8(1), sampleRateHz: SAMPLE_RATE_HZ }, head);
  return { ...plain, preSkipSamples: fields.u16(2) };
}

function describeFlac(dfla: Uint8Array | undefined): SampleEntry | undefined {
  const info = dfla && parseFlacStreamInfo(dfla.subarray(8, 42));
  if (dfla === undefined || info === undefined) return undefined;
  const description = new Uint8Array(dfla.length);
  description.set([0x66, 0x4c, 0x61, 0x43]);
  description.set(dfla.subarray(4), 4);
  return entry("flac", info, description);
}

function entry(
  codec: AudioCodec,
  audio: { channelCount: number; sampleRateHz: number },
  description: Uint8Array | undefined,
): SampleEntry {
  const { channelCount, sampleRateHz } = audio;
  const stream = { codec, sampleRateHz, channelCount, description, pcm: undefined };
  return { stream, preSkipSamples: 0, frameSamples: 0, frameRateHz: sampleRateHz, frameBytes: 0 };
}
