// The tracks of one player: the one that plays, and the previous ones that are still audible. Starts, replaces and ends
// them, makes one sequence of frames of them, and reports their events to the main thread. audio-player.ts knows
// whether a frame is due and whether anybody listens; leaving-track.ts mixes, playing-track.ts is one track. Audio
// thread.

import type { PlayerCounts } from "../../bridge/audio-metrics.ts";
import type { PlainEvent } from "../../bridge/channel.ts";
import { type PlayCommand, type PlayerId, type SeekId, VOLUME_DEFAULT } from "../../bridge/commands.ts";
import type { EndReason } from "../../bridge/events.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import { activeSettingsIn, type FilterSettings, moduleSettingsIn } from "../../filters/filter-settings.ts";
import { type Fade, fadeOf } from "../effects/fade-curve.ts";
import { SAMPLES_PER_MS } from "../format/audio-format.ts";
import type { RemoteTrack } from "../handoff/relay-messages.ts";
import { findEarlyEnd } from "./early-end.ts";
import type { FrameSlot } from "./frame-slot.ts";
import { LeavingTrack } from "./leaving-track.ts";
import {
  canContinueElsewhere,
  endOf,
  keepHere,
  type PipelineHooks,
  type PlayingTrack,
  remoteTrackOf,
  reopenTrack,
  startTrack,
  type TrackContext,
} from "./playing-track.ts";

interface PlayerTracksOptions {
  readonly playerId: PlayerId;
  readonly context: TrackContext;
  /** The player's counts since its last report. */
  readonly counts: Pick<PlayerCounts, "earlyEnds">;
  readonly send: (event: PlainEvent) => void;
  /** A frame may have become available, or the end was reached. Also called from within `produceInto`. */
  readonly onProgress: () => void;
  /** The playing track is over; the main thread is notified next. */
  readonly onEnded: () => void;
}

export class PlayerTracks {
  readonly #options: PlayerTracksOptions;
  /** Initial volume of each track. */
  #volume = VOLUME_DEFAULT;
  #filters: FilterSettings = {};
  #current: PlayingTrack | undefined;
  /** The previous tracks that are still audible, alone or while the new one fades in. */
  #leaving: LeavingTrack | undefined;
  #isClosed = false;

  constructor(options: PlayerTracksOptions) {
    this.#options = options;
  }

  /** The track that plays, as the client sees it. */
  get current(): PlayingTrack | undefined {
    return this.#current;
  }

  /** Also true while only the rest of a track is left that has ended for the client. */
  get areAny(): boolean {
    return (this.#current ?? this.#leaving) !== undefined;
  }

  /** 0 to 1000, for the current tracks and those to come. */
  setVolume(volume: number): void {
    this.#volume = volume;
    this.#leaving?.setVolume(volume);
    this.#current?.pipeline.setVolume(volume);
  }

  /** The filter of a plugin by that name is another one: it is made again where it is set. */
  refreshFilter(name: string): void {
    if (moduleSettingsIn(this.#filters, name) !== undefined) this.setFilters(this.#filters);
  }

  /** Replaces all filters, of the current tracks and of those to come. */
  setFilters(filters: FilterSettings): void {
    this.#filters = filters;
    this.#leaving?.setFilters(filters);
    this.#current?.pipeline.setFilters(filters);
  }

  /**
   * `seekId`: id of its last seek, when it continues from another worker. `isAudible`: the previous track is audible
   * right now.
   */
  play(command: PlayCommand, { seekId, isAudible }: { readonly seekId: SeekId; readonly isAudible: boolean }): void {
    if (this.#current !== undefined) this.#letLeave(this.#current, isAudible);
    const track: PlayingTrack = startTrack(
      command,
      this.#options.context,
      this.#hooksOf(() => track),
    );
    track.seekId = seekId;
    this.#current = track;
  }

  /** A track plays that is not being mixed with the previous one, because a mix ends by itself. */
  get canReopen(): boolean {
    return this.#current !== undefined && this.#leaving?.isMixing !== true;
  }

  /** Opens the playing track again at this track time, because its reader or decoder hangs. */
  reopen(positionMs: number): void {
    const track = this.#current;
    if (track !== undefined)
      reopenTrack(track, positionMs, { ...this.#options.context, hooks: this.#hooksOf(() => track) });
  }

  /** True when a listener would miss something: the playing track has been audible, or a previous one still is. */
  get haveBeenAudible(): boolean {
    return this.#leaving !== undefined || this.#current?.hasBeenAudible === true;
  }

  /**
   * Makes the next 20 ms. The slot stays empty when no track has audio. True: they are the first of a track that
   * replaces another one, of which nothing may be played any more.
   */
  produceInto(slot: FrameSlot): boolean {
    const current = this.#current;
    const leaving = this.#leaving;
    const opus = leaving === undefined ? current?.pipeline.produce() : leaving.produce(current?.pipeline);
    const isOfCurrent = leaving === undefined || leaving.isNextAudible;
    slot.fill(opus, isOfCurrent ? current : undefined);
    if (leaving?.isOver) this.#leaving = undefined;
    return leaving?.isOver === true && !leaving.canFade && slot.track !== undefined;
  }

  /** How many of the last produced frames could be made again; 0 while two tracks are audible. */
  get rewindFramesMax(): number {
    return this.#leaving === undefined ? (this.#current?.pipeline.rewindFramesMax ?? 0) : 0;
  }

  /** The last `frames`, at most `rewindFramesMax`, are not played: the next ones begin where they did. */
  rewind(frames: number): void {
    this.#current?.pipeline.rewind(frames);
  }

  /** The last produced frames would be different now, although nothing has been requested since. */
  get areOutdated(): boolean {
    return this.#leaving === undefined && this.#current?.pipeline.isOutdated === true;
  }

  /** Frames from behind the start of a jump were produced. */
  get areBehindJump(): boolean {
    const { nextJumpMs, positionMs } = this.#current?.pipeline ?? {};
    return nextJumpMs !== undefined && positionMs !== undefined && positionMs > nextJumpMs;
  }

  /** Listeners got a silence frame instead of audio. */
  onSilenceSent(): void {
    this.#current?.pipeline.onSilenceSent();
    this.#leaving?.onSilenceSent();
  }

  // How tracks end

  /** The track has no more audio, or has failed: it is over. The rest of the previous one keeps playing. */
  finish(track: PlayingTrack): void {
    const isInaudible = this.#noteEarlyEnd(track);
    track.pipeline.close();
    this.#fadeOutLeaving();
    this.#end(track, isInaudible || hasFailedToLoad(track) ? "loadFailed" : "finished");
  }

  /**
   * With crossfade a track is over for the client while its last part plays, so that the next one can fade in over it.
   */
  finishEarly(track: PlayingTrack): void {
    const { remainingSamples, rate } = track.pipeline;
    const isInaudible = this.#noteEarlyEnd(track, (remainingSamples / SAMPLES_PER_MS) * rate);
    this.#leaving = new LeavingTrack({ pipeline: track.pipeline, crossfade: this.#crossfade, before: this.#leaving });
    this.#leaving.crossfadeOut();
    this.#end(track, isInaudible || hasFailedToLoad(track) ? "loadFailed" : "finished");
  }

  /** Gives the track up because nobody has listened for a minute. */
  giveUp(track: PlayingTrack): void {
    track.pipeline.close();
    this.#end(track, "cleanup");
  }

  /** An exception: ends all tracks. False: there was no track it could have come from. */
  fail(error: unknown): boolean {
    const track = this.#current;
    this.#current = undefined;
    const leaving = this.#leaving;
    this.#leaving = undefined;
    if (track !== undefined) {
      track.hasFailed = true;
      this.#noteEarlyEnd(track);
      this.#reportFailure(track, new NodeError("internal", "playing the track failed unexpectedly", { cause: error }));
      this.#end(track, hasFailedToLoad(track) ? "loadFailed" : "finished");
    }
    // Last, as this may fail again.
    leaving?.close();
    track?.pipeline.close();
    return (track ?? leaving) !== undefined;
  }

  /** Ends everything at once, without fades, and reports nothing: it was requested. */
  stop(): void {
    this.dropLeaving();
    this.#current?.pipeline.close();
    this.#current = undefined;
  }

  /** Ends the previous tracks. */
  dropLeaving(): void {
    this.#leaving?.close();
    this.#leaving = undefined;
  }

  /**
   * Ends the previous tracks, except one that fades out while the next one fades in: that one continues after a pause.
   */
  dropWaiting(): void {
    if (this.#leaving?.canFade !== true) this.dropLeaving();
  }

  close(): void {
    this.#isClosed = true;
    this.#leaving?.close();
    this.#current?.pipeline.close();
  }

  // Tracks that continue on another worker

  /**
   * What another worker needs to continue a little ahead; undefined when it could not, or an attempt has just failed.
   */
  get remoteTrack(): RemoteTrack | undefined {
    const track = this.#current;
    // Fades, loudness and echoes depend on the audio of the track so far.
    if (track === undefined || this.#leaving !== undefined || this.#filters.pluginFilters !== undefined)
      return undefined;
    if (!canContinueElsewhere(track, this.#options.context.clock.now())) return undefined;
    return { volume: this.#volume, filters: this.#filters, ...remoteTrackOf(track) };
  }

  /** Another worker was not ready to take it over in time. */
  keepHere(): void {
    if (this.#current !== undefined) keepHere(this.#current, this.#options.context.clock.now());
  }

  /**
   * Another worker renders the track from now on: it no longer belongs to this player, and is not over. The caller
   * closes it.
   */
  release(): PlayingTrack | undefined {
    const track = this.#current;
    this.#current = undefined;
    return track;
  }

  /** Makes space for another track: this one plays until that is audible, or fades out while that fades in. */
  #letLeave(track: PlayingTrack, isAudible: boolean): void {
    const leaving = this.#leaving;
    if (leaving?.dropNext()) return;
    // A track that has not been audible yet is not waited for.
    const canLeave = isAudible && (leaving === undefined ? track.hasBeenAudible : leaving.isMixing);
    if (!canLeave) track.pipeline.close();
    else this.#leaving = new LeavingTrack({ pipeline: track.pipeline, crossfade: this.#crossfade, before: leaving });
  }

  #fadeOutLeaving(): void {
    if (this.#leaving?.canFade) this.#leaving.crossfadeOut();
    else this.dropLeaving();
  }

  #hooksOf(track: () => PlayingTrack): PipelineHooks {
    const { context, playerId, send } = this.#options;
    return {
      volume: this.#volume,
      filters: this.#filters,
      pluginFilters: context.filterModules?.definitionsFor(playerId, (filter, fault) => {
        send({ type: "filterRemoved", playerId, filter, ...fault });
      }),
      onProgress: () => this.#onProgress(track()),
      onFailure: (error) => this.#onFailure(track(), error),
      onJumpGivenUp: ({ fromMs: positionMs, toMs: skipToMs }, reason) => {
        const fields = { positionMs, skipToMs, reason, playerId };
        send({ type: "log", level: "debug", message: "a segment is not skipped: its end could not be read", fields });
      },
    };
  }

  #onProgress(track: PlayingTrack): void {
    if (!this.#isClosed && this.#current === track) this.#options.onProgress();
  }

  #onFailure(track: PlayingTrack, error: unknown): void {
    if (this.#isClosed || this.#current !== track) return;
    track.hasFailed = true;
    this.#fadeOutLeaving();
    const message = "decoding the track failed: its decoder can make no sense of it";
    const isKnown = error instanceof NodeError;
    this.#reportFailure(track, isKnown ? error : new NodeError("media-decode-failed", message, { cause: error }));
  }

  #reportFailure({ trackId }: PlayingTrack, error: unknown): void {
    const { playerId, send } = this.#options;
    send({ type: "trackException", playerId, trackId, error: toWireError(error) });
  }

  /**
   * Counts and logs an end that came too early; `restMs` of the track are still to be played. True, with an exception
   * for the client, when nothing of it was audible.
   */
  #noteEarlyEnd(track: PlayingTrack, restMs = 0): boolean {
    if (hasFailedToLoad(track)) return false;
    const { playerId, counts, send } = this.#options;
    const end = endOf(track, restMs);
    const early = findEarlyEnd(end);
    if (early === undefined) return false;
    const { reason, error } = early;
    counts.earlyEnds[reason] += 1;
    const { lengthMs, tally } = end;
    const { packetCount: packets, undecodedCount: undecoded } = tally;
    const fields = { reason, playedMs: Math.round(early.playedMs), lengthMs, packets, undecoded, playerId };
    send({ type: "log", level: "warn", message: "track ended before half of it was played", fields });
    if (error !== undefined) this.#reportFailure(track, error);
    return error !== undefined;
  }

  #end({ trackId }: PlayingTrack, reason: EndReason): void {
    const { playerId, send, onEnded } = this.#options;
    this.#current = undefined;
    onEnded();
    send({ type: "trackEnded", playerId, trackId, reason });
  }

  get #crossfade(): Fade | undefined {
    return fadeOf(activeSettingsIn(this.#filters, "crossfade"));
  }
}

/** It has failed, and none of its audio was sent. */
function hasFailedToLoad({ hasFailed, hasBeenAudible, pipeline }: PlayingTrack): boolean {
  return hasFailed && !(hasBeenAudible && pipeline.tally.hasAudio);
}
