// Reads one track's packets ahead of playback: opens the input, fills the packet queue in bursts, seeks. All waiting
// for the network happens here, outside the tick; the pipeline only takes packets from the queue. Audio thread.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import type { Timer } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { Demuxer, FrameRecorder, StationTimes } from "../demux/demuxer.ts";
import { FRAME_MS, FRAME_SAMPLES, SAMPLES_PER_MS } from "../format/audio-format.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import { InputReplacedError, type TrackLink } from "../input/track-link.ts";
import { OPUS_PACKET_BYTES_MAX, OpusRepacketizer } from "../opus/opus-packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { DECODER_WARM_UP_MS, PacketQueue } from "./packet-queue.ts";
import { type Jump, PreparedJump } from "./prepared-jump.ts";
import { ReplacementStream } from "./replacement-stream.ts";
import type { TrackTally } from "./track-tally.ts";

/** A seek that waits this long for a stalled read drops the connection and opens the track again where it is to go. */
const SEEK_PATIENCE_MS = 400;
/** So long, and SEEK_PATIENCE_MS once nothing is left to be played, the target of a jump may take. */
const TARGET_PATIENCE_MS = 4_000;
/** The shortest packets of any format are 16 samples long. */
const PACKETS_PER_MS_MAX = 16;
/** Packets in a row that may hold no audio, as where a file is damaged. */
const SILENT_PACKETS_MAX = 4096;
/** Targets of jumps that are remembered because they could not be read. */
const UNREADABLE_MAX = 8;
/** Limit of replacements of a plugin's track in a row, each before this much more of it was read. */
const REPLACEMENTS_MAX = 3;
const REPLACEMENT_GAIN_MS = 1_000;
/** Times that are closer are the same. */
const SAME_MOMENT_MS = 0.5;

/** Opens an input up to its first packet; rejects with a NodeError that gives the reason. */
type OpenTrack = (
  input: PlayableInput,
  work: {
    readonly signal: AbortSignal;
    readonly budget: TrackBudget;
    readonly lengthMs: number | undefined;
    /** See OpeningWork of probe/track-opener.ts, all. */
    readonly isUnchanged: boolean;
    readonly isWhole: boolean;
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
  /** It begins without filters and at full volume. Default false. */
  readonly isUnchanged?: boolean | undefined;
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
  /** A jump is not made, because its target cannot be read. Default: nobody asks. */
  readonly onJumpGivenUp?: ((jump: Jump, reason: string) => void) | undefined;
}

export class PacketReader {
  #queue = new PacketQueue();
  readonly #options: PacketReaderOptions;
  readonly #repacketizer = new OpusRepacketizer();
  readonly #abort = new AbortController();
  #demuxer: Demuxer | undefined;
  /** Stream of the last packet read. */
  #stream: AudioStream | undefined;
  /** Increases with each demuxer that is given up, so that its late answers are dropped. */
  #generation = 0;
  #seekTargetMs: number | undefined;
  /** Runs while a seek waits for a read in progress, or listeners for the target of a jump. */
  #patience: Timer | undefined;
  #landedMs: number;
  #runNumber = 0;
  /** Asked for each frame, which a signal is slow for. */
  #isClosed = false;
  #isReading = false;
  #isAtEnd = false;
  /** Where the packets end, once that was seen; a later seek back does not forget it. */
  #endMs: number | undefined;
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
  /** The next jump, which is prepared when it is near. */
  #jump: PreparedJump | undefined;
  /** Targets that could not be read since the last seek: the newest. */
  readonly #unreadableMs: number[] = [];
  /** The demuxer was sent to the target of a jump, which has not been made, and nowhere else since. */
  #isAtTarget = false;
  /** A jump was given up after the reader had gone to its target: it returns to where it had come. */
  #returnMs: number | undefined;
  /** Packets before it were read before that. */
  #knownUntilMs: number | undefined;

  constructor(options: PacketReaderOptions) {
    this.#options = options;
    this.#landedMs = Math.max(0, options.startMs);
    if (this.#landedMs > 0) this.#seekTargetMs = this.#landedMs;
    this.#start();
  }

  /** The packets of the current run. */
  get queue(): PacketQueue {
    return this.#queue;
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
   * Where the track ends: from its container, or once its end has been read, from its packets; undefined without an
   * end.
   */
  get lengthMs(): number | undefined {
    const reportedMs = this.#demuxer?.info.lengthMs ?? this.#options.lengthMs;
    return reportedMs === undefined ? undefined : (this.#endMs ?? reportedMs);
  }

  /** How far the run, or that behind a prepared jump, has been read; before its first packet, its start. */
  get readUntilMs(): number {
    if (this.#reachedMs !== Number.NEGATIVE_INFINITY) return this.#reachedMs;
    return this.#isAhead ? (this.#jump?.jump.toMs ?? this.#landedMs) : this.#landedMs;
  }

  /** See Demuxer; undefined once the packets are read from another one. */
  get recorder(): FrameRecorder | undefined {
    return this.#demuxer?.recorder;
  }

  /** See Demuxer. */
  get station(): StationTimes | undefined {
    return this.#demuxer?.station;
  }

  /** No more packets will come (end of track or failure), unless a jump leads to others. */
  get isFinished(): boolean {
    return this.#hasReadAll && this.#seekTargetMs === undefined && !this.#isAhead;
  }

  /** Continues reading when there is space; called by the pipeline after it took packets. */
  wake(): void {
    if (this.#queue.length === 0) this.#awaitTarget();
    if (this.#isReading || this.#hasFailed || this.#isClosed || this.#demuxer === undefined) return;
    if (this.#seekTargetMs === undefined && !this.#mustTurn && (this.#isAtEnd || !this.#isLow)) return;
    void this.#read(this.#generation);
  }

  /**
   * The next jump, or none; replaces the last one. Its target is read before it is due. A stream that cannot seek
   * ignores it, and a seek gives it up.
   */
  prepareJump(jump: Jump | undefined): void {
    if (this.#jump === undefined ? jump === undefined : this.#jump.isFor(jump)) return;
    const leftAtMs = this.#jump?.leftAtMs;
    this.#jump = jump && new PreparedJump(jump);
    if (leftAtMs !== undefined) {
      this.#returnTo(leftAtMs);
      if (this.#isReading) this.#limitWait(() => this.#returnMs === leftAtMs);
    }
    this.wake();
  }

  /** The target of this jump could not be read: it is not to be prepared again before a seek. */
  isImpossible({ toMs }: Jump): boolean {
    return this.#unreadableMs.includes(toMs);
  }

  /** The target of the next jump has been read. */
  get isJumpReady(): boolean {
    return this.#jump?.isReady(this.#reachedMs, this.#hasReadAll) ?? false;
  }

  /** Jumps when `isJumpReady`: a new run begins with the packets of the target. */
  jump(): void {
    const prepared = this.#jump;
    if (prepared === undefined || !this.isJumpReady) return;
    this.#jump = undefined;
    this.#isAtTarget = false;
    this.#queue = prepared.queue;
    this.#landedMs = prepared.jump.toMs;
    this.#runNumber += 1;
  }

  get #hasReadAll(): boolean {
    return this.#isAtEnd || this.#hasFailed;
  }

  /** The reader is at the target of a jump. */
  get #isAhead(): boolean {
    return this.#jump?.leftAtMs !== undefined;
  }

  /** Where packets go. */
  get #filling(): PacketQueue {
    return this.#isAhead && this.#jump !== undefined ? this.#jump.queue : this.#queue;
  }

  get #isNearJump(): boolean {
    return this.#jump?.isNear(this.readUntilMs) === true && this.#demuxer?.isSeekable === true;
  }

  get #isLow(): boolean {
    return this.#isNearJump ? this.#queue.hasSpace : this.#filling.isLow;
  }

  get #isFull(): boolean {
    return this.#isNearJump ? !this.#queue.hasSpace : this.#filling.isFull;
  }

  /** Reading goes on elsewhere: at the target of the jump, or where it was before a jump that was given up. */
  get #mustTurn(): boolean {
    if (this.#demuxer?.isSeekable !== true) return false;
    return this.#returnMs !== undefined || this.#jump?.isNext(this.readUntilMs, this.#isAtEnd) === true;
  }

  /** Seeks. The queue keeps the old packets until the new ones arrive. A stream that cannot seek ignores it. */
  seek(positionMs: number): void {
    if (this.#demuxer?.isSeekable === false || this.#hasFailed) return;
    const targetMs = Math.max(0, positionMs);
    this.#seekTargetMs = targetMs;
    this.#forgetJump();
    if (!this.#isReading) {
      this.wake();
      return;
    }
    this.#limitWait(() => this.#seekTargetMs === targetMs);
  }

  /** Opens the track again if this is still true, and a read in progress, when the patience is over. */
  #limitWait(isWaiting: () => boolean, patienceMs = SEEK_PATIENCE_MS): void {
    const generation = this.#generation;
    this.#patience?.cancel();
    this.#patience = this.#options.budget.clock.after(patienceMs, () => {
      if (!this.#isReading || this.#generation !== generation || this.#isClosed) return;
      if (this.#demuxer !== undefined && isWaiting()) this.#start();
    });
  }

  /** Nothing is left to be played before the jump: its target must be ready soon. */
  #awaitTarget(): void {
    const prepared = this.#jump;
    if (prepared === undefined || prepared.isAwaited || !this.#isAhead || this.isJumpReady) return;
    prepared.isAwaited = true;
    const waitedMs = this.#options.budget.clock.now() - prepared.soughtAtMs;
    const patienceMs = Math.max(SEEK_PATIENCE_MS, TARGET_PATIENCE_MS - waitedMs);
    const reason = `it was waited for ${Math.round(waitedMs + patienceMs)} ms`;
    this.#limitWait(() => this.#jump === prepared && this.#giveUpTarget(reason), patienceMs);
  }

  /** The target of the jump cannot be read: the track is to be opened again where it was left. False: no jump is due. */
  #giveUpTarget(reason: string): boolean {
    const { jump, leftAtMs } = this.#jump ?? {};
    if (jump === undefined || leftAtMs === undefined || this.isJumpReady) return false;
    this.#jump = undefined;
    this.#unreadableMs.push(jump.toMs);
    if (this.#unreadableMs.length > UNREADABLE_MAX) this.#unreadableMs.shift();
    this.#returnTo(leftAtMs);
    this.#options.onJumpGivenUp?.(jump, reason);
    return true;
  }

  #returnTo(readUntilMs: number): void {
    this.#returnMs = readUntilMs;
    this.#startReadingAt(readUntilMs);
  }

  /** The track is over: releases its memory. */
  close(): void {
    this.#isClosed = true;
    this.#abort.abort();
    this.#patience?.cancel();
    this.#generation += 1;
    this.#demuxer?.close();
    this.#replacement?.close();
    this.#queue.clear();
    this.#forgetJump();
    if (this.#demuxer?.keepsBudget?.() !== true) this.#options.budget.memory.releaseAll();
  }

  /** Opens the input (again) and goes to the seek target, if any. */
  #start(): void {
    this.#demuxer?.close();
    this.#demuxer = undefined;
    this.#replacement?.close();
    this.#replacement = undefined;
    this.#isAtTarget = false;
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
        if (!demuxer.isSeekable) this.#readFromStart();
        void this.#read(generation);
      },
      (error: unknown) => {
        budget.pause();
        this.#fail(error, generation);
      },
    );
  }

  /** The input cannot seek. */
  #readFromStart(): void {
    this.#seekTargetMs = undefined;
    this.#knownUntilMs = this.#returnMs;
    if (this.#returnMs === undefined) this.#landedMs = 0;
    this.#returnMs = undefined;
  }

  #open(link: TrackLink | undefined, generation: number): Promise<Demuxer> {
    const { input, budget, lengthMs, isUnchanged = false, open } = this.#options;
    const onReplaced = (other: TrackLink): void => this.#onReplaced(other, generation);
    const isWhole = generation === 1 && this.#landedMs === 0;
    return open(input, { signal: this.#abort.signal, budget, lengthMs, isUnchanged, isWhole, link, onReplaced });
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
      if (generation !== this.#generation) throw error;
      if (!(error instanceof InputReplacedError)) {
        const isGivenUp = this.#isAtTarget && (this.#returnMs ?? this.#seekTargetMs) !== undefined;
        if (!isGivenUp && !this.#giveUpTarget(messageOf(error))) throw error;
        this.#start();
        return true;
      }
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
        this.#isAtTarget = false;
        await demuxer.seek(targetMs);
        soughtMs = targetMs;
        continue;
      }
      if (targetMs === undefined && this.#mustTurn) {
        await this.#turn(demuxer);
        continue;
      }
      if (targetMs === undefined && (this.#isAtEnd || this.#isFull)) return;
      const packet = demuxer.nextNow?.() ?? (await demuxer.next());
      if (generation !== this.#generation) return;
      if (this.#seekTargetMs !== targetMs || this.#returnMs !== undefined) continue;
      if (targetMs !== undefined) {
        this.#land(targetMs);
        soughtMs = undefined;
      }
      if (packet === undefined) {
        this.#isAtEnd = true;
        this.#endMs = this.#readUntilMs ?? this.#endMs;
        this.#replacement?.close();
        this.#replacement = undefined;
        continue;
      }
      if (this.#isKnown(packet)) continue;
      this.#options.tally?.onRead(packet, demuxer.stream.codec);
      const wasReady = this.isJumpReady;
      this.#count(packet);
      this.#push(packet, demuxer.stream);
      // The first packets start the music: notify the pipeline at once, about later ones in bursts.
      if (this.#queue.length <= 2 || this.isJumpReady !== wasReady) this.#options.onProgress();
    }
  }

  /** See `#mustTurn`. What is requested meanwhile comes next. */
  async #turn(demuxer: Demuxer): Promise<void> {
    const returnMs = this.#returnMs;
    if (returnMs !== undefined) {
      this.#isAtTarget = false;
      await demuxer.seek(returnMs);
      if (this.#demuxer !== demuxer || this.#returnMs !== returnMs) return;
      this.#returnMs = undefined;
      this.#knownUntilMs = returnMs;
      return;
    }
    const jump = this.#jump;
    if (jump === undefined) return;
    jump.leftAtMs = this.readUntilMs;
    jump.soughtAtMs = this.#options.budget.clock.now();
    this.#isAtTarget = true;
    this.#startReadingAt(undefined);
    await demuxer.seek(jump.jump.toMs);
  }

  /** `readUntilMs` undefined: a run begins there. */
  #startReadingAt(readUntilMs: number | undefined): void {
    this.#repacketizer.reset();
    this.#isAtEnd = false;
    this.#joinMs = undefined;
    this.#knownUntilMs = undefined;
    this.#readUntilMs = readUntilMs;
    this.#reachedMs = readUntilMs ?? Number.NEGATIVE_INFINITY;
  }

  #forgetJump(): void {
    this.#jump = undefined;
    this.#unreadableMs.length = 0;
    this.#returnMs = undefined;
    this.#knownUntilMs = undefined;
  }

  /** It was read before the reader went to the target of a jump and back. */
  #isKnown({ timestampMs }: Packet): boolean {
    if (this.#knownUntilMs === undefined) return false;
    if (timestampMs < this.#knownUntilMs - SAME_MOMENT_MS) return true;
    this.#knownUntilMs = undefined;
    return false;
  }

  /** The bytes end, and the link leads to others: those are opened while the buffered ones play on. */
  #onReplaced(link: TrackLink, generation: number): void {
    if (generation !== this.#generation || this.#isClosed || this.#replacement !== undefined) return;
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
    this.#demuxer?.recorder?.giveUp();
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
    if (this.#endMs !== undefined) this.#endMs = Math.max(this.#endMs, this.#readUntilMs);
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
    if (fromMs !== undefined && packet.timestampMs + packet.durationMs < fromMs - DECODER_WARM_UP_MS) return;
    const isOpus = stream.codec === "opus" && stream.channelCount <= 2;
    if (isOpus && packet.data.length > OPUS_PACKET_BYTES_MAX) return;
    const pendingMs = isOpus ? this.#repacketizer.pendingSamples / SAMPLES_PER_MS : 0;
    const groups = isOpus ? this.#repacketizer.push(packet.data) : undefined;
    if (groups === undefined || (groups.length === 1 && groups[0] === packet.data)) {
      this.#filling.push({ packet, stream, fromMs });
      return;
    }
    groups.forEach((data, index) => {
      const timestampMs = packet.timestampMs - pendingMs + index * FRAME_MS;
      const behindSamples = (groups.length - 1 - index) * FRAME_SAMPLES + this.#repacketizer.pendingSamples;
      const trimEndSamples = Math.max(0, packet.trimEndSamples - behindSamples);
      // End padding of long packets is more than one group: it must not be played.
      if (trimEndSamples >= FRAME_SAMPLES) return;
      this.#filling.push({ packet: { data, timestampMs, durationMs: FRAME_MS, trimEndSamples }, stream, fromMs });
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
    this.#queue.clear();
    this.#startReadingAt(undefined);
    this.#landedMs = positionMs;
    this.#runNumber += 1;
    this.#seekTargetMs = undefined;
  }

  #fail(error: unknown, generation: number): void {
    if (generation !== this.#generation || this.#isClosed) return;
    this.#isReading = false;
    this.#hasFailed = true;
    this.#seekTargetMs = undefined;
    if (this.#filling.length === 0) this.#forgetJump();
    this.#demuxer?.close();
    this.#replacement?.close();
    this.#options.onFailure(
      error instanceof NodeError ? error : new NodeError("internal", "reading the track failed", { cause: error }),
    );
    this.#options.onProgress();
  }
}
