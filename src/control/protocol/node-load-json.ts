// How busy the node is, for those who run it: GET /v4/tonearm/load, and the hint in Stats while it holds back. Main
// thread; made in observability/status.

import { z } from "zod";
import { count, type JsonOf, share } from "./json-of.ts";

/** The answer of `GET /v4/tonearm/load`, and the source of the `tonearm_*` metrics. */
export type LoadJson = JsonOf<typeof loadSchema>;
/** One audio worker; figures are those of its last report, 0 before the first. */
export type WorkerLoadJson = LoadJson["workers"][number];
/** Part of Stats only while the node holds back. */
export type OverloadJson = JsonOf<typeof overloadSchema>;

const complexity = z.int().min(0).max(10);
const milliseconds = z.number().min(0);

/** Of OverloadJson. */
export const overloadSchema = z
  .strictObject({ hasCapacity: z.boolean(), complexity, complexityMax: complexity })
  .meta({ id: "Overload" });

/** Of LoadJson. */
export const loadSchema = z
  .strictObject({
    hasCapacity: z.boolean().describe("False: a player that is silent now would be refused"),
    /** Starts that were refused so far. */
    refused: count,
    moved: count.describe("Players whose sound has gone to a thread with less to do, while they were heard"),
    encoder: z.strictObject({
      complexity: complexity.describe("Now"),
      complexityMax: complexity.describe("Configured"),
    }),
    /** A worker waits to take the place of one that is lost. */
    hasSpareWorker: z.boolean(),
    workers: z.array(
      z.strictObject({
        index: count,
        isIsolated: z.boolean().describe("Its one player is kept apart from the others"),
        isReady: z.boolean(),
        players: count,
        playingPlayers: count,
        load: share.describe("Share of a core"),
        tickLoad: share.describe("What of that is making and sending frames"),
        /** Over the last half second. */
        latenessP99: milliseconds,
        latenessMax: milliseconds,
        /** Since the worker started. */
        framesSent: count,
        framesLost: count,
      }),
    ),
  })
  .meta({ id: "Load" });
