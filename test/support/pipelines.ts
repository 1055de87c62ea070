// A pipeline over a scripted demuxer: whole songs from the start, with unlimited budgets, and no failures unless a test
// says otherwise.

import { expect } from "vitest";
import type { Demuxer } from "../../src/media/demux/demuxer.ts";
import { Pipeline, type PipelineOptions } from "../../src/media/pipeline/pipeline.ts";
import { createTrackBudget } from "./track-budgets.ts";

export function createPipeline(
  demuxer: Demuxer,
  options: Partial<PipelineOptions> & Pick<PipelineOptions, "codecs">,
): Pipeline {
  return new Pipeline({
    input: { kind: "local", path: "/song", container: undefined },
    startMs: 0,
    endMs: undefined,
    lengthMs: undefined,
    open: async () => demuxer,
    volume: 100,
    filters: {},
    budget: createTrackBudget(),
    onProgress: () => undefined,
    onFailure: (error) => expect.fail(String(error)),
    ...options,
  });
}
