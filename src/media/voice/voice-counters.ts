// Counters of one player's voice over its whole life: for diagnosis ("why did it stutter?") and metrics. Filled by the
// parts of media/voice, read by the player's voice-output.ts, which reports them. On the audio thread.

import { noVoiceCounts, VOICE_COUNTS, type VoiceCounts } from "../../bridge/voice-counts.ts";

/** The counters that cross the bridge (their meaning: voice-counts.ts), and two figures reported in other ways. */
export interface VoiceCounters extends Record<keyof VoiceCounts, number> {
  /** Packets handed to the pacer and not revoked, silence included. */
  packetsSent: number;
  /** From op 4 to the first group of the last session, milliseconds; 0 before. */
  daveReadyMs: number;
}

/** All 0. */
export function createVoiceCounters(): VoiceCounters {
  return { ...noVoiceCounts(), packetsSent: 0, daveReadyMs: 0 };
}

/** The increase from `before` to `now`; undefined when there is none. */
export function countedSince(before: VoiceCounts, now: VoiceCounts): VoiceCounts | undefined {
  if (VOICE_COUNTS.every((name) => now[name] === before[name])) return undefined;
  const since = noVoiceCounts();
  for (const name of VOICE_COUNTS) since[name] = now[name] - before[name];
  return since;
}

/** Only the counts, as they cross the bridge. */
export function voiceCountsOf(counters: VoiceCounts): VoiceCounts {
  const counts = noVoiceCounts();
  for (const name of VOICE_COUNTS) counts[name] = counters[name];
  return counts;
}
