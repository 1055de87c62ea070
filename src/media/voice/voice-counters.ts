// Counters of one player's voice over its whole life: for diagnosis ("why did it stutter?") and metrics. Filled by the
// parts of media/voice, read by the player's voice-output.ts, which reports them. On the audio thread.

import { VOICE_COUNTS, type VoiceCounts } from "../../bridge/audio-report.ts";

export interface VoiceCounters extends Record<keyof VoiceCounts, number> {
  /** Packets handed to the pacer and not revoked, including silence. */
  packetsSent: number;
  /** Frames that were due but could not be sent: no session, encryption failed, too large. */
  framesRefused: number;
  /** Frames DAVE could not encrypt; part of `framesRefused`. */
  encryptFailures: number;
  /** DAVE groups joined and group changes followed. */
  daveTransitions: number;
  /** Times we asked to be removed from the DAVE group and added again. */
  daveRecoveries: number;
  /** Times audio went out unencrypted because no DAVE group was formed in time. */
  plainFallbacks: number;
  /** From op 4 to the first group of the last session, milliseconds; 0 before. */
  daveReadyMs: number;
  /** System errors of packets on their way to the voice server. */
  udpErrors: number;
  /** Gateway frames that could not be parsed; those of a WebSocket are added when it ends. */
  malformedMessages: number;
  /** Sessions resumed after their WebSocket was lost. */
  resumes: number;
  /** New sessions with the same credentials after a loss, or as a repair. */
  reconnects: number;
}

/** All 0. */
export function createVoiceCounters(): VoiceCounters {
  return {
    packetsSent: 0,
    framesRefused: 0,
    encryptFailures: 0,
    daveTransitions: 0,
    daveRecoveries: 0,
    plainFallbacks: 0,
    daveReadyMs: 0,
    udpErrors: 0,
    malformedMessages: 0,
    resumes: 0,
    reconnects: 0,
  };
}

/** The increase from `before` to `now`; undefined when there is none. */
export function countedSince(before: VoiceCounts, now: VoiceCounts): VoiceCounts | undefined {
  if (VOICE_COUNTS.every((name) => now[name] === before[name])) return undefined;
  const since = { ...createVoiceCounters() };
  for (const name of VOICE_COUNTS) since[name] = now[name] - before[name];
  return voiceCountsOf(since);
}

/** Only the counts, as they cross the bridge. */
export function voiceCountsOf(counters: VoiceCounts): VoiceCounts {
  const { framesRefused, encryptFailures, daveTransitions, daveRecoveries, plainFallbacks } = counters;
  const { udpErrors, malformedMessages, resumes, reconnects } = counters;
  return {
    framesRefused,
    encryptFailures,
    daveTransitions,
    daveRecoveries,
    plainFallbacks,
    udpErrors,
    malformedMessages,
    resumes,
    reconnects,
  };
}
