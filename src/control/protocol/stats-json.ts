// The Stats object of the protocol (protocol-v4.md section 3.7). Main thread; made by sessions and observability/status.

import { z } from "zod";
import { count, type JsonOf, share } from "./json-of.ts";
import { overloadSchema } from "./node-load-json.ts";

/** Frames of the last whole minute, averaged over the session's players (protocol-v4.md section 4.5). */
export type FrameStatsJson = JsonOf<typeof frameStatsSchema>;
/** `frameStats` is null in messages too until a whole minute has been counted. */
export type StatsJson = JsonOf<typeof statsSchema>;

const frameStatsSchema = z.strictObject({ sent: count, nulled: count, deficit: z.int() });

/** Schema of StatsJson. */
export const statsSchema = z
  .strictObject({
    frameStats: frameStatsSchema.nullable().describe("Always null over REST"),
    players: count,
    playingPlayers: count,
    uptime: count.describe("Milliseconds"),
    /** Bytes. */
    memory: z.strictObject({ free: count, used: count, allocated: count, reservable: count }),
    /** The loads are shares of all cores: what of them is busy, and what of that is this process. */
    cpu: z.strictObject({ cores: count, systemLoad: share, lavalinkLoad: share }),
    tonearm: overloadSchema.optional().describe("Only while the node holds back, as its audio threads are busy"),
  })
  .meta({ id: "Stats" });
