// Reads Apple's Core Audio Format: uncompressed audio in all layouts, and ALAC. Audio thread.

import { NodeError } from "../../../errors.ts";
import { BitReader } from "../../../lib/bit-reader.ts";
import type { AudioStream, Packet, PcmLayout } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import type { LeadingTags } from "../id3.ts";
import { openMp3 } from "../mp3/mp3-demuxer.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { PartSource } from "../part-source.ts";
import { PcmDemuxer, pcmStream } from "../pcm-demuxer.ts";
import { type CafFormat, type CafHeader, damagedCaf, readCafHeader } from "./caf-header.ts";

/** `lpcm`: samples are floats; the least significant byte comes first. */
const FLAG_FLOAT = 1;
const FLAG_LITTLE_ENDIAN = 2;
const PACKET_BYTES_MAX = 4 * 1024 * 1024;
const PACKET_COUNT_MAX = 2 ** 20;
const CHANNELS_MAX = 8;
const RATE_HZ_MAX = 768_000;
/** Sizes decoded, or empty packets skipped, between two looks at the clock. */
const SIZES_PER_STEP = 4096;

const NAMES: ReadonlyMap<string, string> = new Map([
  ["aac ", "AAC"],
  ["aach", "HE-AAC"],
  ["aacp", "HE-AAC v2"],
  ["ima4", "IMA ADPCM"],
  ["MAC3", "MACE 3:1"],
  ["MAC6", "MACE 6:1"],
  ["opus", "Opus"],
  ["flac", "FLAC"],
  ["ac-3", "AC-3"],
  ["ec-3", "E-AC-3"],
  ["agsm", "GSM 6.10"],
  ["ilbc", "iLBC"],
  ["samr", "AMR"],
  ["QDM2", "QDesign Music 2"],
  ["ms\0\x02", "Microsoft ADPCM"],
  ["ms\0\x11", "IMA ADPCM"],
  ["ms\x001", "GSM 6.10"],
]);

/**
 * Reads up to the audio, and behind it what is needed. The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", "media-not-seekable",
 * "memory-exhausted", and the errors of the source
 */
export async function openCaf(
  parts: ReaderParts,
  leading: LeadingTags,
  hints: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const cursor = new ByteCursor(parts.source);
  const header = await readCafHeader(cursor, parts, { ...hints, tags: { ...leading.tags } });
  const { format, tags, dataStart, dataBytes } = header;
  const layout = layoutOf(format);
  if (layout !== undefined) {
    const pcm = pcmStream(layout, format);
    if (pcm === undefined) throw damagedCaf(`it declares ${format.channelCount} channels at ${format.sampleRateHz} Hz`);
    return new PcmDemuxer(parts, { probeName: "caf", tags, ...pcm, dataStart, dataBytes });
  }
  if (/^\.mp[123]$/.test(format.codec)) {
    const source = new PartSource(parts.source, { startBytes: dataStart, endBytes: dataStart + dataBytes });
    return openMp3({ ...parts, source }, { tags, endBytes: 0 }, hints);
  }
  if (format.codec !== "alac") throw unsupported(NAMES.get(format.codec) ?? printable(format.codec));
  const description = header.cookie && plainCookie(header.cookie);
  if (description === undefined || description.length < 24) throw damagedCaf("the set-up data of ALAC are missing");
  // As in MP4, the set-up data count.
  const sampleRateHz = new DataView(description.buffer, description.byteOffset).getUint32(20);
  const channelCount = description[9]!;
  if (sampleRateHz === 0 || sampleRateHz > RATE_HZ_MAX || channelCount === 0 || channelCount > CHANNELS_MAX) {
    throw damagedCaf(`it declares ${channelCount} channels at ${sampleRateHz} Hz`);
  }
  const stream: AudioStream = { codec: "alac", sampleRateHz, channelCount, description, pcm: undefined };
  const positions = await readPositions(header, parts.work);
  const isLengthNeeded = (hints.isLengthNeeded ?? true) && parts.source.isRandomAccess;
  const lastFrames = isLengthNeeded ? await readLastFrames(parts.source, positions) : undefined;
  return new CafPacketDemuxer(parts, header, { stream, positions, lastFrames });
}

function layoutOf({ codec, flags, bitsPerSample, packetBytes, channelCount }: CafFormat): PcmLayout | undefined {
  if (codec === "alaw") return { encoding: "alaw", bitsPerSample: 8, isBigEndian: true };
  if (codec === "ulaw") return { encoding: "mulaw", bitsPerSample: 8, isBigEndian: true };
  if (codec !== "lpcm") return undefined;
  // 20 bits may lie in three bytes or in four.
  const packedBits = (8 * packetBytes) / Math.max(1, channelCount);
  const bits = packedBits % 8 === 0 && packedBits >= bitsPerSample ? packedBits : bitsPerSample;
  const isFloat = (flags & FLAG_FLOAT) !== 0;
  if (!(isFloat ? [32, 64] : [8, 16, 24, 32, 64]).includes(bits)) {
    throw unsupported(`${isFloat ? "float" : "integer"} samples of ${bits} bits`);
  }
  const isBigEndian = (flags & FLAG_LITTLE_ENDIAN) === 0;
  return { encoding: isFloat ? "float" : "signed", bitsPerSample: bits, isBigEndian };
}

/** Old files wrap the cookie into the atoms of QuickTime: `frma` (12 bytes), then `alac` with a head of 12. */
function plainCookie(cookie: Uint8Array): Uint8Array {
  const isWrapped = String.fromCharCode(...cookie.subarray(4, 8)) === "frma";
  return isWrapped ? cookie.subarray(24) : cookie;
}

/** Where each packet starts, from the first on, and where the last ends. */
async function readPositions({ format, table, dataStart }: CafHeader, work: DemuxWork): Promise<Float64Array> {
  if (table === undefined) throw noTable();
  if (format.packetFrames === 0) throw unsupported("ALAC whose packets vary in length");
  const { packetCount, sizes } = table;
  // A packet takes at least one byte of the table.
  const count = Math.min(packetCount, format.packetBytes > 0 ? PACKET_COUNT_MAX : sizes.length, PACKET_COUNT_MAX);
  work.take((count + 1) * Float64Array.BYTES_PER_ELEMENT, "the positions of its packets");
  const positions = new Float64Array(count + 1);
  positions[0] = dataStart;
  let at = 0;
  for (let packet = 0; packet < count; packet++) {
    if (packet % SIZES_PER_STEP === 0 && work.isSpent) await work.yield();
    let size = format.packetBytes;
    if (size === 0) {
      for (let index = 0; index < 5 && at < sizes.length; index++) {
        const byte = sizes[at++]!;
        size = size * 128 + (byte & 0x7f);
        if (byte < 0x80) break;
      }
    }
    positions[packet + 1] = positions[packet]! + size;
  }
  return positions;
}

/** What the last packet of ALAC holds, as it says itself; undefined when it is a whole one. */
async function readLastFrames(source: ByteSource, positions: Float64Array): Promise<number | undefined> {
  if (positions.length < 2) return undefined;
  const bits = new BitReader(await new ByteCursor(source, positions[positions.length - 2]).peek(8));
  const element = bits.read(3);
  bits.skip(4 + 12);
  const hasLength = bits.read(1) === 1;
  bits.skip(3);
  return element <= 1 && hasLength ? bits.read(32) : undefined;
}

interface Packets {
  readonly stream: AudioStream;
  readonly positions: Float64Array;
  readonly lastFrames: number | undefined;
}

class CafPacketDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #header: CafHeader;
  readonly #positions: Float64Array;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  readonly #dataEnd: number;
  readonly #lastFrames: number | undefined;
  #packet = 0;

  constructor({ source, work }: ReaderParts, header: CafHeader, { stream, positions, lastFrames }: Packets) {
    const { tags, dataStart, dataBytes } = header;
    this.#source = source;
    this.#header = header;
    this.#positions = positions;
    this.#lastFrames = lastFrames;
    this.stream = stream;
    this.#dataEnd = Math.min(dataStart + dataBytes, source.sizeBytes ?? Number.POSITIVE_INFINITY);
    const { title, author, isrc } = tags;
    const lengthMs = Math.floor((1000 * this.#audibleFrames) / stream.sampleRateHz);
    this.info = { probeName: "caf", title, author, isrc, artworkUrl: undefined, lengthMs };
    this.#cursor = new ByteCursor(source, dataStart);
    this.#pump = new PacketPump({ cursor: this.#cursor, work, step: () => this.#step() });
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    const { format, table } = this.#header;
    const frame = (Math.max(0, positionMs) * this.stream.sampleRateHz) / 1000 + (table?.primingFrames ?? 0);
    const packet = Math.min(Math.floor(frame / format.packetFrames), this.#packetCount);
    if (!this.isSeekable && packet < this.#packet) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this file only forwards");
    }
    this.#packet = packet;
    this.#cursor.moveTo(this.#positions[packet]!);
  }

  close(): void {
    this.#source.close();
  }

  get #packetCount(): number {
    return this.#positions.length - 1;
  }

  /** As counted by the packets that are there, and never more than the file declares. */
  get #audibleFrames(): number {
    const { format, table } = this.#header;
    let there = this.#packetCount;
    // Cut off, or a table that claims more than there is.
    while (there > 0 && this.#positions[there]! > this.#dataEnd) there -= 1;
    const isWhole = there === table?.packetCount;
    const { packetFrames } = format;
    const missing = isWhole && this.#lastFrames !== undefined ? Math.max(0, packetFrames - this.#lastFrames) : 0;
    const counted = Math.max(0, there * packetFrames - missing - (table?.primingFrames ?? 0));
    const declared = table?.validFrames ?? 0;
    return declared > 0 ? Math.min(declared, counted) : counted;
  }

  #step(): Step {
    let packet = this.#packet;
    const start = this.#positions[packet]!;
    const last = Math.min(this.#packetCount, packet + SIZES_PER_STEP);
    while (packet < last && this.#positions[packet + 1] === start) packet += 1;
    this.#packet = packet;
    if (packet >= this.#packetCount) return undefined;
    const sizeBytes = this.#positions[packet + 1]! - start;
    if (sizeBytes === 0) return AGAIN;
    if (sizeBytes > PACKET_BYTES_MAX || start + sizeBytes > this.#dataEnd) return undefined;
    if (!this.#cursor.has(sizeBytes)) return WAIT;
    this.#packet = packet + 1;
    return this.#toPacket(this.#cursor.take(sizeBytes), packet);
  }

  #toPacket(data: Uint8Array, packet: number): Packet {
    const { format, table } = this.#header;
    const { packetFrames } = format;
    const { sampleRateHz } = this.stream;
    return {
      data,
      timestampMs: (1000 * (packet * packetFrames - (table?.primingFrames ?? 0))) / sampleRateHz,
      durationMs: (1000 * packetFrames) / sampleRateHz,
      trimEndSamples: 0,
    };
  }
}

function printable(codec: string): string {
  return codec.replace(/[^\x20-\x7e]/g, "?").trim();
}

function unsupported(name: string): NodeError {
  return new NodeError("media-unsupported-codec", `cannot play the audio codec of the CAF file: ${name}`);
}

function noTable(): NodeError {
  return new NodeError(
    "media-not-seekable",
    "cannot play this CAF file: its packet table is at the end, and the server does not send byte ranges to reach it",
  );
}
