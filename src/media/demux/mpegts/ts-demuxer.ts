// Reads the first AAC or MPEG audio stream from MPEG-TS files, streams and HLS segments. Files that can be read anywhere
// have a length and seek by the times of their PES packets; elsewhere seeking counts through the packets. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { parseAdtsHeader } from "../adts/adts-header.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { seekPreRollMs } from "../packet-clock.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { ElementaryStream, TICKS_PER_MS } from "./elementary-stream.ts";
import { SectionReader } from "./section-reader.ts";
import { codecOf, type TsCodec } from "./ts-codecs.ts";
import {
  findTsLayout,
  isAtSync,
  parsePesHeader,
  parseTsPacket,
  readPat,
  readPmt,
  TS_HEAD_BYTES,
  TS_SNIFF_BYTES,
  type TsLayout,
  type TsPacket,
  type TsStream,
} from "./ts-packets.ts";
import { TsTimeline } from "./ts-timeline.ts";

/** Packets read for the tables and the first audio: 6 MB, several seconds of video in between. */
const OPEN_STEP_COUNT_MAX = 32_768;
const DAMAGE_BYTES_MAX = 1024 * 1024;
/** Lavalink first searches this many bytes for a raw AAC frame: it then calls the stream `adts`. */
const PROBE_BYTES = 1000;
/** Packets behind the first map that names nothing to play in which another one may name audio: 376 kB. */
const MAPS_STEP_COUNT_MAX = 2_000;
/** Every source returns this much of its start again. */
const RESTART_BYTES_MAX = 48 * 1024;
/** A jump forward of less than this is read through. */
const SKIP_MS_MAX = 2_000;
const PAT_PID = 0;

/**
 * Reads up to the first audio, 6 MB at most. The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", and the errors of the source
 */
export async function openMpegTs(
  parts: ReaderParts,
  _leading?: unknown,
  { isLengthNeeded = true }: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const head = await new ByteCursor(parts.source).peek(TS_HEAD_BYTES);
  const layout = findTsLayout(head);
  if (layout === undefined) throw new NodeError("media-damaged", "the MPEG-TS stream cannot be read: no packets in it");
  const demuxer = new TsDemuxer(parts, { layout, probeName: probeNameOf(head) });
  await demuxer.findAudio();
  if (isLengthNeeded) await demuxer.measure();
  return demuxer;
}

interface SelectedAudio {
  readonly pid: number;
  readonly codec: TsCodec;
  readonly elementary: ElementaryStream;
  /** PID of the program map that named it; undefined where no table did. */
  readonly mapPid: number | undefined;
}

function probeNameOf(head: Uint8Array): string {
  for (let at = 0; at < Math.min(PROBE_BYTES, head.length); at++) {
    if (parseAdtsHeader(head, at) !== undefined) return "adts";
  }
  return "mpegts-adts";
}

class TsDemuxer implements Demuxer {
  info: ContainerInfo;
  readonly #source: ByteSource;
  readonly #work: DemuxWork;
  readonly #layout: TsLayout;
  readonly #cursor: ByteCursor;
  readonly #pump: PacketPump;
  readonly #sections = new SectionReader();
  #mapPids: readonly number[] = [];
  /** Maps that have been read and named nothing to play. */
  readonly #silentMapPids = new Set<number>();
  #audio: SelectedAudio | undefined;
  /** The first stream of audio that was seen before a table named it. */
  #unnamed: { readonly pid: number; readonly codec: TsCodec } | undefined;
  #foreignName: string | undefined;
  #stream: AudioStream | undefined;
  #continuity: number | undefined;
  /** The last packet that started a unit: one that follows may be a copy, or start another unit. */
  #unitStart: Uint8Array = new Uint8Array(0);
  /** False until the first unit starts: bytes before a unit are the middle of a frame. */
  #isSynced = false;
  #packets: Packet[] = [];
  #packetIndex = 0;
  #damageBytes = 0;
  /** The first unit of the audio with a time. */
  #firstUnit: { readonly atBytes: number; readonly ticks: number } | undefined;
  /** The audio at the start, which spliced files may replace. */
  #firstAudio: SelectedAudio | undefined;
  #timeline: TsTimeline | undefined;

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
    const onShort = (): Step => this.#flush();
    this.#pump = new PacketPump({ cursor: this.#cursor, work, step: () => this.#step(), onShort });
  }

  get stream(): AudioStream {
    if (this.#stream === undefined) throw new NodeError("internal", "the MPEG-TS reader was used before it was open");
    return this.#stream;
  }

  get isSeekable(): boolean {
    return this.#timeline !== undefined;
  }

  /** Reads the tables and up to the first frame; where no table names a stream, the first that looks like audio. */
  async findAudio(): Promise<void> {
    await this.#readToAudio();
    const unnamed = this.#unnamed;
    if (this.#stream === undefined && this.#foreignName === undefined && unnamed !== undefined) {
      this.#audio = { ...unnamed, elementary: new ElementaryStream(unnamed.codec), mapPid: undefined };
      if (this.#canRestart) this.#restart();
      await this.#readToAudio();
    }
    if (this.#stream !== undefined) return this.#prepareSeeking();
    if (this.#foreignName !== undefined) {
      throw new NodeError(
        "media-unsupported-codec",
        `cannot play the audio codec of the MPEG-TS stream: ${this.#foreignName}`,
      );
    }
    throw new NodeError("media-no-audio", "the MPEG-TS stream holds no AAC or MP3 audio");
  }

  /** Determines the length, where the source can be read anywhere. */
  async measure(): Promise<void> {
    const lengthMs = await this.#timeline?.lengthMs();
    if (lengthMs === undefined) this.#timeline = undefined;
    else this.info = { ...this.info, lengthMs: Math.floor(lengthMs) };
  }

  async #readToAudio(): Promise<void> {
    let foreignCount = 0;
    for (let count = 0; count < OPEN_STEP_COUNT_MAX && this.#packets.length === 0; count++) {
      if (this.#work.isSpent) await this.#work.yield();
      const step = this.#readPacket();
      if (step === undefined) break;
      if (step === WAIT && this.#cursor.isShort) {
        this.#audio?.elementary.flush(this.#packets);
        break;
      }
      if (step === WAIT) await this.#cursor.fill();
      // Further on there is no way back to the audio before the tables.
      const isLastChance = this.#cursor.position > RESTART_BYTES_MAX - TS_SNIFF_BYTES && !this.#source.isRandomAccess;
      if (isLastChance && this.#audio === undefined && this.#unnamed !== undefined) break;
      const isOver = this.#mapPids.length > 0 && this.#mapPids.every((pid) => this.#silentMapPids.has(pid));
      const isFound = this.#foreignName !== undefined || this.#unnamed !== undefined;
      if (isFound && this.#audio === undefined && (isOver || ++foreignCount > MAPS_STEP_COUNT_MAX)) break;
    }
    this.#stream = this.#audio?.elementary.stream;
  }

  #prepareSeeking(): void {
    const { isRandomAccess, sizeBytes } = this.#source;
    const [audio, unit] = [this.#audio, this.#firstUnit];
    this.#firstAudio = audio;
    if (!isRandomAccess || sizeBytes === undefined || audio === undefined || unit === undefined) return;
    const timeMs = (unit.ticks - (audio.elementary.baseTicks ?? unit.ticks)) / TICKS_PER_MS;
    const { pid, codec } = audio;
    const parts = { source: this.#source, work: this.#work, layout: this.#layout };
    this.#timeline = new TsTimeline({ ...parts, pid, codec, first: { ...unit, timeMs } });
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    const elementary = this.#audio?.elementary;
    const targetMs = Math.max(0, positionMs) - seekPreRollMs(this.stream);
    const nextMs = elementary === undefined ? 0 : this.#nextMs(elementary);
    const isSoon = targetMs >= nextMs && targetMs < nextMs + SKIP_MS_MAX;
    const found = elementary === undefined || isSoon ? undefined : await this.#timeline?.locate(targetMs);
    if (found !== undefined && (targetMs < nextMs || found.timeMs > nextMs)) {
      this.#moveTo(found.atBytes);
      this.#audio?.elementary.restart(found.timeMs, found.ticks);
    } else if (elementary !== undefined && targetMs < nextMs) {
      if (!this.#source.isRandomAccess) {
        throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this stream only forwards");
      }
      this.#restart();
    }
    this.#pump.dropUntil(targetMs);
  }

  #restart(): void {
    this.#moveTo(this.#layout.offsetBytes);
    this.#audio?.elementary.restart();
  }

  #moveTo(atBytes: number): void {
    this.#cursor.moveTo(atBytes);
    this.#audio = this.#firstAudio ?? this.#audio;
    this.#sections.reset();
    this.#packets = [];
    this.#packetIndex = 0;
    this.#continuity = undefined;
    this.#isSynced = false;
  }

  get #canRestart(): boolean {
    return this.#source.isRandomAccess || this.#cursor.position <= RESTART_BYTES_MAX;
  }

  close(): void {
    this.#source.close();
  }

  #nextMs(elementary: ElementaryStream): number {
    return this.#packets[this.#packetIndex]?.timestampMs ?? elementary.timeMs;
  }

  #step(): Step {
    return this.#takePacket() ?? this.#readPacket();
  }

  #takePacket(): Packet | undefined {
    const packet = this.#packets[this.#packetIndex];
    if (packet === undefined) {
      this.#packets = [];
      this.#packetIndex = 0;
      return undefined;
    }
    this.#packetIndex += 1;
    this.#stream = this.#audio?.elementary.stream;
    return packet;
  }

  /** At the end of the data. */
  #flush(): Step {
    this.#audio?.elementary.flush(this.#packets);
    return this.#takePacket();
  }

  #readPacket(): Step {
    const cursor = this.#cursor;
    if (!cursor.has(188)) return WAIT;
    if (!isAtSync(cursor)) return this.#resync();
    const atBytes = cursor.position;
    const packet = parseTsPacket(cursor.view(188));
    // Bytes behind the 188 belong to the stride; at the end of the file they may be missing.
    cursor.skip(this.#layout.packetBytes);
    if (packet !== undefined) {
      this.#damageBytes = 0;
      this.#handle(packet, atBytes);
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
    this.#audio?.elementary.drop();
    return this.#damageBytes > DAMAGE_BYTES_MAX ? undefined : AGAIN;
  }

  #handle(packet: TsPacket, atBytes: number): void {
    if (packet.pid === this.#audio?.pid) this.#addAudio(packet, { ...this.#audio, atBytes });
    else if (packet.pid === PAT_PID) this.#readPrograms(packet);
    else if (this.#mapPids.includes(packet.pid)) this.#readMap(packet);
    else if (this.#audio === undefined && this.#unnamed === undefined) this.#noteUnnamed(packet);
  }

  #readPrograms(packet: TsPacket): void {
    const section = this.#sections.add(packet);
    if (section?.tableId === 0) this.#mapPids = readPat(section.body);
  }

  #readMap(packet: TsPacket): void {
    const section = this.#sections.add(packet);
    if (section?.tableId !== 2) return;
    const streams = readPmt(section.body);
    if (!this.#isReplacing(packet.pid, streams, section.isIntact())) return;
    for (const entry of streams) {
      const codec = codecOf(entry);
      if (codec === "aac" || codec === "mpeg") {
        this.#select({ pid: entry.pid, codec, mapPid: packet.pid });
        return;
      }
      this.#foreignName ??= codec?.name;
    }
    this.#silentMapPids.add(packet.pid);
  }

  /** True when this map may name the audio: none is known yet, or it is right that the one known has left its program. */
  #isReplacing(mapPid: number, streams: readonly TsStream[], isIntact: boolean): boolean {
    const audio = this.#audio;
    if (audio === undefined) return true;
    if (!isIntact || streams.some(({ pid }) => pid === audio.pid)) return false;
    return audio.mapPid === mapPid || (audio.mapPid !== undefined && !this.#mapPids.includes(audio.mapPid));
  }

  #select({ pid, codec, mapPid }: Omit<SelectedAudio, "elementary">): void {
    const isFirst = this.#audio === undefined;
    this.#audio?.elementary.flush(this.#packets);
    this.#audio = { pid, codec, mapPid, elementary: new ElementaryStream(codec, this.#audio?.elementary.timeMs) };
    this.#continuity = undefined;
    this.#isSynced = false;
    // Audio that came before the tables is not lost.
    if (isFirst && this.#unnamed !== undefined && this.#canRestart) this.#restart();
  }

  /** Notes a stream that no table has named: its PES packets are those of audio and begin with a frame. */
  #noteUnnamed({ pid, isUnitStart, isScrambled, payload }: TsPacket): void {
    const header = isUnitStart && !isScrambled ? parsePesHeader(payload) : undefined;
    if (header === undefined || (payload[3]! & 0xe0) !== 0xc0) return;
    const [first = 0, second = 0] = payload.subarray(header.sizeBytes);
    if (first === 0xff && second >= 0xe0) this.#unnamed = { pid, codec: (second & 6) === 0 ? "aac" : "mpeg" };
  }

  #addAudio(packet: TsPacket, { elementary, atBytes }: SelectedAudio & { readonly atBytes: number }): void {
    if (packet.isScrambled) {
      this.#foreignName ??= "an encrypted stream";
      return;
    }
    const isSame = !packet.isUnitStart || Buffer.compare(packet.payload, this.#unitStart) === 0;
    const isRepeated = packet.continuity === this.#continuity && isSame;
    const isInOrder = this.#continuity === undefined || packet.continuity === ((this.#continuity + 1) & 15);
    this.#continuity = packet.continuity;
    if (isRepeated) return;
    if (packet.isUnitStart) this.#unitStart = packet.payload;
    // What follows is searched for the next frame: a unit holds many.
    if (!isInOrder) elementary.drop();
    const header = packet.isUnitStart ? parsePesHeader(packet.payload) : undefined;
    if (packet.isUnitStart && header === undefined) return;
    if (header !== undefined) this.#isSynced = true;
    if (header?.pts !== undefined) this.#firstUnit ??= { atBytes, ticks: header.pts };
    if (this.#isSynced) elementary.add(packet.payload.subarray(header?.sizeBytes ?? 0), header?.pts, this.#packets);
  }
}
