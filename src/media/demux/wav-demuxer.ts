// Reads WAV: RIFF and its 64-bit forms RF64 and BW64 (EBU Tech 3306), with integer, float, A-law and mu-law samples.
// When sizes in the header contradict the file's size, the file's size counts. Audio thread.

import { NodeError } from "../../errors.ts";
import type { AudioStream, Packet, PcmLayout } from "../format/packet.ts";
import type { ByteSource } from "../input/byte-source.ts";
import { ByteCursor } from "./byte-cursor.ts";
import type { ReaderParts } from "./demux-work.ts";
import type { ContainerInfo, Demuxer } from "./demuxer.ts";
import { PacketPump, type Step, WAIT } from "./packet-pump.ts";

const PACKETS_PER_SECOND = 50;
const CHUNK_COUNT_MAX = 256;
/** A size field without a size: written by programs that stream and cannot go back. */
const UNKNOWN_SIZE = 0xffffffff;

interface Layout {
  readonly stream: AudioStream;
  readonly frameBytes: number;
  readonly dataStart: number;
  /** Infinite when the header does not declare it. */
  readonly dataBytes: number;
}

/**
 * Reads up to the samples, past at most 256 other chunks. The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", and the errors of the source
 */
export async function openWav(parts: ReaderParts): Promise<Demuxer> {
  return new WavDemuxer(parts, await readLayout(new ByteCursor(parts.source)));
}

async function readLayout(cursor: ByteCursor): Promise<Layout> {
  cursor.skip(12);
  let format: { stream: AudioStream; frameBytes: number } | undefined;
  let wideDataBytes: number | undefined;
  for (let count = 0; count < CHUNK_COUNT_MAX; count++) {
    const head = await cursor.read(8);
    if (head.length < 8) break;
    const id = String.fromCharCode(...head.subarray(0, 4));
    const sizeBytes = new DataView(head.buffer, head.byteOffset).getUint32(4, true);
    const start = cursor.position;
    if (id === "fmt ") format = parseFormat(await cursor.peek(Math.min(sizeBytes, 64)));
    if (id === "ds64") wideDataBytes = readWideSize(await cursor.peek(28));
    if (id === "data") {
      if (format === undefined) throw damaged("its audio comes before its format");
      const dataBytes = sizeBytes === UNKNOWN_SIZE ? (wideDataBytes ?? 0) : sizeBytes;
      return { ...format, dataStart: start, dataBytes: dataBytes === 0 ? Number.POSITIVE_INFINITY : dataBytes };
    }
    // Chunks are padded to an even size.
    cursor.moveTo(start + sizeBytes + (sizeBytes & 1));
  }
  if (format === undefined) throw damaged("its head is cut off or broken");
  throw new NodeError("media-no-audio", "the WAV file holds no audio");
}

/** ds64: size of the file, then of the data, 64 bits each. */
function readWideSize(body: Uint8Array): number | undefined {
  if (body.length < 16) return undefined;
  const view = new DataView(body.buffer, body.byteOffset);
  return view.getUint32(12, true) * 2 ** 32 + view.getUint32(8, true);
}

function parseFormat(body: Uint8Array): { stream: AudioStream; frameBytes: number } {
  if (body.length < 16) throw damaged("its format is cut off");
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const tag = view.getUint16(0, true);
  // The extensible form names the real format in the first bytes of a GUID.
  const format = tag === 0xfffe && body.length >= 26 ? view.getUint16(24, true) : tag;
  const channelCount = view.getUint16(2, true);
  const sampleRateHz = view.getUint32(4, true);
  const frameBytes = view.getUint16(12, true);
  const bitsPerSample = (8 * frameBytes) / Math.max(1, channelCount);
  const encoding = encodingOf(format, bitsPerSample);
  if (encoding === undefined) {
    throw new NodeError(
      "media-unsupported-codec",
      `cannot play the audio codec of the WAV file: format ${format} with ${bitsPerSample} bits`,
    );
  }
  if (channelCount < 1 || channelCount > 16 || sampleRateHz < 100 || sampleRateHz > 768_000) {
    throw damaged(`its header declares ${channelCount} channels at ${sampleRateHz} Hz`);
  }
  const pcm: PcmLayout = { encoding, bitsPerSample, isBigEndian: false };
  return { stream: { codec: "pcm", sampleRateHz, channelCount, description: undefined, pcm }, frameBytes };
}

function encodingOf(format: number, bits: number): PcmLayout["encoding"] | undefined {
  if (format === 1 && bits === 8) return "unsigned";
  if (format === 1 && (bits === 16 || bits === 24 || bits === 32)) return "signed";
  if (format === 3 && (bits === 32 || bits === 64)) return "float";
  if (format === 6 && bits === 8) return "alaw";
  return format === 7 && bits === 8 ? "mulaw" : undefined;
}

function damaged(why: string): NodeError {
  return new NodeError("media-damaged", `the WAV file cannot be read: ${why}`);
}

class WavDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #layout: Layout;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  readonly #packetBytes: number;
  readonly #dataEnd: number;

  constructor({ source, work }: ReaderParts, layout: Layout) {
    const { stream, frameBytes, dataStart, dataBytes } = layout;
    this.#source = source;
    this.#layout = layout;
    this.stream = stream;
    this.#dataEnd = Math.min(dataStart + dataBytes, source.sizeBytes ?? Number.POSITIVE_INFINITY);
    const frames = Math.floor((this.#dataEnd - dataStart) / frameBytes);
    this.info = {
      probeName: "wav",
      // Clients see no tags of WAV files from Lavalink either: RIFF INFO is in no known encoding.
      title: undefined,
      author: undefined,
      isrc: undefined,
      artworkUrl: undefined,
      lengthMs: Number.isFinite(frames) ? Math.floor((1000 * frames) / stream.sampleRateHz) : undefined,
    };
    this.#packetBytes = frameBytes * Math.max(1, Math.round(stream.sampleRateHz / PACKETS_PER_SECOND));
    this.#cursor = new ByteCursor(source, dataStart);
    this.#pump = new PacketPump({
      cursor: this.#cursor,
      work,
      step: () => this.#step(),
      onShort: () => this.#takeRest(),
    });
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    const { frameBytes, dataStart } = this.#layout;
    const frame = Math.floor((Math.max(0, positionMs) * this.stream.sampleRateHz) / 1000);
    const positionBytes = dataStart + frame * frameBytes;
    if (!this.isSeekable && positionBytes < this.#cursor.position) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this file only forwards");
    }
    this.#cursor.moveTo(Math.min(positionBytes, this.#dataEnd));
  }

  close(): void {
    this.#source.close();
  }

  #step(): Step {
    const leftBytes = this.#dataEnd - this.#cursor.position;
    if (leftBytes < this.#layout.frameBytes) return undefined;
    const sizeBytes = Math.min(this.#packetBytes, leftBytes);
    return this.#cursor.has(sizeBytes) ? this.#take(sizeBytes) : WAIT;
  }

  /** The file ends before its header says: the complete frames are still played. */
  #takeRest(): Step {
    return this.#cursor.bufferedBytes < this.#layout.frameBytes ? undefined : this.#take(this.#cursor.bufferedBytes);
  }

  #take(sizeBytes: number): Packet {
    const { frameBytes, dataStart } = this.#layout;
    const frame = (this.#cursor.position - dataStart) / frameBytes;
    const frames = Math.floor(sizeBytes / frameBytes);
    return {
      data: this.#cursor.take(frames * frameBytes),
      timestampMs: (1000 * frame) / this.stream.sampleRateHz,
      durationMs: (1000 * frames) / this.stream.sampleRateHz,
      trimEndSamples: 0,
    };
  }
}
