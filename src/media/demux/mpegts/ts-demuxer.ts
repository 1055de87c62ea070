// Reads the first AAC or MP3 stream from MPEG-TS files, streams and HLS segments. Like Lavalink it shows no length;
// seeking counts through the packets. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { parseAdtsHeader } from "../adts/adts-header.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { seekPreRollMs } from "../packet-clock.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { ElementaryStream, type TsCodec } from "./elementary-stream.ts";
import {
  findTsLayout,
  isAtSync,
  parsePesHeader,
  parseTsPacket,
  readPat,
  readPmt,
  readPsiSection,
  TS_SNIFF_BYTES,
  type TsLayout,
  type TsPacket,
  type TsStream,
} from "./ts-packets.ts";

/** Packets read for the tables and the first audio: 6 MB, several seconds of video in between. */
const OPEN_STEP_COUNT_MAX = 32_768;
const DAMAGE_BYTES_MAX = 1024 * 1024;
/** Lavalink first searches this many bytes for a raw AAC frame: it then calls the stream `adts`. */
const PROBE_BYTES = 1000;

/**
 * Reads up to the first audio, 6 MB at most. The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", and the errors of the source
 */
export async function openMpegTs(parts: ReaderParts): Promise<Demuxer> {
  const head = await new ByteCursor(parts.source).peek(TS_SNIFF_BYTES);
  const layout = findTsLayout(head);
  if (layout === undefined) throw new NodeError("media-damaged", "the MPEG-TS stream cannot be read: no packets in it");
  const demuxer = new TsDemuxer(parts, { layout, probeName: probeNameOf(head) });
  await demuxer.findAudio();
  return demuxer;
}

function probeNameOf(head: Uint8Array): string {
  for (let at = 0; at < Math.min(PROBE_BYTES, head.length); at++) {
    if (parseAdtsHeader(head, at) !== undefined) return "adts";
  }
  return "mpegts-adts";
}

class TsDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly isSeekable = false;
  readonly #source: ByteSource;
  readonly #work: DemuxWork;
  readonly #layout: TsLayout;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  #mapPids: readonly number[] = [];
  #audio: { pid: number; elementary: ElementaryStream } | undefined;
  #foreignName: string | undefined;
  #stream: AudioStream | undefined;
  #continuity: number | undefined;
  /** False until the first unit starts, and after lost packets: bytes before a unit are the middle of a frame. */
  #isSynced = false;
  #packets: Packet[] = [];
  #packetIndex = 0;
  #damageBytes = 0;

  constructor({ source, work }: ReaderParts, opened: { layout: TsLayout; probeName: string }) {
    this.#source = source;
    this.#work = work;
    this.#layout = opened.layout;
    this.info = {
      probeName: opened.probeName,
      title: undefined,
      author: undefined,
      isrc: undefined,
      artworkUrl: undefined,
      lengthMs: undefined,
    };
    this.#cursor = new ByteCursor(source, opened.layout.offsetBytes);
    this.#pump = new PacketPump({ cursor: this.#cursor, work, step: () => this.#step() });
  }

  get stream(): AudioStream {
    if (this.#stream === undefined) throw new NodeError("internal", "the MPEG-TS reader was used before it was open");
    return this.#stream;
  }

  /** Reads the tables and up to the first frame. */
  async findAudio(): Promise<void> {
    for (let count = 0; count < OPEN_STEP_COUNT_MAX && this.#packets.length === 0; count++) {
      if (this.#work.isSpent) await this.#work.yield();
      const step = this.#readPacket();
      if (step === undefined || (step === WAIT && this.#cursor.isShort)) break;
      if (step === WAIT) await this.#cursor.fill();
      if (this.#foreignName !== undefined && this.#audio === undefined) break;
    }
    this.#stream = this.#audio?.elementary.stream;
    if (this.#stream !== undefined) return;
    if (this.#foreignName !== undefined) {
      throw new NodeError(
        "media-unsupported-codec",
        `cannot play the audio codec of the MPEG-TS stream: ${this.#foreignName}`,
      );
    }
    throw new NodeError("media-no-audio", "the MPEG-TS stream holds no AAC or MP3 audio");
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    const elementary = this.#audio?.elementary;
    const targetMs = Math.max(0, positionMs) - seekPreRollMs(this.stream);
    if (elementary !== undefined && targetMs < this.#nextMs(elementary)) {
      if (!this.#source.isRandomAccess) {
        throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this stream only forwards");
      }
      this.#cursor.moveTo(this.#layout.offsetBytes);
      elementary.reset();
      this.#packets = [];
      this.#packetIndex = 0;
      this.#continuity = undefined;
      this.#isSynced = false;
    }
    this.#pump.dropUntil(targetMs);
  }

  close(): void {
    this.#source.close();
  }

  #nextMs(elementary: ElementaryStream): number {
    return this.#packets[this.#packetIndex]?.timestampMs ?? elementary.timeMs;
  }

  #step(): Step {
    const packet = this.#packets[this.#packetIndex];
    if (packet !== undefined) {
      this.#packetIndex += 1;
      this.#stream = this.#audio?.elementary.stream;
      return packet;
    }
    this.#packets = [];
    this.#packetIndex = 0;
    return this.#readPacket();
  }

  #readPacket(): Step {
    const cursor = this.#cursor;
    if (!cursor.has(188)) return WAIT;
    if (!isAtSync(cursor)) return this.#resync();
    const packet = parseTsPacket(cursor.view(188));
    // Bytes behind the 188 belong to the stride; at the end of the file they may be missing.
    cursor.skip(this.#layout.packetBytes);
    if (packet !== undefined) {
      this.#damageBytes = 0;
      this.#handle(packet);
    }
    return AGAIN;
  }

  #resync(): Step {
    const cursor = this.#cursor;
    if (!cursor.has(TS_SNIFF_BYTES) && !cursor.isShort) return WAIT;
    const layout = findTsLayout(cursor.view(TS_SNIFF_BYTES));
    const skippedBytes = Math.max(1, layout?.offsetBytes ?? Math.min(188, cursor.bufferedBytes));
    this.#damageBytes += skippedBytes;
    cursor.skip(skippedBytes);
    this.#isSynced = false;
    return this.#damageBytes > DAMAGE_BYTES_MAX ? undefined : AGAIN;
  }

  #handle(packet: TsPacket): void {
    if (packet.pid === this.#audio?.pid) this.#addAudio(packet, this.#audio.elementary);
    else if (packet.pid === 0 && packet.isUnitStart) this.#readPrograms(packet);
    else if (this.#audio === undefined && packet.isUnitStart && this.#mapPids.includes(packet.pid))
      this.#readMap(packet);
  }

  #readPrograms(packet: TsPacket): void {
    const section = readPsiSection(packet.payload);
    if (section?.tableId === 0) this.#mapPids = readPat(section.body);
  }

  #readMap(packet: TsPacket): void {
    const section = readPsiSection(packet.payload);
    if (section?.tableId !== 2) return;
    for (const entry of readPmt(section.body)) {
      const codec = codecOf(entry);
      if (codec === "aac" || codec === "mp3") {
        this.#audio = { pid: entry.pid, elementary: new ElementaryStream(codec) };
        return;
      }
      this.#foreignName ??= codec?.name;
    }
  }

  #addAudio(packet: TsPacket, elementary: ElementaryStream): void {
    if (packet.isScrambled) {
      this.#foreignName ??= "an encrypted stream";
      return;
    }
    const isRepeated = packet.continuity === this.#continuity && !packet.isUnitStart;
    const isInOrder = this.#continuity === undefined || packet.continuity === ((this.#continuity + 1) & 15);
    this.#continuity = packet.continuity;
    if (isRepeated) return;
    if (!isInOrder) {
      elementary.drop();
      this.#isSynced = false;
    }
    const header = packet.isUnitStart ? parsePesHeader(packet.payload) : undefined;
    if (packet.isUnitStart && header === undefined) return;
    if (header !== undefined) this.#isSynced = true;
    if (this.#isSynced) elementary.add(packet.payload.subarray(header?.sizeBytes ?? 0), header?.pts, this.#packets);
  }
}

/** Stream types (ISO 13818-1 table 2-34, ATSC A/52, ETSI TS 101 154); undefined for streams other than audio. */
function codecOf(entry: TsStream): TsCodec | { readonly name: string } | undefined {
  if (entry.type === 0x0f) return "aac";
  if (entry.type === 0x03 || entry.type === 0x04) return "mp3";
  if (entry.type === 0x11) return { name: "AAC in LATM" };
  if (entry.type === 0x81 || entry.descriptors.includes(0x6a)) return { name: "AC-3" };
  if (entry.type === 0x87 || entry.descriptors.includes(0x7a)) return { name: "E-AC-3" };
  if (entry.type === 0x82 || entry.descriptors.includes(0x7b)) return { name: "DTS" };
  const isPrivateAudio = entry.type === 0x06 && entry.descriptors.includes(0x7f);
  return isPrivateAudio ? { name: "Opus in MPEG-TS" } : undefined;
}
