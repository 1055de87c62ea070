// One playing of one track on the audio thread: its pipeline, what it may take, and what has become of it so far. Held
// by player-tracks.ts. Audio thread.

import type { LossCause } from "../../bridge/audio-report.ts";
import type { PlayCommand, PlayerId, SeekId, TrackId } from "../../bridge/commands.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RemoteTrack } from "../handoff/relay-messages.ts";
import { Pipeline, type PipelineOptions } from "../pipeline/pipeline.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { CpuQuotaWatch } from "./cpu-quota-watch.ts";

/** What opening a track on another worker may take: so far ahead that one takes over. */
const HAND_OVER_AHEAD_MS = 2000;
/** For a rest that is shorter, it is not worth while. */
const REST_MS_MIN = 10_000;
/** Until it is tried again: opening it there has cost something. */
const STAY_MS = 5000;

export interface PlayingTrack {
  readonly trackId: TrackId;
  /** As it was asked for, but for the end, which may have been set anew. */
  command: PlayCommand;
  pipeline: Pipeline;
  budget: TrackBudget;
  cpuQuota: CpuQuotaWatch;
  /** Added to the pipeline's track times: a stream that was opened anew counts from 0 there. */
  offsetMs: number;
  seekId: SeekId;
  /** The pipeline's run (see `Pipeline.runNumber`) of the frame sent last. */
  sentRun: number;
  /** Some of its sound has gone out (or would have, had somebody been there to hear it). */
  hasBeenAudible: boolean;
  hasFailed: boolean;
  isStuckReported: boolean;
  /** Another worker was not ready for it in time: before this moment it is not tried again. */
  staysUntilMs: number;
  /** What it had used of the thread when that was last asked for. */
  usedBeforeMs: number;
  /** How often its input had been opened again by then. */
  reopenedBefore: number;
}

/** What a track is played with. */
export interface TrackContext {
  readonly clock: Clock;
  readonly open: PipelineOptions["open"];
  readonly codecs: PipelineOptions["codecs"];
  /** What a track of this player may take. */
  readonly createBudget: (playerId: PlayerId) => TrackBudget;
}

/** What a pipeline begins with, and whom it tells of what. */
export type PipelineHooks = Pick<PipelineOptions, "volume" | "filters" | "onProgress" | "onFailure">;

/** Begins to read it. */
export function startTrack(
  command: PlayCommand,
  { clock, open, codecs, createBudget }: TrackContext,
  hooks: PipelineHooks,
): PlayingTrack {
  const { playerId, trackId, input, startMs, endMs, lengthMs } = command;
  const budget = createBudget(playerId);
  return {
    trackId,
    command,
    budget,
    cpuQuota: new CpuQuotaWatch(clock, budget),
    offsetMs: 0,
    seekId: 0,
    sentRun: 0,
    hasBeenAudible: false,
    hasFailed: false,
    isStuckReported: false,
    staysUntilMs: Number.NEGATIVE_INFINITY,
    usedBeforeMs: 0,
    reopenedBefore: 0,
    pipeline: new Pipeline({ input, startMs, endMs, lengthMs, open, codecs, budget, ...hooks }),
  };
}

/**
 * Gives up what the track was read and decoded with, which hangs, and begins anew at a track time; of a stream, with
 * what is live. A file that cannot be read in the middle begins at its beginning.
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
  const restarted = startTrack({ ...command, startMs: positionMs - offsetMs, endMs }, context, context.hooks);
  track.pipeline = restarted.pipeline;
  track.budget = restarted.budget;
  track.cpuQuota = restarted.cpuQuota;
  track.offsetMs = offsetMs;
  track.sentRun = 0;
  track.usedBeforeMs = 0;
  track.reopenedBefore = 0;
}

/** It has some time to play that is known, and is where it was last sent to. */
export function canGoOnElsewhere({ pipeline, command, ...track }: PlayingTrack, nowMs: number): boolean {
  if (!track.hasBeenAudible || track.hasFailed || nowMs < track.staysUntilMs) return false;
  if (pipeline.seekTargetMs !== undefined) return false;
  const { lengthMs = 0, endMs = lengthMs } = command;
  return Math.min(lengthMs, endMs) - pipeline.positionMs > HAND_OVER_AHEAD_MS + REST_MS_MIN;
}

/** Another worker was not ready for it in time. */
export function keepHere(track: PlayingTrack, nowMs: number): void {
  track.staysUntilMs = nowMs + STAY_MS;
}

/** How another worker goes on with it, a little ahead of where it is. */
export function remoteTrackOf({ command, pipeline, seekId }: PlayingTrack): Pick<RemoteTrack, "play" | "seekId"> {
  const startMs = pipeline.positionMs + HAND_OVER_AHEAD_MS * pipeline.rate;
  return { play: { ...command, startMs, isPaused: false }, seekId };
}

/** Time of the thread that it has used since the last call, milliseconds. */
export function takeUsedMs(track: PlayingTrack): number {
  const { usedMs } = track.budget;
  const sinceMs = usedMs - track.usedBeforeMs;
  track.usedBeforeMs = usedMs;
  return sinceMs;
}

/** How often a lost connection to its server has been opened again since the last call. */
export function takeReopened(track: PlayingTrack): number {
  const { reopenedCount } = track.budget.upstream;
  const since = reopenedCount - track.reopenedBefore;
  track.reopenedBefore = reopenedCount;
  return since;
}

/** Why it has no frame to give. */
export function stallCauseOf({ pipeline, budget }: PlayingTrack): LossCause {
  if (pipeline.stallReason === "decoder") return "decoderLate";
  return budget.upstream.isAwaited ? "network" : "inputStarved";
}
