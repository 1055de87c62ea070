// The load of the node, for its operators: GET /v4/tonearm/load, and the hint in Stats while it refuses new players.
// Main thread; made in observability/status.

import { z } from "zod";
import { count, type JsonOf, share } from "./json-of.ts";

/** The answer of `GET /v4/tonearm/load`, and the source of the `tonearm_*` metrics. */
export type LoadJson = JsonOf<typeof loadSchema>;
/** One audio worker; figures are from its last report, 0 before the first. */
export type WorkerLoadJson = LoadJson["workers"][number];
/** Audio that several players lost at the same time. */
export type SharedIncidentJson = LoadJson["sharedIncidents"][number];
/** Part of Stats only while the node holds back. */
export type OverloadJson = JsonOf<typeof overloadSchema>;

const complexity = z.int().min(0).max(10);
const milliseconds = z.number().min(0);

/** Schema of OverloadJson. */
export const overloadSchema = z
  .strictObject({ hasCapacity: z.boolean(), complexity, complexityMax: complexity })
  .meta({ id: "Overload" });

/** Schema of LoadJson. */
export const loadSchema = z
  .strictObject({
    hasCapacity: z.boolean().describe("False: a player that is silent now would be refused"),
    /** Starts that were refused so far. */
    refused: count,
    moved: count.describe("Players whose audio was moved to a less loaded thread while they were playing"),
    encoder: z.strictObject({
      complexity: complexity.describe("Now"),
      complexityMax: complexity.describe("Configured"),
    }),
    framesLost: count.describe("Frames that listeners missed since the node started, of all workers"),
    sharedIncidents: z
      .array(
        z.strictObject({
          start: z.int().describe("Epoch milliseconds"),
          length: milliseconds,
          players: count.describe("How many it interrupted, 2 or more"),
          framesLost: count,
        }),
      )
      .describe("The last 20 times that an audio thread or the machine stood still, newest first"),
    /** A worker is ready to replace one that is lost. */
    hasSpareWorker: z.boolean(),
    workers: z.array(
      z.strictObject({
        index: count,
        isIsolated: z.boolean().describe("Its one player is isolated from the others"),
        isReady: z.boolean(),
        players: count,
        playingPlayers: count,
        load: share.describe("Share of a core"),
        tickLoad: share.describe("The part of it spent on rendering and sending frames"),
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
