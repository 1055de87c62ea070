// The `frameStats` of one session (protocol-v4.md section 4.5): averages over its players of the last whole minute.
// Main thread.

import { sumOf } from "../../bridge/audio-report.ts";
import type { FrameStatsJson } from "../protocol/stats-json.ts";
import type { SessionPlayer } from "./session-player.ts";

/** 20 ms frames in a minute. */
const FRAMES_PER_MINUTE = 3000;
const MINUTE_MS = 60_000;

/** Null when no player was playing throughout the last whole minute before `epochMs`. */
export function frameStats(players: Iterable<SessionPlayer>, epochMs: number): FrameStatsJson | null {
  const lastMinute = Math.floor(epochMs / MINUTE_MS) - 1;
  let count = 0;
  let sent = 0;
  let lost = 0;
  for (const player of players) {
    const frames = player.isPlaying ? player.frameMinute(lastMinute) : undefined;
    if (frames === undefined || !frames.isWholeMinute) continue;
    count++;
    sent += frames.sentFrames;
    lost += sumOf(frames.lostFrames);
  }
  if (count === 0) return null;
  return {
    sent: Math.floor(sent / count),
    nulled: Math.floor(lost / count),
    deficit: Math.trunc((FRAMES_PER_MINUTE * count - sent - lost) / count),
  };
}
