// Converts a Matroska track entry to the pipeline's description of its audio (RFC 9559 section 5.1.4, codec mappings of
// the Matroska project). Audio thread.

import { NodeError } from "../../../errors.ts";
import { SAMPLE_RATE_HZ, SAMPLES_PER_MS } from "../../format/audio-format.ts";
import type { AudioCodec, AudioStream, PcmLayout } from "../../format/packet.ts";
import { parseOpusHead } from "../../opus/opus-head.ts";
import { buildAacConfig, parseAacConfig, readAacConfig } from "../aac-config.ts";
import type { DemuxWork } from "../demux-work.ts";
import { parseFlacStreamInfo } from "../flac-frame-header.ts";
import { parseVorbisIdentification, splitVorbisHeaders } from "../vorbis-packet.ts";
import { parseWavFormat } from "../wav/wav-format.ts";
import { ID, readElements, readFloat, readUnsigned } from "./ebml.ts";

/** Fields of a track, and of each part of it; real ones have twenty. */
const FIELD_COUNT_MAX = 128;

export interface MatroskaTrack {
  readonly number: number;
  /** 0 when the file has none. */
  readonly uid: number;
  readonly stream: AudioStream;
  /** Samples of a packet when fixed (AAC, ALAC). */
  readonly frameSamples: number;
  /** Time before the first audible sample. */
  readonly codecDelayMs: number;
  /** Audio that the decoder needs before a seek target, as the file says; 0 when it does not. */
  readonly seekPreRollMs: number;
  /** Bytes that were stripped from the front of every packet (content compression 3). */
  readonly strippedPrefix: Uint8Array | undefined;
}

interface TrackFields {
  number: number;
  uid: number;
  type: number;
  isDefault: boolean;
  codecId: string;
  codecPrivate: Uint8Array | undefined;
  codecDelayMs: number | undefined;
  seekPreRollMs: number;
  sampleRateHz: number;
  channelCount: number;
  bitDepth: number;
  strippedPrefix: Uint8Array | undefined;
  isEncoded: boolean;
}

/**
 * Picks the audio track: the first default one that can be played, else the first. Throws NodeErrors with the reason.
 */
export async function chooseTrack(tracksBody: Uint8Array, work: DemuxWork): Promise<MatroskaTrack> {
  const entries: TrackFields[] = [];
  for (const element of readElements(tracksBody)) {
    if (work.isSpent) await work.yield();
    if (element.id === ID.trackEntry && entries.length < 64) entries.push(readTrackFields(element.body));
  }
  const audio = entries.filter((entry) => entry.type === 2 || entry.codecId.startsWith("A_"));
  if (audio.length === 0) throw new NodeError("media-no-audio", "the Matroska file holds no audio track");
  const inOrder = [...audio.filter((entry) => entry.isDefault), ...audio.filter((entry) => !entry.isDefault)];
  for (const entry of inOrder) {
    const track = toTrack(entry);
    if (track !== undefined) return track;
  }
  const names = audio.map(nameTrack);
  throw new NodeError(
    "media-unsupported-codec",
    `cannot play the audio codec of the Matroska file: ${names.join(", ").slice(0, 200)}`,
  );
}

function nameTrack({ codecId, codecPrivate, isEncoded }: TrackFields): string {
  if (isEncoded) return `${codecId} (encrypted or packed)`;
  const format = codecId === "A_MS/ACM" && codecPrivate !== undefined ? parseWavFormat(codecPrivate) : undefined;
  if (format?.kind === "unsupported") return `${codecId} (${format.name})`;
  const config = codecId.startsWith("A_AAC") && codecPrivate !== undefined ? readAacConfig(codecPrivate) : {};
  return "unsupported" in config ? `${codecId} (${config.unsupported})` : codecId;
}

function readTrackFields(entry: Uint8Array): TrackFields {
  const fields: TrackFields = {
    number: 0,
    uid: 0,
    type: 0,
    isDefault: true,
    codecId: "",
    codecPrivate: undefined,
    codecDelayMs: undefined,
    seekPreRollMs: 0,
    sampleRateHz: 8000,
    channelCount: 1,
    bitDepth: 0,
    strippedPrefix: undefined,
    isEncoded: false,
  };
  for (const { id, body } of readElements(entry, FIELD_COUNT_MAX)) {
    if (id === ID.trackNumber) fields.number = readUnsigned(body);
    else if (id === ID.trackUid) fields.uid = readUnsigned(body);
    else if (id === ID.trackType) fields.type = readUnsigned(body);
    else if (id === ID.flagDefault) fields.isDefault = readUnsigned(body) !== 0;
    else if (id === ID.codecId) fields.codecId = Buffer.from(body.subarray(0, 64)).toString("latin1").split("\0")[0]!;
    else if (id === ID.codecPrivate) fields.codecPrivate = body;
    else if (id === ID.codecDelay) fields.codecDelayMs = readUnsigned(body) / 1e6;
    else if (id === ID.seekPreRoll) fields.seekPreRollMs = readUnsigned(body) / 1e6;
    else if (id === ID.audio) readAudioFields(body, fields);
    else if (id === ID.contentEncodings) readEncodings(body, fields);
  }
  return fields;
}

function readAudioFields(audio: Uint8Array, fields: TrackFields): void {
  for (const { id, body } of readElements(audio, FIELD_COUNT_MAX)) {
    if (id === ID.samplingFrequency) fields.sampleRateHz = Math.round(readFloat(body));
    else if (id === ID.channels) fields.channelCount = readUnsigned(body);
    else if (id === ID.bitDepth) fields.bitDepth = readUnsigned(body);
  }
}

function readEncodings(encodings: Uint8Array, fields: TrackFields): void {
  const all = [...readElements(encodings, FIELD_COUNT_MAX)].filter((element) => element.id === ID.contentEncoding);
  fields.isEncoded = all.length > 1;
  for (const { id, body } of all.flatMap((element) => [...readElements(element.body, FIELD_COUNT_MAX)])) {
    if (id === ID.contentEncryption) fields.isEncoded = true;
    if (id !== ID.contentCompression) continue;
    const settings = [...readElements(body, FIELD_COUNT_MAX)];
    const algorithm = settings.find((element) => element.id === ID.contentCompAlgo);
    if (algorithm === undefined || readUnsigned(algorithm.body) !== 3) fields.isEncoded = true;
    else fields.strippedPrefix = settings.find((element) => element.id === ID.contentCompSettings)?.body;
  }
}

function toTrack(fields: TrackFields): MatroskaTrack | undefined {
  if (fields.isEncoded || (fields.strippedPrefix?.length ?? 0) > 64) return undefined;
  const described = describeStream(fields);
  if (described === undefined) return undefined;
  const { stream } = described;
  if (!(stream.sampleRateHz > 0 && stream.sampleRateHz <= 768_000)) return undefined;
  if (!(stream.channelCount > 0 && stream.channelCount <= 255)) return undefined;
  return {
    number: fields.number,
    uid: fields.uid,
    stream,
    frameSamples: described.frameSamples ?? 1024,
    codecDelayMs: fields.codecDelayMs ?? described.codecDelayMs ?? 0,
    seekPreRollMs: fields.seekPreRollMs,
    strippedPrefix: fields.strippedPrefix,
  };
}

interface Described {
  readonly stream: AudioStream;
  readonly frameSamples?: number;
  readonly codecDelayMs?: number;
}

function describeStream(fields: TrackFields): Described | undefined {
  const { codecId, codecPrivate } = fields;
  if (codecId === "A_OPUS") return describeOpus(fields);
  if (codecId === "A_VORBIS") {
    const headers = codecPrivate && splitVorbisHeaders(codecPrivate);
    const identification = headers && parseVorbisIdentification(headers[0]);
    return identification && { stream: streamOf("vorbis", { ...identification, description: codecPrivate }) };
  }
  if (codecId === "A_FLAC") {
    const info = codecPrivate && parseFlacStreamInfo(codecPrivate.subarray(8, 42));
    return info && { stream: streamOf("flac", { ...info, description: codecPrivate }) };
  }
  // The packets say their layer themselves.
  if (/^A_MPEG\/L[123]$/.test(codecId)) return { stream: streamOf("mp3", { ...fields, description: undefined }) };
  if (codecId === "A_ALAC") {
    if (codecPrivate === undefined || codecPrivate.length < 24) return undefined;
    const frameSamples = new DataView(codecPrivate.buffer, codecPrivate.byteOffset).getUint32(0);
    return { stream: streamOf("alac", { ...fields, description: codecPrivate }), frameSamples };
  }
  if (codecId.startsWith("A_AAC")) return describeAac(fields);
  if (codecId.startsWith("A_PCM/")) return describePcm(fields);
  return codecId === "A_MS/ACM" ? describeAcm(fields) : undefined;
}

/** The format chunk of WAV, of which MP3 and the laws have no identifier of their own in some muxers. */
function describeAcm(fields: TrackFields): Described | undefined {
  const format = fields.codecPrivate && parseWavFormat(fields.codecPrivate);
  if (format?.kind === "mpeg") return { stream: streamOf("mp3", { ...fields, description: undefined }) };
  return format?.kind === "pcm" ? { stream: format.stream } : undefined;
}

function describeOpus(fields: TrackFields): Described | undefined {
  const { codecPrivate } = fields;
  const head = codecPrivate && parseOpusHead(codecPrivate);
  if (codecPrivate !== undefined && head === undefined) return undefined;
  const channelCount = head?.channelCount ?? fields.channelCount;
  const preSkipSamples = head?.preSkipSamples ?? 0;
  return {
    stream: streamOf("opus", { sampleRateHz: SAMPLE_RATE_HZ, channelCount, description: codecPrivate }),
    codecDelayMs: preSkipSamples / SAMPLES_PER_MS,
  };
}

function describeAac(fields: TrackFields): Described | undefined {
  const { codecId, sampleRateHz, channelCount } = fields;
  const objectType = codecId.includes("MAIN") ? 1 : codecId.includes("SSR") ? 3 : codecId.includes("LTP") ? 4 : 2;
  const description = fields.codecPrivate ?? buildAacConfig({ objectType, sampleRateHz, channelCount });
  const config = description && parseAacConfig(description);
  return config && { stream: streamOf("aac", { ...config, description }), frameSamples: config.frameSamples };
}

function describePcm(fields: TrackFields): Described | undefined {
  const { codecId, bitDepth } = fields;
  const encoding = codecId.startsWith("A_PCM/FLOAT") ? "float" : bitDepth === 8 ? "unsigned" : "signed";
  if (![8, 16, 24, 32, 64].includes(bitDepth) || (bitDepth === 64) !== (encoding === "float" && bitDepth === 64)) {
    return undefined;
  }
  const pcm: PcmLayout = { encoding, bitsPerSample: bitDepth, isBigEndian: codecId === "A_PCM/INT/BIG" };
  return { stream: { ...streamOf("pcm", { ...fields, description: undefined }), pcm } };
}

function streamOf(
  codec: AudioCodec,
  fields: { sampleRateHz: number; channelCount: number; description: Uint8Array | undefined },
): AudioStream {
  const { sampleRateHz, channelCount, description } = fields;
  return { codec, sampleRateHz, channelCount, description, pcm: undefined };
}
