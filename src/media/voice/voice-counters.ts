// What is counted about one player's voice over its whole life: for diagnosis ("why did it stutter?") and metrics. Filled
// in by the parts of media/voice, read by the player. On the audio thread.

export interface VoiceCounters {
  /** Packets handed to the system, silence included. */
  packetsSent: number;
  /** Frames that were due but had no way out: no session, encryption failed, too large. */
  framesRefused: number;
  /** Frames DAVE could not encrypt; part of `framesRefused`. */
  encryptFailures: number;
  /** DAVE groups joined and group changes followed. */
  daveTransitions: number;
  /** Times we asked to be taken out of the DAVE group and back in. */
  daveRecoveries: number;
  /** Times sound went out unencrypted because no DAVE group came to be in time. */
  plainFallbacks: number;
  /** From op 4 to the first group of the last session, milliseconds; 0 before. */
  daveReadyMs: number;
  udpErrors: number;
  /** Gateway frames that could not be read. */
  malformedMessages: number;
  /** Sessions taken up again after their WebSocket was lost. */
  resumes: number;
  /** New sessions with the same credentials after a loss. */
  reconnects: number;
}

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
