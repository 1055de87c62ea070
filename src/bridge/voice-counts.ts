// The counters of voice connections, declared once: they rise in media/voice, cross the bridge with each player's
// report, are added up per player and for the node, and are served as JSON and metrics. A new one needs an entry here,
// the place where it rises, and a line in docs/reference/metrics.md. Both sides.

import { zeroCounts } from "./zero-counts.ts";

/** How a counter is served to Prometheus. */
interface CounterText {
  /** Name behind `tonearm_`. */
  readonly metric: string;
  readonly help: string;
}

/** In the order of the JSON and the metrics. Each counts since its player was made. */
export const VOICE_COUNTERS = {
  /** Frames that were due but could not be sent: no session, encryption failed, too large. */
  framesRefused: { metric: "voice_frames_refused_total", help: "Frames that voice connections could not send." },
  /** Frames DAVE could not encrypt; part of `framesRefused`. */
  encryptFailures: {
    metric: "dave_encrypt_failures_total",
    help: "Frames that could not be encrypted end to end; refused.",
  },
  /** DAVE groups joined and group changes followed. */
  daveTransitions: { metric: "dave_transitions_total", help: "DAVE groups joined and changes of them followed." },
  /** Times we asked to be removed from the DAVE group and added again. */
  daveRecoveries: {
    metric: "dave_recoveries_total",
    help: "Times a DAVE group was left and joined again to repair it.",
  },
  /** Times audio was sent unencrypted because no DAVE group was joined in time. */
  plainFallbacks: {
    metric: "dave_plain_fallbacks_total",
    help: "Times no DAVE group was joined in time and audio was sent without end-to-end encryption.",
  },
  /** Errors of the system about packets on their way to the voice server. */
  udpErrors: { metric: "voice_udp_errors_total", help: "Errors of the system about packets to voice servers." },
  /** Gateway frames that could not be read; those of a WebSocket are added when it ends. */
  malformedMessages: {
    metric: "voice_malformed_messages_total",
    help: "Messages of voice gateways that could not be read.",
  },
  /** Sessions resumed after their WebSocket was lost. */
  resumes: { metric: "voice_resumes_total", help: "Voice sessions resumed after their WebSocket was lost." },
  /** New sessions with the same credentials after a loss, or as a repair. */
  reconnects: { metric: "voice_reconnects_total", help: "New voice sessions with the same credentials." },
} as const satisfies Readonly<Record<string, CounterText>>;

/** The name of one of them. */
type VoiceCounter = keyof typeof VOICE_COUNTERS;

/** Their values. */
export type VoiceCounts = Readonly<Record<VoiceCounter, number>>;

/** Their names, in order. */
export const VOICE_COUNTS = Object.keys(VOICE_COUNTERS) as readonly VoiceCounter[]; // its own keys

/** A new record, all 0. */
export function noVoiceCounts(): Record<VoiceCounter, number> {
  return zeroCounts(VOICE_COUNTS);
}
