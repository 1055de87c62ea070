// The `frameStats` of one session (protocol-v4.md section 4.5): averages over its players of the last whole minute,
// also over those on other machines, which count them there. Main thread.

import { z } from "zod";
import { sumOf } from "../../bridge/audio-report.ts";
import type { FrameStatsJson } from "../protocol/stats-json.ts";
import type { SessionPlayer } from "./session-player.ts";

/** 20 ms frames in a minute. */
const FRAMES_PER_MINUTE = 3000;
const MINUTE_MS = 60_000;

/** Frames of some players in one minute. */
const frameCounts = z.strictObject({
  /** Epoch milliseconds / 60000. */
  minute: z.int(),
  /** Players that were playing throughout. */
  count: z.int().min(0),
  sent: z.int().min(0),
  lost: z.int().min(0),
});

export type FrameCounts = z.infer<typeof frameCounts>;

/** Of the last whole minute before `epochMs`. */
export function countFrames(players: Iterable<SessionPlayer>, epochMs: number): FrameCounts {
  const minute = Math.floor(epochMs / MINUTE_MS) - 1;
  let count = 0;
  let sent = 0;
  let lost = 0;
  for (const player of players) {
    const frames = player.isPlaying ? player.frameMinute(minute) : undefined;
    if (frames === undefined || !frames.isWholeMinute) continue;
    count++;
    sent += frames.sentFrames;
    lost += sumOf(frames.lostFrames);
  }
  return { minute, count, sent, lost };
}

/** As another machine has written it; undefined: it is not that. */
export function readFrameCounts(text: string): FrameCounts | undefined {
  try {
    return frameCounts.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Of `own` and those of `others` that are at most a minute older: each machine counts at its own time. Null when no player
 * was playing throughout.
 */
export function frameStats(own: FrameCounts, others: Iterable<FrameCounts> = []): FrameStatsJson | null {
  let { count, sent, lost } = own;
  for (const other of others) {
    if (other.minute < own.minute - 1) continue;
    count += other.count;
    sent += other.sent;
    lost += other.lost;
  }
  if (count === 0) return null;
  return {
    sent: Math.floor(sent / count),
    nulled: Math.floor(lost / count),
    deficit: Math.trunc((FRAMES_PER_MINUTE * count - sent - lost) / count),
  };
}
