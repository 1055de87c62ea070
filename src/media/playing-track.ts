// One playing of one track on the audio thread: its pipeline, what it may take, and what has become of it so far. Held by
// player.ts. Audio thread.

import type { PlayCommand, PlayerId, SeekId, TrackId } from "../bridge/commands.ts";
import type { Clock } from "../lib/clock.ts";
import type { TrackBudget } from "./budget/track-budget.ts";
import { GreedWatch } from "./greed-watch.ts";
import { Pipeline, type PipelineOptions } from "./pipeline.ts";

export interface PlayingTrack {
  readonly trackId: TrackId;
  readonly pipeline: Pipeline;
  readonly budget: TrackBudget;
  readonly greed: GreedWatch;
  seekId: SeekId;
  /** The pipeline's run (see `Pipeline.runNumber`) of the frame sent last. */
  sentRun: number;
  /** Some of its sound has gone out (or would have, had somebody been there to hear it). */
  hasSounded: boolean;
  hasFailed: boolean;
  isStuckReported: boolean;
}

/** What a track is played with. */
export interface TrackSurroundings {
  readonly clock: Clock;
  readonly open: PipelineOptions["open"];
  readonly codecs: PipelineOptions["codecs"];
  /** What a track of this player may take. */
  readonly createBudget: (playerId: PlayerId) => TrackBudget;
}

/** Begins to read it. */
export function startTrack(
  { playerId, trackId, input, startMs, endMs, lengthMs }: PlayCommand,
  { clock, open, codecs, createBudget }: TrackSurroundings,
  hooks: Pick<PipelineOptions, "chain" | "onProgress" | "onFailure">,
): PlayingTrack {
  const budget = createBudget(playerId);
  return {
    trackId,
    budget,
    greed: new GreedWatch(clock, budget),
    seekId: 0,
    sentRun: 0,
    hasSounded: false,
    hasFailed: false,
    isStuckReported: false,
    pipeline: new Pipeline({ input, startMs, endMs, lengthMs, open, codecs, budget, ...hooks }),
  };
}
