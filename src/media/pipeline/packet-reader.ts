// Reads one track's packets ahead of playback: opens the input, fills the packet queue in bursts, seeks. All waiting
// for the network happens here, outside the tick; the pipeline only takes packets from the queue. Audio thread.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Demuxer } from "../demux/demuxer.ts";
import { FRAME_MS, FRAME_SAMPLES, SAMPLES_PER_MS } from "../format/audio-format.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import { InputReplacedError, type TrackLink } from "../input/track-link.ts";
import { OPUS_PACKET_BYTES_MAX, OpusRepacketizer } from "../opus/opus-packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { PacketQueue } from "./packet-queue.ts";
import { ReplacementStream } from "./replacement-stream.ts";
import type { TrackTally } from "./track-tally.ts";

/** A seek that waits this long for a stalled read drops the connection and opens the track again at the target. */
const SEEK_PATIENCE_MS = 400;
/** The shortest packets of any format are 16 samples long. */
const PACKETS_PER_MS_MAX = 16;
/** Packets in a row that may hold no audio, as where a file is damaged. */
const SILENT_PACKETS_MAX = 4096;
/** Limit of replacements of a plugin's track in a row, each before this much more of it was read. */
const REPLACEMENTS_MAX = 3;
const REPLACEMENT_GAIN_MS = 1_000;
/** Audio before the position where other bytes take over, to warm up the decoder: ten frames of MP3. */
const WARM_UP_MS = 270;
/** Times that are closer are the same. */
const SAME_MOMENT_MS = 0.5;

/** Opens an input up to its first packet; rejects with a NodeError that gives the reason. */
type OpenTrack = (
  input: PlayableInput,
  work: {
    readonly signal: AbortSignal;
    readonly budget: TrackBudget;
    readonly lengthMs: number | undefined;
    /** See OpeningWork of probe/track-opener.ts. */
    readonly link?: TrackLink | undefined;
    readonly onReplaced?: ((link: TrackLink) => void) | undefined;
  },
) => Promise<Demuxer>;

export interface PacketReaderOptions {
  readonly input: PlayableInput;
  /** The first audible position; 0 or more. */
  readonly startMs: number;
  /** The track's length as reported to the client, for containers that do not declare it; undefined for streams. */
  readonly lengthMs: number | undefined;
  /** Called once at the start, and again when a seek does not get through to a stalled input. */
  readonly open: OpenTrack;
  /** The track's time and memory outside the tick; released as a whole by `close`. */
  readonly budget: TrackBudget;
  /** Default: nobody asks. */
  readonly tally?: TrackTally | undefined;
  /** Packets have arrived, the end was reached, or a seek has landed (then `seekTargetMs` is undefined again). */
  readonly onProgress: () => void;
  /** Reading has failed for good; queued packets may still be played. Called at most once. */
  readonly onFailure: (error: unknown) => void;
}

export class PacketReader {
  readonly queue = new PacketQueue();
  readonly #options: PacketReaderOptions;
  readonly #repacketizer = new OpusRepacketizer();
  readonly #abort = new AbortController();
  #demuxer: Demuxer | undefined;
  /** Stream of the last packet read. */
  #stream: AudioStream | undefined;
  /** Increases with each demuxer that is given up, so that its late answers are dropped. */
  #generation = 0;
  #seekTargetMs: number | undefined;
  /** Runs while a seek waits for a read in progress. */
  #patience: Timer | undefined;
  #landedMs: number;
  #runNumber = 0;
  #isReading = false;
  #isAtEnd = false;
  /** End of the packet read last; undefined right after a seek. */
  #readUntilMs: number | undefined;
  /** Highest `#readUntilMs` of this run, and the number of packets that came too close for it. */
  #reachedMs = Number.NEGATIVE_INFINITY;
  #silentPackets = 0;
  #hasFailed = false;
  /** Replaces the demuxer when it is ready. */
  #replacement: ReplacementStream | undefined;
  #replacementCount = 0;
  /** The reading position when the last replacement was opened. */
  #replacementAtMs = Number.NEGATIVE_INFINITY;
  /** Where its packets start to be new. */
  #joinMs: number | undefined;

  constructor(options: PacketReaderOptions) {
    this.#options = options;
    this.#landedMs = Math.max(0, options.startMs);
    if (this.#landedMs > 0) this.#seekTargetMs = this.#landedMs;
    this.#start();
  }

  /** The first audible position of the current run of packets: packets or samples before it are only pre-roll. */
  get landedMs(): number {
    return this.#landedMs;
  }

  /** Increases with each seek that has landed: packets queued now do not continue earlier ones. */
  get runNumber(): number {
    return this.#runNumber;
  }

  /** The target of a seek that has not landed yet. */
  get seekTargetMs(): number | undefined {
    return this.#seekTargetMs;
  }

  /**
   * Where the track ends: from its container, or once everything has been read, from its packets; undefined without an
   * end.
   */
  get lengthMs(): number | undefined {
    const reportedMs = this.#demuxer?.info.lengthMs ?? this.#options.lengthMs;
    return reportedMs !== undefined && this.#isAtEnd ? (this.#readUntilMs ?? reportedMs) : reportedMs;
  }

  /** How far the run has been read; before its first packet, its start. */
  get readUntilMs(): number {
    return this.#reachedMs === Number.NEGATIVE_INFINITY ? this.#landedMs : this.#reachedMs;
  }

  /** No more packets will come (end of track or failure). */
  get isFinished(): boolean {
    return (this.#isAtEnd || this.#hasFailed) && this.#seekTargetMs === undefined;
  }

  /** Continues reading when there is space; called by the pipeline after it took packets. */
  wake(): void {
    if (this.#isReading || this.#hasFailed || this.#abort.signal.aborted || this.#demuxer === undefined) return;
    if (this.#seekTargetMs === undefined && (this.#isAtEnd || !this.queue.isLow)) return;
    void this.#read(this.#generation);
  }

  /** Seeks. The queue keeps the old packets until the new ones arrive. A stream that cannot seek ignores it. */
  seek(positionMs: number): void {
    if (this.#demuxer?.isSeekable === false || this.#hasFailed) return;
    const targetMs = Math.max(0, positionMs);
    this.#seekTargetMs = targetMs;
    if (!this.#isReading) {
      this.wake();
      return;
    }
    const generation = this.#generation;
    this.#patience?.cancel();
    this.#patience = this.#options.budget.clock.after(SEEK_PATIENCE_MS, () => {
      const isStillWaiting = this.#isReading && this.#seekTargetMs === targetMs && this.#generation === generation;
      if (isStillWaiting && this.#demuxer !== undefined && !this.#abort.signal.aborted) this.#start();
    });
  }

  /** The track is over: releases its memory. */
  close(): void {
    this.#abort.abort();
    this.#patience?.cancel();
    this.#generation += 1;
    this.#demuxer?.close();
    this.#replacement?.close();
    this.queue.clear();
    this.#options.budget.memory.releaseAll();
  }

  /** Opens the input (again) and goes to the seek target, if any. */
  #start(): void {
    this.#demuxer?.close();
    this.#demuxer = undefined;
    this.#replacement?.close();
    this.#replacement = undefined;
    const generation = ++this.#generation;
    this.#isReading = true;
    const { budget } = this.#options;
    this.#open(undefined, generation).then(
      (demuxer) => {
        if (generation !== this.#generation) {
          demuxer.close();
          return;
        }
        this.#demuxer = demuxer;
        if (!demuxer.isSeekable) this.#seekTargetMs = undefined;
        if (!demuxer.isSeekable) this.#landedMs = 0;
        void this.#read(generation);
      },
      (error: unknown) => {
        budget.pause();
        this.#fail(error, generation);
      },
    );
  }

  #open(link: TrackLink | undefined, generation: number): Promise<Demuxer> {
    const { input, budget, lengthMs, open } = this.#options;
    const onReplaced = (other: TrackLink): void => this.#onReplaced(other, generation);
    return open(input, { signal: this.#abort.signal, budget, lengthMs, link, onReplaced });
  }

  /** One burst, in its own time slice: the pending seek, then packets until the queue is full. */
  async #read(generation: number): Promise<void> {
    this.#isReading = true;
    const { budget } = this.#options;
    try {
      await budget.yield();
      let isThrough = false;
      while (!isThrough && generation === this.#generation) isThrough = await this.#readOrWait(generation);
      budget.pause();
      if (generation !== this.#generation) return;
      this.#isReading = false;
      this.#options.onProgress();
    } catch (error) {
      budget.pause();
      this.#fail(error, generation);
    }
  }

  /** False: the bytes have been replaced, and reading can continue in the new ones. */
  async #readOrWait(generation: number): Promise<boolean> {
    try {
      await this.#readOn(generation);
      return true;
    } catch (error) {
      if (!(error instanceof InputReplacedError) || generation !== this.#generation) throw error;
      // Some sources notice it only here.
      this.#onReplaced(error.link, generation);
      const replacement = this.#replacement;
      if (replacement === undefined) throw error;
      const { budget } = this.#options;
      budget.pause();
      await budget.upstream.await(replacement.ready);
      if (!replacement.isReady && generation === this.#generation) throw error;
      return false;
    }
  }

  /** Also ends when the demuxer is given up in the meantime. */
  async #readOn(generation: number): Promise<void> {
    const { budget } = this.#options;
    let demuxer: Demuxer | undefined;
    let soughtMs: number | undefined;
    for (;;) {
      if (budget.isSpent) await budget.yield();
      if (this.#replacement?.isReady === true) await this.#useReplacement(this.#replacement, generation);
      if (generation !== this.#generation || this.#demuxer === undefined) return;
      if (demuxer !== this.#demuxer) soughtMs = undefined;
      demuxer = this.#demuxer;
      const targetMs = this.#seekTargetMs;
      if (targetMs !== soughtMs && targetMs !== undefined) {
        await demuxer.seek(targetMs);
        soughtMs = targetMs;
        continue;
      }
      if (targetMs === undefined && this.queue.isFull) return;
      const packet = await demuxer.next();
      if (generation !== this.#generation) return;
      if (this.#seekTargetMs !== targetMs) continue;
      if (targetMs !== undefined) {
        this.#land(targetMs);
        soughtMs = undefined;
      }
      if (packet === undefined) {
        this.#isAtEnd = true;
        this.#replacement?.close();
        this.#replacement = undefined;
        return;
      }
      this.#options.tally?.onRead(packet, demuxer.stream.codec);
      this.#count(packet);
      this.#push(packet, demuxer.stream);
      // The first packets start the music: notify the pipeline at once, about later ones in bursts.
      if (this.queue.length <= 2) this.#options.onProgress();
    }
  }

  /** The bytes end, and the link leads to others: those are opened while the buffered ones play on. */
  #onReplaced(link: TrackLink, generation: number): void {
    if (generation !== this.#generation || this.#abort.signal.aborted || this.#replacement !== undefined) return;
    // An unseekable input fails once it is read to its end; so does one that is replaced again and again.
    if (this.#demuxer?.isSeekable !== true) return;
    const { budget } = this.#options;
    const positionMs = this.#seekTargetMs ?? this.readUntilMs;
    const hasGained = this.readUntilMs >= this.#replacementAtMs + REPLACEMENT_GAIN_MS;
    this.#replacementCount = hasGained ? 1 : this.#replacementCount + 1;
    if (this.#replacementCount > REPLACEMENTS_MAX) return;
    this.#replacementAtMs = this.readUntilMs;
    this.#replacement = new ReplacementStream(this.#open(link, generation), positionMs, budget);
    budget.upstream.countReopened();
  }

  async #useReplacement(replacement: ReplacementStream, generation: number): Promise<void> {
    const positionMs = this.#seekTargetMs ?? this.readUntilMs;
    this.#replacement = undefined;
    const demuxer = await replacement.take(positionMs);
    if (generation !== this.#generation) return demuxer?.close();
    if (demuxer === undefined) return;
    this.#demuxer?.close();
    this.#demuxer = demuxer;
    this.#joinMs = positionMs;
    this.#isAtEnd = false;
  }

  /** Packets without a duration never fill a second: if they do not end, the track does. */
  #count({ timestampMs, durationMs }: Packet): void {
    this.#readUntilMs = timestampMs + durationMs;
    const gainedMs = Math.max(durationMs, this.#readUntilMs - this.#reachedMs);
    this.#reachedMs = Math.max(this.#reachedMs, this.#readUntilMs);
    this.#silentPackets = Math.max(0, this.#silentPackets + 1 - PACKETS_PER_MS_MAX * gainedMs);
    if (this.#silentPackets <= SILENT_PACKETS_MAX) return;
    throw new NodeError("media-damaged", "the media cannot be played: its packets hold no audio");
  }

  /** Opus packets of other lengths than 20 ms are regrouped if this is lossless, so that they can be passed through. */
  #push(packet: Packet, stream: AudioStream): void {
    if (stream !== this.#stream) {
      // Frames that wait for the rest of their 20 ms belong to the earlier packets.
      this.#repacketizer.reset();
      this.#stream = stream;
    }
    const fromMs = this.#repeatedUntilMs(packet);
    if (fromMs !== undefined && packet.timestampMs + packet.durationMs < fromMs - WARM_UP_MS) return;
    const isOpus = stream.codec === "opus" && stream.channelCount <= 2;
    if (isOpus && packet.data.length > OPUS_PACKET_BYTES_MAX) return;
    const pendingMs = isOpus ? this.#repacketizer.pendingSamples / SAMPLES_PER_MS : 0;
    const groups = isOpus ? this.#repacketizer.push(packet.data) : undefined;
    if (groups === undefined || (groups.length === 1 && groups[0] === packet.data)) {
      this.queue.push({ packet, stream, fromMs });
      return;
    }
    groups.forEach((data, index) => {
      const timestampMs = packet.timestampMs - pendingMs + index * FRAME_MS;
      const behindSamples = (groups.length - 1 - index) * FRAME_SAMPLES + this.#repacketizer.pendingSamples;
      const trimEndSamples = Math.max(0, packet.trimEndSamples - behindSamples);
      // End padding of long packets is more than one group: it must not be played.
      if (trimEndSamples >= FRAME_SAMPLES) return;
      this.queue.push({ packet: { data, timestampMs, durationMs: FRAME_MS, trimEndSamples }, stream, fromMs });
    });
  }

  /** For packets of new bytes that begin in the part already read: where that part ends. */
  #repeatedUntilMs({ timestampMs }: Packet): number | undefined {
    if (this.#joinMs !== undefined && timestampMs >= this.#joinMs - SAME_MOMENT_MS) this.#joinMs = undefined;
    return this.#joinMs;
  }

  /**
   * The first packet of the new position has arrived: only now the old ones are dropped, so a slow seek leaves no gap.
   */
  #land(positionMs: number): void {
    this.queue.clear();
    this.#repacketizer.reset();
    this.#isAtEnd = false;
    this.#readUntilMs = undefined;
    this.#reachedMs = Number.NEGATIVE_INFINITY;
    this.#joinMs = undefined;
    this.#landedMs = positionMs;
    this.#runNumber += 1;
    this.#seekTargetMs = undefined;
  }

  #fail(error: unknown, generation: number): void {
    if (generation !== this.#generation || this.#abort.signal.aborted) return;
    this.#isReading = false;
    this.#hasFailed = true;
    this.#seekTargetMs = undefined;
    this.#demuxer?.close();
    this.#replacement?.close();
    this.#options.onFailure(
      error instanceof NodeError ? error : new NodeError("internal", "reading the track failed", { cause: error }),
    );
    this.#options.onProgress();
  }
}
