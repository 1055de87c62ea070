// The chain of one playing track: packets from the reader, passed through unchanged while nothing changes the audio,
// otherwise transcoded. Switches between the two during a track, follows seeks, knows track time and the end. `produce`
// runs inside the tick: it never waits. Errors of decoder, filters or encoder end the track and nothing else. With
// pictures: docs/internals/effects.md. Audio thread.

import { VOLUME_DEFAULT } from "../../bridge/commands.ts";
import { activeFilterNames, type FilterSettings, moduleFiltersIn } from "../../filters/filter-settings.ts";
import { EffectChain } from "../effects/effect-chain.ts";
import type { Fade } from "../effects/fade-curve.ts";
import type { FilterDefinition } from "../effects/filters/filter-definition.ts";
import { FRAME_MS, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import type { AudioStream } from "../format/packet.ts";
import type { CodecSupply } from "./codecs.ts";
import { FrameSharing } from "./frame-sharing.ts";
import { endsTrack, JumpList } from "./jump-list.ts";
import { HISTORY_PACKETS } from "./packet-queue.ts";
import { PacketReader, type PacketReaderOptions } from "./packet-reader.ts";
import { type PacketSupply, packetSupplyOf } from "./packet-supply.ts";
import type { Jump } from "./prepared-jump.ts";
import type { FrameShares } from "./shared-frames.ts";
import { TrackTally } from "./track-tally.ts";
import { type AudioFrame, Transcoder, type TranscoderOptions } from "./transcoder.ts";
import { TranscoderSupply } from "./transcoder-supply.ts";

/** Options of one playback of a track. Times are track time in milliseconds. */
export interface PipelineOptions extends Omit<PacketReaderOptions, "isUnchanged" | "onProgress" | "onFailure"> {
  /** The end of the audible part; undefined, or not behind the start: the track's own end. */
  readonly endMs: number | undefined;
  readonly codecs: CodecSupply;
  /** Initial volume; see `setVolume` and `setFilters`. */
  readonly volume: number;
  readonly filters: FilterSettings;
  /** The filters of plugins. Default: none. */
  readonly pluginFilters?: (() => readonly FilterDefinition[]) | undefined;
  /** Where pipelines find others that make the same frames. Default: nowhere. */
  readonly shares?: FrameShares | undefined;
  /** Something can be produced that could not before, or the end was reached: try `produce` again. */
  readonly onProgress: () => void;
  /** The track cannot continue. Buffered audio can still be produced. At most once. */
  readonly onFailure: (error: unknown) => void;
}

/** Why `produce` returned nothing. */
type StallReason = "input" | "decoder";

/**
 * One per playback of a track; opening begins at once. All of it is called in the tick or upon `onProgress`, except
 * commands (`seek`, settings, `close`). Nothing in it throws: errors are reported to `onFailure`, and `isEnded` becomes
 * true when there is no more audio.
 */
export class Pipeline {
  readonly tally: TrackTally;
  readonly #options: PipelineOptions;
  readonly #reader: PacketReader;
  readonly #supply: PacketSupply;
  readonly #chain: EffectChain;
  /** The audible part of the track: the requested part, as far as the track goes. */
  readonly #span: { readonly startMs: number; endMs: number };
  #transcoder: Transcoder | undefined;
  readonly #transcoders: TranscoderSupply;
  readonly #sharing: FrameSharing;
  #runNumber = 0;
  #endMs: number | undefined;
  #jumps = new JumpList();
  /** The next of them, and whether the track ends there. */
  #jump: Jump | undefined;
  #isJumpEnd = false;
  #hasJumped = false;
  #positionMs: number;
  /** Frames of this run of packets, without the rewound ones. */
  #runFrames = 0;
  /** `positionMs` before each of the frames that could be rewound, oldest first. */
  readonly #startsMs: number[] = [];
  #hasFailed = false;
  /** Decoding has failed: queued packets cannot be played either. */
  #isBroken = false;
  #isClosed = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#chain = new EffectChain(options.pluginFilters);
    this.tally = options.tally ?? new TrackTally();
    this.#positionMs = Math.max(0, options.startMs);
    this.#endMs = options.endMs !== undefined && options.endMs > this.#positionMs ? options.endMs : undefined;
    this.#reader = new PacketReader({
      ...options,
      isUnchanged: isUnchanged(options),
      tally: this.tally,
      onProgress: () => this.#options.onProgress(),
      onFailure: (error) => this.#fail(error),
    });
    this.#supply = packetSupplyOf(this.#reader, () => this.hasLanded);
    this.#transcoders = new TranscoderSupply({
      codecs: options.codecs,
      budget: options.budget,
      create: (parts) => this.#createTranscoder(parts),
      onReady: () => {
        this.#sharing.onTranscoderReady();
        this.#options.onProgress();
      },
      onFailure: (error) => this.#break(error),
    });
    this.#sharing = this.#createSharing();
    this.#chain.setVolume(options.volume);
    this.#chain.setFilters(options.filters);
    this.#span = { startMs: options.startMs, endMs: Number.POSITIVE_INFINITY };
  }

  /** Track time at the end of the frame produced last. */
  get positionMs(): number {
    return this.#positionMs;
  }

  /** The target of a seek in progress. */
  get seekTargetMs(): number | undefined {
    return this.#reader.seekTargetMs;
  }

  /** Counts the seeks that have landed; `produce` works on the newest run. */
  get runNumber(): number {
    return this.#reader.runNumber;
  }

  /** The first audible position of the newest run. */
  get landedMs(): number {
    return this.#reader.landedMs;
  }

  /** A seek has landed, and nothing has been produced from the new position yet: the next frame starts there. */
  get hasLanded(): boolean {
    return this.#reader.runNumber !== this.#runNumber;
  }

  /** The newest run began with a jump: the frames produced before it are played to their end. */
  get hasJumped(): boolean {
    return this.#hasJumped && !this.hasLanded;
  }

  /** Where the next jump begins; undefined without one. */
  get nextJumpMs(): number | undefined {
    return this.#jump?.fromMs;
  }

  /**
   * True when the frames produced last would sound different now though no setting has changed since: a seek has
   * landed, or decoder and encoder have become ready for an earlier change. Until the next `produce`.
   */
  get isOutdated(): boolean {
    if (this.hasLanded || (this.#isPastJump && this.#reader.isJumpReady)) return true;
    if (this.#transcoders.ready === undefined || this.#startsMs.length === 0) return false;
    if (this.#sharing.isActive) return this.#sharing.isOutdated;
    // The start of fades was known before: the frame would be passed through again, and be outdated again.
    return this.#guard(() => !this.#chain.areSettingsNeutral) ?? false;
  }

  /**
   * How many of the frames produced last can be rewound, 0 to FRAMES_AHEAD_MAX: those made in one mode. Not those
   * before passthrough began or ended, before the run of a seek began, before audio was mixed (`render`, `encode`), and
   * before the bytes of the track were replaced.
   */
  get rewindFramesMax(): number {
    if (this.#isBroken || this.#isClosed) return 0;
    const countMax = this.#transcoder?.rewindFramesMax ?? FRAMES_AHEAD_MAX;
    return Math.min(Math.max(0, countMax - this.#sharing.framesAhead), this.#startsMs.length);
  }

  /**
   * The last `frameCount` frames (up to `rewindFramesMax`) have not been sent and never will be: `positionMs` is that
   * before them, and `produce` returns the same position again, with the settings of then. Settings may change before
   * or after this call; request fades after it.
   */
  rewind(frameCount: number): void {
    const count = Math.min(frameCount, this.rewindFramesMax);
    if (count <= 0) return;
    const first = this.#startsMs.length - count;
    this.#positionMs = this.#startsMs[first] ?? this.#positionMs;
    this.#startsMs.length = first;
    this.#runFrames -= count;
    if (this.#sharing.isActive) return;
    if (this.#transcoder === undefined) this.#rewindPackets(count);
    else this.#guard(() => this.#transcoder?.rewind(count));
  }

  /** True when no more frames will come. */
  get isEnded(): boolean {
    if (this.#reader.seekTargetMs !== undefined) return false;
    if (this.#endMs !== undefined && this.#positionMs >= this.#endMs) return true;
    if (this.#isBroken || (this.#isJumpEnd && this.#isJumpDue)) return true;
    if (this.#sharing.isActive) return this.#sharing.isEnded || (this.#hasFailed && this.#reader.queue.length === 0);
    if (this.#transcoder !== undefined) return this.#guard(() => this.#transcoder?.isDrained) ?? true;
    return this.#reader.isFinished && this.#reader.queue.length === 0 && !this.#transcoders.isPending;
  }

  /** The requested end, or a jump to it, and how far the newest run has been read (its start before the first packet), in track time. */
  get bounds(): { readonly endMs: number | undefined; readonly readUntilMs: number } {
    const jumpMs = this.#isJumpEnd ? this.nextJumpMs : undefined;
    const endMs = jumpMs === undefined ? this.#endMs : Math.min(jumpMs, this.#endMs ?? jumpMs);
    return { endMs, readUntilMs: this.#reader.readUntilMs };
  }

  /** The reason for an empty `produce`. */
  get stallReason(): StallReason {
    if (this.#sharing.isFollowing && this.#reader.queue.length > 0) return "decoder";
    const isDecoding = this.#transcoders.isPending || (this.#transcoder?.isWaiting ?? false);
    return isDecoding ? "decoder" : "input";
  }

  /** Audio that is read and neither decoded nor sent, milliseconds of track time. */
  get queuedMs(): number {
    return this.#reader.queue.durationMs;
  }

  /**
   * Moves to another position; the current audio plays on until the new position is ready. Streams that cannot seek
   * stay where they are.
   */
  seek(positionMs: number): void {
    this.#sharing.leave();
    this.#reader.seek(this.#jumps.landingOf(positionMs));
    if (this.#reader.seekTargetMs !== undefined) this.#jump = undefined;
    this.#isJumpEnd = false;
  }

  /**
   * Replaces all jumps. Each is made with the frame nearest to its start, by a 5 ms cross-fade and without a gap, or as
   * soon as its target is ready; one to the end of the track ends it. Where a seek leads into one, it is not made, and
   * where a seek leads to its very start, the seek leads behind it. Those before `heardMs`, where listeners are, are
   * not made; with `landingMs` they are in one, whose rest is jumped over at once.
   */
  setJumps(jumps: readonly Jump[], heardMs: number, landingMs = 0): void {
    this.#jumps = new JumpList(jumps);
    if (jumps.length > 0) this.#sharing.leave();
    if (this.#reader.seekTargetMs !== undefined || this.hasLanded || this.#isLateJump(heardMs)) return;
    // A jump that is made is not made again, though listeners have yet to hear it.
    const fromMs = this.#hasJumped ? Math.max(heardMs, this.#reader.landedMs) : heardMs;
    this.#planJump(fromMs, landingMs > fromMs ? { fromMs, toMs: landingMs } : undefined);
  }

  /** Takes effect at once; an end at or before the current position is ignored (protocol-v4.md section 2.8). */
  setEnd(endMs: number | undefined): void {
    const fromMs = this.#reader.seekTargetMs ?? this.#positionMs;
    this.#endMs = endMs !== undefined && endMs > fromMs ? endMs : undefined;
  }

  /** 0 to 1000, 100 leaves the audio unchanged; a change is a ramp of 10 ms. */
  setVolume(volume: number): void {
    this.#sharing.setVolume(volume);
  }

  /** Replaces all filters, from the next frame that is produced on. */
  setFilters(filters: FilterSettings): void {
    this.#sharing.setFilters(filters);
  }

  /** Track time that passes in a second of output, in seconds: timescale's. */
  get rate(): number {
    return this.#chain.rate;
  }

  /** The current gain of the fades, 0 to 1. */
  get gain(): number {
    return this.#chain.fades.gain;
  }

  /** With crossfade: the last part of the track has begun, over which the next one may fade in. */
  get isEnding(): boolean {
    return this.#chain.fades.isEnding;
  }

  /** Until the end of the track, in output samples (48 a millisecond); Infinity when unknown. */
  get remainingSamples(): number {
    return this.#chain.fades.remainingSamples;
  }

  /** Until the fade out reaches silence, in output samples; Infinity while there is no fade out. */
  get remainingFadeOutSamples(): number {
    return this.#chain.fades.remainingFadeOutSamples;
  }

  /** Fades in over another track, from its first sample on. For a track that has not been played. */
  crossfadeIn(fade: Fade): void {
    this.#chain.fades.crossfadeIn(fade);
  }

  /** Fades out, from the current gain, `delaySamples` from now on. A running fade out that ends sooner continues. */
  crossfadeOut(fade: Fade, delaySamples?: number): void {
    this.#chain.fades.crossfadeOut(fade, delaySamples);
  }

  /** Prepares for a mix with another track: from the next frame on it is decoded, whatever else is requested. */
  keepDecoded(): void {
    this.#sharing.leave();
    this.#chain.fades.keepDecoded();
  }

  /** The next 20 ms as one Opus packet, or undefined (`isEnded` and `stallReason` say why). Valid until the next call. */
  produce(): Uint8Array | undefined {
    return this.#guard(() => {
      if (this.#isClosed) return undefined;
      this.#followReader();
      if (this.isEnded) return undefined;
      this.#updateSpan();
      let frame = this.#makeFrame();
      if (frame === undefined && this.#mustJumpEarly) {
        this.#makeJump();
        frame = this.#makeFrame();
      }
      this.#reader.wake();
      return frame;
    });
  }

  #makeFrame(): Uint8Array | undefined {
    if (this.#sharing.isActive) {
      const frame = this.#sharing.produce();
      if (frame !== undefined) this.#advanceTo(this.#sharing.endMs);
      if (this.#sharing.isActive || frame !== undefined) return frame;
    }
    return this.#transcoder === undefined ? this.#passThrough() : this.#transcode(this.#transcoder);
  }

  /**
   * The next 20 ms as audio, for a mix; always decoded. Undefined as for `produce`. May be written to until the next
   * call.
   */
  render(): AudioFrame | undefined {
    return this.#guard(() => {
      if (!this.canRender() || this.#transcoder === undefined) return undefined;
      this.#updateSpan();
      const frame = this.#transcoder.render(this.#supply);
      if (frame !== undefined) this.#onFrame(this.#transcoder);
      this.#startsMs.length = 0;
      this.#reader.wake();
      return frame;
    });
  }

  /** True when `render` will probably return audio. Otherwise prepares it. */
  canRender(): boolean {
    const canRender = this.#guard(() => {
      if (this.#isClosed) return false;
      this.#followReader();
      if (this.isEnded) return false;
      this.#sharing.leave();
      if (!this.#sharing.leaveIfReady()) return false;
      const { queue } = this.#reader;
      if (this.#transcoder === undefined && queue.length > 0) this.#startTranscoder(queue.stream);
      return this.#transcoder?.canBegin(this.#supply) ?? false;
    });
    return canRender ?? false;
  }

  /** True while it is decoded and audible: the output of `render` continues that of `produce`. */
  get isTranscoding(): boolean {
    return this.#transcoder?.isRunning ?? false;
  }

  /** True while it plays frames that another pipeline transcodes. */
  get isFollowing(): boolean {
    return this.#sharing.isFollowing;
  }

  /** False when `render` has returned all there is, at the end or because the input is starved. */
  get hasMore(): boolean {
    return this.#guard(() => this.#transcoder?.hasMore(this.#supply)) ?? false;
  }

  /** Encodes a mix instead of this track's own next frame. */
  encode({ left, right }: AudioFrame): Uint8Array | undefined {
    return this.#guard(() => this.#transcoder?.encoder.encode(left, right));
  }

  /** This track's audio continues the other's output so far, and the other way round. Both are decoded. */
  exchangeEncoders(other: Pipeline): void {
    const [mine, theirs] = [this.#transcoder, other.#transcoder];
    if (mine !== undefined && theirs !== undefined) [mine.encoder, theirs.encoder] = [theirs.encoder, mine.encoder];
    this.#startsMs.length = 0;
    other.#startsMs.length = 0;
  }

  /** Listeners received silence frames in between: the next encoded frame must not depend on the audio before them. */
  onSilenceSent(): void {
    this.#transcoder?.onSilenceSent();
  }

  /** Releases everything. May be called at any time, more than once; nothing is produced afterwards. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sharing.stop();
    // First, as what it has made may be stored.
    this.#stopTranscoder();
    this.#reader.close();
    this.#transcoders.close();
    this.#chain.close();
  }

  /** Where a seek has landed, or a jump is due and can be made, the next frame is of another position. */
  #followReader(): void {
    if (this.hasLanded) {
      this.#hasJumped = false;
      this.#beginRun();
    } else if (this.#isJumpDue && this.#reader.isJumpReady) this.#makeJump();
  }

  #makeJump(): void {
    this.#reader.jump();
    this.#hasJumped = true;
    this.#beginRun();
  }

  /** The next frame is nearer to the start of the jump than the one after it. */
  get #isJumpDue(): boolean {
    return this.#jump !== undefined && this.#positionMs + (FRAME_MS / 2) * this.rate > this.#jump.fromMs;
  }

  /** Frames behind the start of the jump have been produced. */
  get #isPastJump(): boolean {
    return this.#jump !== undefined && this.#positionMs - (FRAME_MS / 2) * this.rate > this.#jump.fromMs;
  }

  /** What has been read before the jump does not reach to its start. */
  get #mustJumpEarly(): boolean {
    return this.#reader.isJumpReady && this.#reader.queue.length === 0 && this.stallReason === "input";
  }

  /** Listeners are in the segment of the next jump, whose target is late, and it is still one of the jumps. */
  #isLateJump(heardMs: number): boolean {
    const jump = this.#jump;
    if (jump === undefined || heardMs < jump.fromMs || heardMs >= jump.toMs) return false;
    return this.#jumps.has(jump);
  }

  #planJump(fromMs: number, jump = this.#jumps.nextFrom(fromMs)): void {
    this.#jump = jump;
    this.#isJumpEnd = false;
    if (this.#jump === undefined) this.#reader.prepareJump(undefined);
    else this.#updateSpan();
    this.#reader.wake();
  }

  /** A seek has landed, or a jump was made: from here on packets belong to another position. */
  #beginRun(): void {
    this.#sharing.stop();
    this.#runNumber = this.#reader.runNumber;
    this.#reader.queue.forget();
    this.#runFrames = 0;
    this.#startsMs.length = 0;
    this.#positionMs = this.#reader.landedMs;
    this.#planJump(this.#positionMs);
    if (this.#endMs !== undefined && this.#positionMs >= this.#endMs) return;
    this.#transcoder?.jumpTo(this.#alignedStartMs());
  }

  /** Where the audio of a new run starts: exactly there, or for Opus at the nearest packet (at most 10 ms off). */
  #alignedStartMs(): number {
    const landedMs = this.#reader.landedMs;
    const { queue } = this.#reader;
    if (queue.length === 0 || !queue.isPassable) return landedMs;
    const offsetMs = landedMs - queue.timestampMs;
    return queue.timestampMs + Math.max(0, Math.round(offsetMs / FRAME_MS)) * FRAME_MS;
  }

  #passThrough(): Uint8Array | undefined {
    const { queue } = this.#reader;
    if (this.#isRunFresh && queue.length > 0) queue.skipPreRoll(this.#alignedStartMs());
    else if (queue.skipRepeated()) this.#startsMs.length = 0;
    if (queue.length === 0) return undefined;
    const { isPassable, stream } = queue;
    this.#chain.setPosition(this.#positionMs, this.#span);
    if (!isPassable || !this.#chain.isNeutral) {
      if (this.#isRunFresh && this.#sharing.join(stream)) return this.#makeFrame();
      this.#startTranscoder(stream);
      // Until the decoder is ready, music that can be passed through continues.
      if (this.#transcoder !== undefined) return this.#transcode(this.#transcoder);
      if (!isPassable || this.#isRunFresh) return undefined;
    } else if (this.#transcoders.ready?.stream === stream) this.#transcoders.drop();
    const { timestampMs } = queue;
    const data = queue.pass();
    this.tally.onPassed(timestampMs, this.#positionMs);
    this.#advanceTo(timestampMs + FRAME_MS);
    return data;
  }

  /** Records that a frame has been made that ends there. */
  #advanceTo(positionMs: number): void {
    this.#startsMs.push(this.#positionMs);
    if (this.#startsMs.length > FRAMES_AHEAD_MAX) this.#startsMs.shift();
    this.#positionMs = Math.max(0, positionMs);
    this.#runFrames += 1;
  }

  /** Packets that were passed through and not sent come next again, unless a seek leads elsewhere. */
  #rewindPackets(count: number): void {
    if (!this.hasLanded) this.#reader.queue.rewind(count);
    this.#updateSpan();
    this.#guard(() => this.#chain.setPosition(this.#positionMs, this.#span));
  }

  /** Nothing has been produced from this run of packets: samples before its start must be dropped. */
  get #isRunFresh(): boolean {
    return this.#runFrames === 0;
  }

  #transcode(transcoder: Transcoder): Uint8Array | undefined {
    const canReturn = this.#chain.isNeutral;
    if (canReturn && transcoder.canResumePassthrough && this.#resumePassingThrough(transcoder))
      return this.#passThrough();
    const frame = transcoder.encode(this.#supply, canReturn ? this.#packetToReplace(transcoder) : undefined);
    if (frame !== undefined) this.#onFrame(transcoder);
    return frame;
  }

  #onFrame(transcoder: Transcoder): void {
    this.#advanceTo(transcoder.encodedUntilMs);
  }

  /**
   * The packet that the next frame replaces, when nothing changes the audio any more and the packet behind it may be
   * next.
   */
  #packetToReplace(transcoder: Transcoder): Uint8Array | undefined {
    const nextMs = transcoder.encodedUntilMs;
    const { queue } = this.#reader;
    const packet = queue.dataAt(nextMs);
    if (packet !== undefined) return packet;
    // Timescale may have ended within a packet: skip to the start of a later one.
    const startMs = queue.startBehind(nextMs);
    if (startMs !== undefined) transcoder.skipTo(startMs);
    return undefined;
  }

  /** Returns to passing packets through, at the next one. */
  #resumePassingThrough(transcoder: Transcoder): boolean {
    if (!this.#reader.queue.rewindTo(transcoder.encodedUntilMs)) return false;
    this.#stopTranscoder();
    this.#startsMs.length = 0;
    return true;
  }

  /** Provides a transcoder: the first call requests it, a later one finds it and starts it. */
  #startTranscoder(nextStream: AudioStream): void {
    const ready = this.#transcoders.take(nextStream, { isComplete: !this.#isRunFresh });
    if (ready === undefined) return;
    const { transcoder, stream } = ready;
    this.#transcoder = transcoder;
    this.#startsMs.length = 0;
    const history = this.#reader.queue.history(HISTORY_PACKETS);
    if (history.length === 0 || this.#isRunFresh) this.#startTranscoderFresh(transcoder);
    else if (stream.codec === "opus") transcoder.startAfter(history);
    else this.#startTranscoderAtHead(transcoder);
  }

  #createTranscoder(parts: Pick<TranscoderOptions, "stream" | "decoder" | "encoder">): Transcoder {
    const { codecs, budget, onProgress } = this.#options;
    return new Transcoder({
      ...parts,
      tally: this.tally,
      chain: this.#chain,
      span: this.#span,
      budget,
      createDecoder: (next) => codecs.createDecoder(next, { budget }),
      onProgress,
      onFailure: (error) => this.#break(error),
    });
  }

  #createSharing(): FrameSharing {
    const { shares, input, lengthMs, startMs, volume, filters, budget } = this.#options;
    return new FrameSharing({
      shares,
      playback: { input, lengthMs, startMs, volume, filters, owner: budget.owner },
      reader: this.#reader,
      supply: this.#supply,
      transcoders: this.#transcoders,
      chain: this.#chain,
      tally: this.tally,
      transcoder: () => this.#transcoder,
      setTranscoder: (transcoder) => {
        this.#stopTranscoder();
        this.#transcoder = transcoder;
      },
      frameNumber: () => this.#runFrames,
      positionMs: () => this.#positionMs,
      guard: (work) => this.#guard(work),
      begin: (transcoder) => this.#startTranscoderFresh(transcoder),
      beforeFrame: () => this.#updateSpan(),
    });
  }

  /** Puts skipped pre-roll back, so that the decoder is warm, and starts at the run's first sample. */
  #startTranscoderFresh(transcoder: Transcoder): void {
    this.#reader.queue.rewind();
    const startMs = this.#alignedStartMs();
    transcoder.startAt(startMs);
    if (startMs === 0 && this.#runNumber === 0) transcoder.recordTo(this.#reader.recorder);
  }

  /**
   * A chained file continues in another codec: the packets passed through were played and are of no use to its decoder.
   */
  #startTranscoderAtHead(transcoder: Transcoder): void {
    const { queue } = this.#reader;
    queue.forget();
    transcoder.startAt(queue.length === 0 ? this.#positionMs : (queue.fromMs ?? queue.timestampMs));
  }

  #stopTranscoder(): void {
    const transcoder = this.#transcoder;
    this.#transcoder = undefined;
    if (transcoder !== undefined) this.#transcoders.release(transcoder);
  }

  /** Call before a frame is made: end time and length may have changed. */
  #updateSpan(): void {
    const neededMs = this.#endMs ?? Number.POSITIVE_INFINITY;
    this.#span.endMs = Math.min(neededMs, this.#reader.lengthMs ?? neededMs);
    const jump = this.#jump;
    if (jump === undefined) return;
    if (this.#reader.isImpossible(jump)) {
      this.#planJump(jump.toMs);
      return;
    }
    this.#isJumpEnd = endsTrack(jump, this.#span.endMs);
    if (this.#isJumpEnd) this.#span.endMs = Math.min(this.#span.endMs, jump.fromMs);
    this.#reader.prepareJump(this.#isJumpEnd ? undefined : jump);
  }

  /** The error boundary around decoder, filters and encoder: their errors fail this track only. */
  #guard<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.#break(error);
      return undefined;
    }
  }

  #break(error: unknown): void {
    this.#isBroken = true;
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#hasFailed || this.#isClosed) return;
    this.#hasFailed = true;
    this.#transcoder?.stopRecording();
    this.#sharing.leave();
    this.#options.onFailure(error);
    this.#options.onProgress();
  }
}

/** Nothing changes its audio as it begins. */
function isUnchanged({ volume, filters }: Pick<PipelineOptions, "volume" | "filters">): boolean {
  const isFiltered = activeFilterNames(filters).length > 0 || moduleFiltersIn(filters).length > 0;
  return volume === VOLUME_DEFAULT && !isFiltered;
}
