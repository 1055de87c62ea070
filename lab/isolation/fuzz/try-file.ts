// Processes one generated file as a track is processed: probed, demuxed, decoded, converted to 48 kHz stereo, sought.
// Reports what a reader must never do: throw anything but a NodeError, read without end, or return invalid data.

import { Heartbeat } from "../../../src/bridge/heartbeat.ts";
import { NodeError } from "../../../src/errors.ts";
import { ByteBudget } from "../../../src/lib/byte-budget.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createDecoder } from "../../../src/media/decode/create-decoder.ts";
import type { Decoder } from "../../../src/media/decode/decoder.ts";
import type { Demuxer } from "../../../src/media/demux/demuxer.ts";
import { readHlsPlaylist } from "../../../src/media/demux/hls/hls-playlist.ts";
import type { AudioStream, Packet } from "../../../src/media/format/packet.ts";
import { ByteWindow } from "../../../src/media/input/byte-window.ts";
import { firstLink, playlistFormatOf } from "../../../src/media/input/link-list.ts";
import type { QueuedPacket } from "../../../src/media/pipeline/packet-store.ts";
import { TrackDecoder } from "../../../src/media/pipeline/track-decoder.ts";
import { openDemuxer } from "../../../src/media/probe/open-demuxer.ts";
import { TimeSlicer } from "../../../src/media/quota/time-slicer.ts";
import { TrackBudget } from "../../../src/media/quota/track-budget.ts";
import { seededRandom } from "../../seeded-random.ts";
import { type Container, generateFile } from "../generators/generate-file.ts";
import { FuzzSource } from "./fuzz-source.ts";

export interface FuzzResult {
  readonly container: Container;
  readonly seed: number;
  /** Empty when all is well. */
  readonly problems: readonly string[];
  /** `plays`, or the code of the error. */
  readonly outcome: string;
  readonly changes: readonly string[];
  readonly sizeBytes: number;
  readonly packets: number;
  /** Duration, and the most reads without yielding the thread: for finding slow files, not a limit. */
  readonly tookMs: number;
  readonly stretchCountMax: number;
}

/** Reads per byte of the file, plus some to begin with: searches inspect each byte, and may again in another order. */
const READS_PER_BYTE_MAX = 24;
const READS_MAX = 5000;
/** Bytes returned per byte of the file: more than this is quadratic. */
const BYTES_PER_BYTE_MAX = 400;
const BYTES_MAX = 8_000_000;
/** A packet takes space in its file. Laces may make several of a byte: 256 in seven. */
const PACKETS_PER_BYTE_MAX = 40;
const DECODED_PACKETS_MAX = 300;
const SEEKS = 2;
const PACKETS_AFTER_SEEK = 20;
/** The largest value of FLAC's 20 bits. */
const RATE_HZ_MAX = 2 ** 20;
const SEGMENTS_READ_MAX = 200;
const MEMORY_BYTES_MAX = 64 * 2 ** 20;
const FRAME_SAMPLES = 960;

export async function tryFile(container: Container, seed: number): Promise<FuzzResult> {
  const { bytes, changes } = generateFile(container, seed);
  const startedMs = performance.now();
  const fuzzRun = new FuzzRun(bytes, seed);
  const isText = container === "hls" || container === "playlist";
  const outcome = await fuzzRun.guard(async () => (isText ? fuzzRun.readList(container) : fuzzRun.play()));
  const { problems, packets, source } = fuzzRun;
  const tookMs = performance.now() - startedMs;
  const { stretchCountMax } = source;
  return { container, seed, problems, outcome, changes, sizeBytes: bytes.length, packets, tookMs, stretchCountMax };
}

class FuzzRun {
  readonly problems: string[] = [];
  readonly source: FuzzSource;
  packets = 0;
  readonly #budget = new TrackBudget({
    clock: systemClock,
    slicer: new TimeSlicer(),
    createMemory: () => new ByteBudget({ owner: "the track", limitBytes: MEMORY_BYTES_MAX }),
    heartbeat: new Heartbeat(Heartbeat.allocate()),
    taskId: 1,
    owner: [],
    activity: "read",
  });
  readonly #bytes: Uint8Array;
  readonly #random: () => number;

  constructor(bytes: Uint8Array, seed: number) {
    this.#bytes = bytes;
    this.#random = seededRandom(seed + 1);
    const isRandomAccess = this.#random() < 0.6;
    this.source = new FuzzSource(bytes, {
      isRandomAccess,
      isSizeKnown: isRandomAccess || this.#random() < 0.5,
      readAheadBytes: Math.floor(this.#random() ** 3 * 100_000),
      readCountMax: READS_MAX + READS_PER_BYTE_MAX * bytes.length,
    });
  }

  /** The outcome of `work`; anything thrown other than a NodeError is a problem. */
  async guard(work: () => Promise<unknown>): Promise<string> {
    try {
      await work();
      return "plays";
    } catch (error) {
      if (error instanceof NodeError && isReportable(error)) return error.code;
      // A WebAssembly decoder that accesses memory out of bounds: the error ends its track, and only that.
      if (error instanceof Error && error.name === "RuntimeError") return "trapped";
      const cause = error instanceof NodeError ? error.cause : error;
      this.problems.push(`threw ${cause instanceof Error ? (cause.stack ?? String(cause)) : cause}`);
      return "threw";
    }
  }

  async readList(container: Container): Promise<void> {
    const url = new URL("http://127.0.0.1:1/folder/index.m3u8");
    if (container === "hls") return this.#readHls(url);
    const format = playlistFormatOf(this.#bytes);
    if (format === undefined || format === "hls") return;
    firstLink(this.#bytes, format, { kind: "http", url: url.href, container: undefined });
  }

  async #readHls(url: URL): Promise<void> {
    const { memory } = this.#budget;
    const data = new ByteWindow(memory);
    data.append(this.#bytes);
    const list = await readHlsPlaylist(data, url, this.#budget);
    if (list.kind === "master") return;
    for (let sequence = list.firstSequence; ; this.packets += 1) {
      const segment = await list.segmentFrom(sequence);
      if (segment === undefined || this.packets > SEGMENTS_READ_MAX) break;
      const isSane = segment.durationMs >= 0 && Number.isFinite(segment.startMs) && segment.sequence >= sequence;
      if (!isSane) this.#reportProblem("a segment without a plausible time");
      sequence = segment.sequence + 1;
    }
    await list.sequenceAt(this.#random() * list.endMs);
  }

  async play(): Promise<void> {
    const isLengthNeeded = this.#random() < 0.5;
    const demuxer = await openDemuxer(this.source, { isLengthNeeded }, this.#budget);
    let audio: AudioReader | undefined;
    try {
      audio = await AudioReader.open(demuxer.stream, this.#budget);
      await this.#readAll(demuxer, audio);
      for (let count = 0; count < SEEKS && demuxer.isSeekable; count++) await this.#seek(demuxer, audio);
      await audio.finish();
    } finally {
      audio?.close();
      demuxer.close();
    }
    if (!this.source.isClosed) this.problems.push("the source was left open");
    const bytesMax = BYTES_MAX + BYTES_PER_BYTE_MAX * this.#bytes.length;
    if (this.source.readBytes > bytesMax)
      this.problems.push(`${this.source.readBytes} bytes read of ${this.#bytes.length}`);
  }

  async #readAll(demuxer: Demuxer, audio: AudioReader): Promise<void> {
    const packetsMax = 1000 + PACKETS_PER_BYTE_MAX * this.#bytes.length;
    for (;;) {
      const packet = await demuxer.next();
      if (packet === undefined) return;
      this.packets += 1;
      if (this.packets > packetsMax) {
        this.problems.push(`more than ${packetsMax} packets of ${this.#bytes.length} bytes`);
        return;
      }
      this.#check(packet, demuxer.stream);
      if (this.packets <= DECODED_PACKETS_MAX) await audio.push(packet, demuxer.stream);
    }
  }

  async #seek(demuxer: Demuxer, audio: AudioReader): Promise<void> {
    const lengthMs = demuxer.info.lengthMs ?? 60_000;
    const positionMs = this.#random() * lengthMs * 1.1;
    await demuxer.seek(positionMs);
    audio.jumpTo(positionMs);
    for (let count = 0; count < PACKETS_AFTER_SEEK; count++) {
      const packet = await demuxer.next();
      if (packet === undefined) return;
      this.#check(packet, demuxer.stream);
      await audio.push(packet, demuxer.stream);
    }
  }

  #check({ data, timestampMs, durationMs, trimEndSamples }: Packet, stream: AudioStream): void {
    const { sampleRateHz, channelCount } = stream;
    if (!(data instanceof Uint8Array) || data.length > this.#bytes.length)
      this.#reportProblem("a packet of more than its file");
    if (!Number.isFinite(timestampMs)) this.#reportProblem(`a packet at ${timestampMs} ms`);
    if (!(durationMs >= 0 && Number.isFinite(durationMs))) this.#reportProblem(`a packet of ${durationMs} ms`);
    if (!(trimEndSamples >= 0)) this.#reportProblem(`${trimEndSamples} samples to be trimmed`);
    if (!(sampleRateHz > 0 && sampleRateHz <= RATE_HZ_MAX)) this.#reportProblem(`a stream at ${sampleRateHz} Hz`);
    if (!(channelCount >= 1 && channelCount <= 255)) this.#reportProblem(`a stream of ${channelCount} channels`);
  }

  #reportProblem(problem: string): void {
    if (!this.problems.includes(problem)) this.problems.push(problem);
  }
}

/** Decoder, resampler and mixer of the current stream, asked for audio as a player asks. */
class AudioReader {
  readonly #song: TrackDecoder;
  readonly #queue: QueuedPacket[] = [];
  readonly #left = new Float32Array(FRAME_SAMPLES);
  readonly #right = new Float32Array(FRAME_SAMPLES);
  #failure: { readonly error: unknown } | undefined;
  #isFinished = false;

  private constructor(decoder: Decoder, stream: AudioStream, budget: TrackBudget) {
    this.#song = new TrackDecoder({
      decoder,
      stream,
      createDecoder,
      budget,
      onProgress: () => undefined,
      onStream: () => undefined,
      onFailure: (error) => {
        this.#failure ??= { error };
      },
    });
    this.#song.startAt(0);
  }

  static async open(stream: AudioStream, budget: TrackBudget): Promise<AudioReader> {
    return new AudioReader(await createDecoder(stream), stream, budget);
  }

  async push(packet: Packet, stream: AudioStream): Promise<void> {
    this.#queue.push({ packet, stream });
    await this.#play();
  }

  jumpTo(positionMs: number): void {
    this.#queue.length = 0;
    this.#song.jumpTo(positionMs);
  }

  async finish(): Promise<void> {
    this.#isFinished = true;
    await this.#play();
  }

  close(): void {
    this.#song.close();
  }

  /** Reads all audio. */
  async #play(): Promise<void> {
    const supply = { take: () => this.#queue.shift(), isFinished: this.#isFinished };
    do {
      this.#song.fill(supply);
      while (this.#song.fifo.lengthSamples > 0) this.#song.fifo.readInto(this.#left, this.#right, FRAME_SAMPLES);
      if (this.#song.isWaiting) await new Promise((next) => setImmediate(next));
      if (this.#failure !== undefined) throw this.#failure.error;
    } while (this.#queue.length > 0 || this.#song.isWaiting || (this.#isFinished && !this.#song.isFlushed));
  }
}

/** True unless the error only wraps an unexpected exception. */
function isReportable(error: NodeError): boolean {
  return (
    error.code !== "internal" &&
    !(error.cause instanceof RangeError && /stack|array length|Invalid typed/.test(error.cause.message))
  );
}
