// Cuts uncompressed audio that lies in one piece (WAV, AIFF, CAF) into packets. Every position can be calculated. Audio
// thread.

import { NodeError } from "../../errors.ts";
import type { AudioStream, Packet, PcmLayout } from "../format/packet.ts";
import type { ByteSource } from "../input/byte-source.ts";
import { ByteCursor } from "./byte-cursor.ts";
import type { ReaderParts } from "./demux-work.ts";
import type { ContainerInfo, Demuxer } from "./demuxer.ts";
import { withTaggedLoudness } from "./loudness-tags.ts";
import { PacketPump, type Step, WAIT } from "./packet-pump.ts";
import type { Tags } from "./tags.ts";

const PACKETS_PER_SECOND = 50;
const CHANNELS_MAX = 16;
const RATE_HZ_MIN = 100;
const RATE_HZ_MAX = 768_000;

/** Where the samples are, and their layout. */
export interface PcmPlace {
  readonly probeName: string;
  readonly tags: Tags;
  readonly stream: AudioStream;
  /** One sample of each channel. */
  readonly frameBytes: number;
  readonly dataStart: number;
  /** Infinite when the header does not declare it. */
  readonly dataBytes: number;
}

/** The stream of such samples, and the bytes of one frame; undefined for numbers that no audio has. */
export function pcmStream(
  pcm: PcmLayout,
  { channelCount, sampleRateHz }: { readonly channelCount: number; readonly sampleRateHz: number },
): Pick<PcmPlace, "stream" | "frameBytes"> | undefined {
  const isSane = sampleRateHz >= RATE_HZ_MIN && sampleRateHz <= RATE_HZ_MAX;
  if (!isSane || channelCount < 1 || channelCount > CHANNELS_MAX) return undefined;
  const frameBytes = (channelCount * pcm.bitsPerSample) / 8;
  return { stream: { codec: "pcm", sampleRateHz, channelCount, description: undefined, pcm }, frameBytes };
}

/** When the size declared contradicts the file's size, the file's size counts. */
export class PcmDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #place: PcmPlace;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  readonly #packetBytes: number;
  readonly #dataEnd: number;

  constructor({ source, work }: ReaderParts, place: PcmPlace) {
    const { probeName, tags, stream, frameBytes, dataStart, dataBytes } = place;
    this.#source = source;
    this.#place = place;
    this.stream = withTaggedLoudness(stream, tags);
    this.#dataEnd = Math.min(dataStart + dataBytes, source.sizeBytes ?? Number.POSITIVE_INFINITY);
    const frames = Math.floor(Math.max(0, this.#dataEnd - dataStart) / frameBytes);
    const lengthMs = Number.isFinite(frames) ? Math.floor((1000 * frames) / stream.sampleRateHz) : undefined;
    const { title, author, isrc } = tags;
    this.info = { probeName, title, author, isrc, artworkUrl: undefined, lengthMs };
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
    const { frameBytes, dataStart } = this.#place;
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
    if (leftBytes < this.#place.frameBytes) return undefined;
    const sizeBytes = Math.min(this.#packetBytes, leftBytes);
    return this.#cursor.has(sizeBytes) ? this.#take(sizeBytes) : WAIT;
  }

  /** The file ends before its header says: the complete frames are still played. */
  #takeRest(): Step {
    return this.#cursor.bufferedBytes < this.#place.frameBytes ? undefined : this.#take(this.#cursor.bufferedBytes);
  }

  #take(sizeBytes: number): Packet {
    const { frameBytes, dataStart } = this.#place;
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
