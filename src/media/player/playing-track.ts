// One playback of one track on the audio thread: its pipeline, its budget and its state so far. Held by
// player-tracks.ts. Audio thread.

import type { AudioState } from "../../bridge/audio-metrics.ts";
import type { LossCause } from "../../bridge/audio-report.ts";
import type { PlayCommand, PlayerId, SeekId, TrackId } from "../../bridge/commands.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { FilterModules } from "../effects/filters/filter-modules.ts";
import type { RemoteTrack } from "../handoff/relay-messages.ts";
import { Pipeline, type PipelineOptions } from "../pipeline/pipeline.ts";
import type { TrackTally } from "../pipeline/track-tally.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { CpuQuotaWatch } from "./cpu-quota-watch.ts";
import type { TrackEnd } from "./early-end.ts";
import type { TrackMarkers } from "./track-markers.ts";

/** How far ahead another worker takes over: the time that opening a track there may take. */
const HAND_OVER_AHEAD_MS = 2000;
/** A shorter rest is not worth moving. */
const REST_MS_MIN = 10_000;
/** Nor is one on the way to where the other worker takes over. */
const JUMP_MS_MIN = 10_000;
/** Wait before the next attempt, because opening the track there is expensive. */
const STAY_MS = 5000;

export interface PlayingTrack {
  readonly trackId: TrackId;
  /** As requested, except for the end, which may have been changed since. */
  command: PlayCommand;
  pipeline: Pipeline;
  budget: TrackBudget;
  cpuQuota: CpuQuotaWatch;
  /** Added to the pipeline's track times: a stream that was opened again counts from 0 there. */
  offsetMs: number;
  seekId: SeekId;
  /** Undefined: it has never had any. */
  markers: TrackMarkers | undefined;
  /** The pipeline's run (see `Pipeline.runNumber`) of the frame sent last. */
  sentRun: number;
  /** Some of its audio has been sent (or dropped because the channel was empty). */
  hasBeenAudible: boolean;
  hasFailed: boolean;
  isStuckReported: boolean;
  /** Another worker was not ready to take it over in time: no new attempt before this time. */
  staysUntilMs: number;
  /** CPU time, milliseconds, it had used at the last query. */
  usedBeforeMs: number;
  /** How often its input had been opened again at the last query. */
  reopenedBefore: number;
}

/** Dependencies of a track. */
export interface TrackContext {
  readonly clock: Clock;
  readonly open: PipelineOptions["open"];
  readonly codecs: PipelineOptions["codecs"];
  readonly shares?: PipelineOptions["shares"];
  /** The filters of plugins. Default: none. */
  readonly filterModules?: FilterModules | undefined;
  /** Creates the budget of a track of this player. */
  readonly createBudget: (playerId: PlayerId, owner: Owner) => TrackBudget;
}

/** Initial settings of a pipeline, and its callbacks. */
export type PipelineHooks = Pick<
  PipelineOptions,
  "volume" | "filters" | "pluginFilters" | "onProgress" | "onFailure" | "onJumpGivenUp"
>;

/** Opens the track. */
export function startTrack(
  command: PlayCommand,
  { clock, open, codecs, shares, createBudget }: TrackContext,
  hooks: PipelineHooks,
  tally?: TrackTally,
): PlayingTrack {
  const { playerId, trackId, owner, input, startMs, endMs, lengthMs } = command;
  const budget = createBudget(playerId, owner);
  return {
    trackId,
    command,
    budget,
    cpuQuota: new CpuQuotaWatch(clock, budget),
    offsetMs: 0,
    seekId: 0,
    markers: undefined,
    sentRun: 0,
    hasBeenAudible: false,
    hasFailed: false,
    isStuckReported: false,
    staysUntilMs: Number.NEGATIVE_INFINITY,
    usedBeforeMs: 0,
    reopenedBefore: 0,
    pipeline: new Pipeline({ input, startMs, endMs, lengthMs, open, codecs, shares, budget, tally, ...hooks }),
  };
}

/**
 * Gives up a reader or decoder that hangs, and opens the track again at a track time; a stream at its live position. A
 * file that cannot be read from the middle starts at its beginning.
 */
export function reopenTrack(
  track: PlayingTrack,
  positionMs: number,
  context: TrackContext & { readonly hooks: PipelineHooks },
): void {
  const { command } = track;
  const isStream = command.lengthMs === undefined;
  const offsetMs = isStream ? positionMs : 0;
  const endMs = command.endMs === undefined ? undefined : command.endMs - offsetMs;
  track.pipeline.close();
  const restarted = startTrack(
    { ...command, startMs: positionMs - offsetMs, endMs },
    context,
    context.hooks,
    track.pipeline.tally,
  );
  track.pipeline = restarted.pipeline;
  track.budget = restarted.budget;
  track.cpuQuota = restarted.cpuQuota;
  track.offsetMs = offsetMs;
  track.sentRun = 0;
  track.usedBeforeMs = 0;
  track.reopenedBefore = 0;
  aimJumps(track, positionMs);
}

/**
 * Gives the pipeline the jumps of the markers, for listeners at `positionMs`, who are to go to `landingMs` at once. A
 * stream has none.
 */
export function aimJumps(
  { command, markers, pipeline }: PlayingTrack,
  positionMs: number,
  landingMs?: number | undefined,
): void {
  if (markers !== undefined && command.lengthMs !== undefined) pipeline.setJumps(markers.jumps, positionMs, landingMs);
}

/** Its remaining time is known, and no seek is pending. */
export function canContinueElsewhere({ pipeline, command, ...track }: PlayingTrack, nowMs: number): boolean {
  if (!track.hasBeenAudible || track.hasFailed || nowMs < track.staysUntilMs) return false;
  if (pipeline.seekTargetMs !== undefined) return false;
  const { lengthMs = 0, endMs = lengthMs } = command;
  const jumpMs = pipeline.nextJumpMs ?? Number.POSITIVE_INFINITY;
  if (jumpMs - pipeline.positionMs < JUMP_MS_MIN) return false;
  return Math.min(lengthMs, endMs) - pipeline.positionMs > HAND_OVER_AHEAD_MS + REST_MS_MIN;
}

/** Another worker was not ready to take it over in time. */
export function keepHere(track: PlayingTrack, nowMs: number): void {
  track.staysUntilMs = nowMs + STAY_MS;
}

/** What another worker needs to continue the track a little ahead of its position. */
export function remoteTrackOf({
  command,
  pipeline,
  seekId,
  markers,
}: PlayingTrack): Pick<RemoteTrack, "play" | "seekId" | "markers"> {
  const startMs = pipeline.positionMs + HAND_OVER_AHEAD_MS * pipeline.rate;
  return { play: { ...command, startMs, isPaused: false }, seekId, markers: markers?.continuedAt(startMs) ?? [] };
}

/** How its audio is made now, and what it holds. */
export function audioOf(track: PlayingTrack): Omit<AudioState, "usedMs"> {
  const { pipeline, budget } = track;
  const audibleMode = pipeline.isTranscoding || pipeline.isFollowing ? "transcoding" : "passthrough";
  return {
    mode: track.hasBeenAudible ? audibleMode : "opening",
    input: pipeline.tally.input,
    queuedMs: Math.round(pipeline.queuedMs),
    heldBytes: budget.memory.usedBytes,
  };
}

/** How it has come to its end, with `restMs` of it still to be played. */
export function endOf({ command, pipeline, seekId, hasFailed }: PlayingTrack, restMs: number): TrackEnd {
  const { landedMs, positionMs, bounds, tally } = pipeline;
  return {
    ...bounds,
    lengthMs: command.lengthMs,
    startMs: landedMs,
    positionMs: positionMs + restMs,
    isSought: seekId > 0 || pipeline.hasJumped,
    hasFailed,
    tally,
  };
}

/** Time of the thread used since the last call, milliseconds. */
export function takeUsedMs(track: PlayingTrack): number {
  const { usedMs } = track.budget;
  const sinceMs = usedMs - track.usedBeforeMs;
  track.usedBeforeMs = usedMs;
  return sinceMs;
}

/** How often its lost server connection was opened again since the last call. */
export function takeReopened(track: PlayingTrack): number {
  const { reopenedCount } = track.budget.upstream;
  const since = reopenedCount - track.reopenedBefore;
  track.reopenedBefore = reopenedCount;
  return since;
}

/** Why it has no frame. */
export function stallCauseOf({ pipeline, budget }: PlayingTrack): LossCause {
  if (pipeline.stallReason === "decoder") return "decoderLate";
  return budget.upstream.isAwaited ? "network" : "inputStarved";
}
