// Counters of one voice connection over its whole life: for diagnosis ("why did it stutter?") and metrics. Filled by the
// parts of media/voice, read by the player's voice-output.ts, which adds them to those of the player. On the audio
// thread.

import { VOICE_COUNTS, type VoiceCounter } from "../../bridge/audio-metrics.ts";
import { zeroCounts } from "../../bridge/zero-counts.ts";

/** Counts of a voice connection for its player; their meaning is in audio-metrics.ts. */
export type VoiceCounts = Record<VoiceCounter | "packetsSent", number>;

/** The counts of a voice connection, and a figure that is reported in another way. */
export interface VoiceCounters extends VoiceCounts {
  /** From op 4 to the first group of the last session, milliseconds; 0 before. */
  daveReadyMs: number;
}

const COUNTED = [...VOICE_COUNTS, "packetsSent"] as const;

/** All 0. */
export function noVoiceCounts(): VoiceCounts {
  return zeroCounts(COUNTED);
}

/** All 0. */
export function createVoiceCounters(): VoiceCounters {
  return { ...noVoiceCounts(), daveReadyMs: 0 };
}

/** Adds to `sum` the increase of `now` over `before`, and makes `before` the same as `now`. */
export function moveIncrease(now: Readonly<VoiceCounts>, before: VoiceCounts, sum: VoiceCounts): void {
  for (const name of COUNTED) {
    sum[name] += now[name] - before[name];
    before[name] = now[name];
  }
}
