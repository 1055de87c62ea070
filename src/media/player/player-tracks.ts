// The tracks of one player: the one that plays, and what sounds on of those before it. Begins, replaces and ends them,
// makes one row of frames of them, and tells the main thread what becomes of each. Whether a frame is due and anybody
// hears it is audio-player.ts's to know; leaving-track.ts mixes, playing-track.ts is one track. Audio thread.

import type { PlainEvent } from "../../bridge/channel.ts";
import { type PlayCommand, type PlayerId, type SeekId, VOLUME_DEFAULT } from "../../bridge/commands.ts";
import type { EndReason } from "../../bridge/events.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import { activeSettingsIn, type FilterSettings } from "../../filters/filter-settings.ts";
import { type Fade, fadeOf } from "../effects/fade-curve.ts";
import type { RemoteTrack } from "../handoff/relay-messages.ts";
import type { FrameSlot } from "./frame-slot.ts";
import { LeavingTrack } from "./leaving-track.ts";
import {
  canGoOnElsewhere,
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
  readonly send: (event: PlainEvent) => void;
  /** There may be a frame where there was none, or the end was reached. Also called from within `produceInto`. */
  readonly onProgress: () => void;
  /** The track that played is over, as the main thread is told next. */
  readonly onEnded: () => void;
}

export class PlayerTracks {
  readonly #options: PlayerTracksOptions;
  /** What each track begins with. */
  #volume = VOLUME_DEFAULT;
  #filters: FilterSettings = {};
  #current: PlayingTrack | undefined;
  /** What sounds on of the tracks before, alone or while the new one comes in. */
  #leaving: LeavingTrack | undefined;
  #isClosed = false;

  constructor(options: PlayerTracksOptions) {
    this.#options = options;
  }

  /** The track that plays, as the client sees it. */
  get current(): PlayingTrack | undefined {
    return this.#current;
  }

  /** Also true while only the rest of a track is there that has ended for the client. */
  get areAny(): boolean {
    return (this.#current ?? this.#leaving) !== undefined;
  }

  /** 0 to 1000, for the tracks there are and those to come. */
  setVolume(volume: number): void {
    this.#volume = volume;
    this.#leaving?.setVolume(volume);
    this.#current?.pipeline.setVolume(volume);
  }

  /** All filters anew, for the tracks there are and those to come. */
  setFilters(filters: FilterSettings): void {
    this.#filters = filters;
    this.#leaving?.setFilters(filters);
    this.#current?.pipeline.setFilters(filters);
  }

  /** `seekId`: of its last seek, where it goes on from another worker. `isAudible`: the track before is, right now. */
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

  /** There is a track that plays, and it is not just being mixed with the one before: that ends by itself. */
  get canReopen(): boolean {
    return this.#current !== undefined && this.#leaving?.isMixing !== true;
  }

  /** Reads the track that plays anew, from this track time on: what it was read or decoded with hangs. */
  reopen(positionMs: number): void {
    const track = this.#current;
    if (track !== undefined)
      reopenTrack(track, positionMs, { ...this.#options.context, hooks: this.#hooksOf(() => track) });
  }

  /** A listener has something to miss: sound of the track that plays has been heard, or one before still is. */
  get haveBeenAudible(): boolean {
    return this.#leaving !== undefined || this.#current?.hasBeenAudible === true;
  }

  /**
   * The next 20 ms. The slot stays empty where no track has any. True: they are the first of a track that takes the
   * place of another, of which nothing is to be heard any more.
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

  /** How many of the frames that were produced last could be made anew; none while two tracks are heard. */
  get rewindFramesMax(): number {
    return this.#leaving === undefined ? (this.#current?.pipeline.rewindFramesMax ?? 0) : 0;
  }

  /** The last `frames`, of `rewindFramesMax` at most, are not heard: the next ones begin where they did. */
  rewind(frames: number): void {
    this.#current?.pipeline.rewind(frames);
  }

  /** What was produced last would be another now, though nothing has been asked for since. */
  get areOutdated(): boolean {
    return this.#leaving === undefined && this.#current?.pipeline.isOutdated === true;
  }

  /** Listeners got a silence frame instead of sound. */
  onSilenceSent(): void {
    this.#current?.pipeline.onSilenceSent();
    this.#leaving?.onSilenceSent();
  }

  // How tracks end

  /** It has given all it had, or has failed: it is over. What is heard of the one before goes on. */
  finish(track: PlayingTrack): void {
    track.pipeline.close();
    this.#fadeOutLeaving();
    this.#end(track, track.hasFailed && !track.hasBeenAudible ? "loadFailed" : "finished");
  }

  /**
   * With crossfade a track is over for the client while its last part is heard, so that the next one can come in over
   * it.
   */
  finishEarly(track: PlayingTrack): void {
    this.#leaving = new LeavingTrack({ pipeline: track.pipeline, crossfade: this.#crossfade, before: this.#leaving });
    this.#leaving.crossfadeOut();
    this.#end(track, "finished");
  }

  /** Nobody has listened for long. */
  giveUp(track: PlayingTrack): void {
    track.pipeline.close();
    this.#end(track, "cleanup");
  }

  /** Something threw where nothing may: it ends what there is. False: there was no track it could have come from. */
  fail(error: unknown): boolean {
    const track = this.#current;
    this.#current = undefined;
    const leaving = this.#leaving;
    this.#leaving = undefined;
    if (track !== undefined) {
      this.#reportFailure(track, new NodeError("internal", "playing the track failed unexpectedly", { cause: error }));
      this.#end(track, track.hasBeenAudible ? "finished" : "loadFailed");
    }
    // Last, as this may fail again.
    leaving?.close();
    track?.pipeline.close();
    return (track ?? leaving) !== undefined;
  }

  /** Ends everything at once, whatever fades, and tells nobody: it was asked for. */
  stop(): void {
    this.dropLeaving();
    this.#current?.pipeline.close();
    this.#current = undefined;
  }

  /** The tracks before are heard no more. */
  dropLeaving(): void {
    this.#leaving?.close();
    this.#leaving = undefined;
  }

  /** The same, but for one that falls while the next one rises: that goes on after a pause. */
  dropWaiting(): void {
    if (this.#leaving?.canFade !== true) this.dropLeaving();
  }

  close(): void {
    this.#isClosed = true;
    this.#leaving?.close();
    this.#current?.pipeline.close();
  }

  // Tracks that go on elsewhere

  /** What another worker needs to go on a little ahead; undefined when it could not, or has just tried in vain. */
  get remoteTrack(): RemoteTrack | undefined {
    const track = this.#current;
    // Fades, loudness and echoes remember what was heard of the track so far.
    if (track === undefined || this.#leaving !== undefined || this.#filters.pluginFilters !== undefined)
      return undefined;
    if (!canGoOnElsewhere(track, this.#options.context.clock.now())) return undefined;
    return { volume: this.#volume, filters: this.#filters, ...remoteTrackOf(track) };
  }

  /** Another worker was not ready for it in time. */
  keepHere(): void {
    if (this.#current !== undefined) keepHere(this.#current, this.#options.context.clock.now());
  }

  /**
   * Another worker makes its sound from now on: it is none of this player's, and not over. To be closed by the caller.
   */
  release(): PlayingTrack | undefined {
    const track = this.#current;
    this.#current = undefined;
    return track;
  }

  /** Makes room for another track: it sounds on until that can be heard, or falls while that rises. */
  #letLeave(track: PlayingTrack, isAudible: boolean): void {
    const leaving = this.#leaving;
    if (leaving?.dropNext()) return;
    // One that has not been heard yet is none to wait for.
    const canLeave = isAudible && (leaving === undefined ? track.hasBeenAudible : leaving.isMixing);
    if (!canLeave) track.pipeline.close();
    else this.#leaving = new LeavingTrack({ pipeline: track.pipeline, crossfade: this.#crossfade, before: leaving });
  }

  #fadeOutLeaving(): void {
    if (this.#leaving?.canFade) this.#leaving.crossfadeOut();
    else this.dropLeaving();
  }

  #hooksOf(track: () => PlayingTrack): PipelineHooks {
    return {
      volume: this.#volume,
      filters: this.#filters,
      onProgress: () => this.#onProgress(track()),
      onFailure: (error) => this.#onFailure(track(), error),
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
