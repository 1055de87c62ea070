// Reads AIFF and AIFF-C: integers of 8 to 32 bits in both byte orders, floats, A-law and mu-law. Audio thread.

import { NodeError } from "../../errors.ts";
import type { PcmLayout } from "../format/packet.ts";
import { ByteCursor } from "./byte-cursor.ts";
import type { ReaderParts } from "./demux-work.ts";
import type { Demuxer } from "./demuxer.ts";
import { type LeadingTags, readId3 } from "./id3.ts";
import { PcmDemuxer, type PcmPlace, pcmStream } from "./pcm-demuxer.ts";
import { decodeTag, setTag, type Tags, TEXT_BYTES_MAX } from "./tags.ts";

const CHUNK_COUNT_MAX = 256;
/** Channels, frames, bits, rate (80 bits), and in AIFF-C the four letters of the codec. */
const COMM_BYTES = 22;
const TAG_BY_CHUNK: Readonly<Record<string, keyof Tags>> = { NAME: "title", AUTH: "author" };

/** How each codec of AIFF-C lays out its samples; integers of the plain ones have the size that the file declares. */
const LAYOUTS: ReadonlyMap<string, Partial<PcmLayout> & { readonly encoding: PcmLayout["encoding"] }> = new Map([
  ["NONE", { encoding: "signed", isBigEndian: true }],
  ["twos", { encoding: "signed", isBigEndian: true }],
  ["sowt", { encoding: "signed", isBigEndian: false }],
  ["in24", { encoding: "signed", isBigEndian: true, bitsPerSample: 24 }],
  ["in32", { encoding: "signed", isBigEndian: true, bitsPerSample: 32 }],
  ["42ni", { encoding: "signed", isBigEndian: false, bitsPerSample: 24 }],
  ["23ni", { encoding: "signed", isBigEndian: false, bitsPerSample: 32 }],
  ["raw ", { encoding: "unsigned", isBigEndian: true }],
  ["fl32", { encoding: "float", isBigEndian: true, bitsPerSample: 32 }],
  ["FL32", { encoding: "float", isBigEndian: true, bitsPerSample: 32 }],
  ["fl64", { encoding: "float", isBigEndian: true, bitsPerSample: 64 }],
  ["FL64", { encoding: "float", isBigEndian: true, bitsPerSample: 64 }],
  ["alaw", { encoding: "alaw", isBigEndian: true, bitsPerSample: 8 }],
  ["ALAW", { encoding: "alaw", isBigEndian: true, bitsPerSample: 8 }],
  ["ulaw", { encoding: "mulaw", isBigEndian: true, bitsPerSample: 8 }],
  ["ULAW", { encoding: "mulaw", isBigEndian: true, bitsPerSample: 8 }],
]);

const NAMES: ReadonlyMap<string, string> = new Map([
  ["ima4", "IMA ADPCM"],
  ["MAC3", "MACE 3:1"],
  ["MAC6", "MACE 6:1"],
  ["GSM ", "GSM 6.10"],
  ["agsm", "GSM 6.10"],
  ["G722", "G.722 ADPCM"],
  ["G726", "G.726 ADPCM"],
  ["G728", "G.728"],
  ["QDMC", "QDesign Music"],
  ["QDM2", "QDesign Music 2"],
  ["Qclp", "QCELP"],
  ["ADP4", "ADPCM"],
  ["SDX2", "SDX2 DPCM"],
]);

interface Format extends Pick<PcmPlace, "stream" | "frameBytes"> {
  readonly frameCount: number;
}

/**
 * Reads up to the samples; if the length is needed, also the tags behind them. The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", and the errors of the source
 */
export async function openAiff(
  parts: ReaderParts,
  { tags: leadingTags }: LeadingTags,
  { isLengthNeeded = true }: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const { source, work } = parts;
  const cursor = new ByteCursor(source);
  const isCompressed = String.fromCharCode(...(await cursor.read(12)).subarray(8)) === "AIFC";
  const tags: Tags = { ...leadingTags };
  let format: Format | undefined;
  let data: Pick<PcmPlace, "dataStart" | "dataBytes"> | undefined;
  for (let count = 0; count < CHUNK_COUNT_MAX; count++) {
    if (work.isSpent) await work.yield();
    const head = await cursor.read(8);
    if (head.length < 8) break;
    const id = String.fromCharCode(...head.subarray(0, 4));
    const sizeBytes = new DataView(head.buffer, head.byteOffset).getUint32(4);
    const start = cursor.position;
    if (id === "COMM") format = parseFormat(await cursor.peek(Math.min(sizeBytes, COMM_BYTES)), isCompressed);
    else if (id === "SSND") data ??= await readData(cursor, sizeBytes);
    else if (id === "ID3 " || id === "id3 ") await readId3(cursor, tags, work);
    else if (Object.hasOwn(TAG_BY_CHUNK, id)) {
      setTag(tags, TAG_BY_CHUNK[id]!, decodeTag(await cursor.peek(Math.min(sizeBytes, TEXT_BYTES_MAX))));
    }
    const isLast = id === "SSND" && (data?.dataBytes === Number.POSITIVE_INFINITY || !source.isRandomAccess);
    if (isLast || (data !== undefined && format !== undefined && !isLengthNeeded)) break;
    cursor.moveTo(start + sizeBytes + (sizeBytes & 1));
  }
  if (format === undefined) {
    throw damaged(data === undefined ? "its head is cut off or broken" : "its audio comes before its format");
  }
  if (data === undefined) throw new NodeError("media-no-audio", "the AIFF file holds no audio");
  // The size of the chunk where the file has it, else the number of frames.
  const isThere = data.dataStart + data.dataBytes <= (source.sizeBytes ?? Number.POSITIVE_INFINITY);
  const countedBytes = format.frameCount * format.frameBytes;
  const isCounted = countedBytes > 0 && !(isThere && Number.isFinite(data.dataBytes));
  const dataBytes = isCounted ? Math.min(data.dataBytes, countedBytes) : data.dataBytes;
  return new PcmDemuxer(parts, { probeName: "aiff", tags, ...format, dataStart: data.dataStart, dataBytes });
}

/** SSND: offset of the first sample, block size, then samples. A size of 0 is left by writers that stream. */
async function readData(cursor: ByteCursor, sizeBytes: number): Promise<Pick<PcmPlace, "dataStart" | "dataBytes">> {
  const head = await cursor.peek(8);
  const offsetBytes = head.length < 8 ? 0 : cursor.u32be(0);
  const dataStart = cursor.position + 8 + offsetBytes;
  const isDeclared = sizeBytes > 8 && sizeBytes !== 0xffffffff;
  return { dataStart, dataBytes: isDeclared ? Math.max(0, sizeBytes - 8 - offsetBytes) : Number.POSITIVE_INFINITY };
}

function parseFormat(body: Uint8Array, isCompressed: boolean): Format {
  if (body.length < 18) throw damaged("its format is cut off");
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const codec = isCompressed && body.length >= COMM_BYTES ? String.fromCharCode(...body.subarray(18, 22)) : "NONE";
  const layout = LAYOUTS.get(codec);
  if (layout === undefined) throw unsupported(NAMES.get(codec) ?? printable(codec));
  const channelCount = view.getUint16(0);
  const sampleRateHz = Math.round(extendedAt(view, 8));
  const declaredBits = view.getUint16(6);
  const bitsPerSample = layout.bitsPerSample ?? 8 * Math.ceil(declaredBits / 8);
  const isPlayable =
    [8, 16, 24, 32, 64].includes(bitsPerSample) && !(layout.encoding === "unsigned" && bitsPerSample > 16);
  if (!isPlayable) throw unsupported(`${layout.encoding} samples of ${declaredBits} bits`);
  const { encoding, isBigEndian = true } = layout;
  const pcm = pcmStream({ encoding, bitsPerSample, isBigEndian }, { channelCount, sampleRateHz });
  if (pcm === undefined) throw damaged(`its header declares ${channelCount} channels at ${sampleRateHz} Hz`);
  return { ...pcm, frameCount: view.getUint32(2) };
}

/** IEEE 754 extended: sign, 15 bits of exponent, 64 bits of mantissa. */
function extendedAt(view: DataView, at: number): number {
  const exponent = (view.getUint16(at) & 0x7fff) - 16_383 - 63;
  return Number(view.getBigUint64(at + 2)) * 2 ** exponent;
}

function printable(codec: string): string {
  return codec.replace(/[^\x20-\x7e]/g, "?").trim();
}

function unsupported(name: string): NodeError {
  return new NodeError("media-unsupported-codec", `cannot play the audio codec of the AIFF file: ${name}`);
}

function damaged(why: string): NodeError {
  return new NodeError("media-damaged", `the AIFF file cannot be read: ${why}`);
}
