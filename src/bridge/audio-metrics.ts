// The metrics of audio workers and their players, declared once. Types, the packed report (worker-report.ts), the sums
// over reports, players and workers, lost ones included, and the Prometheus families follow from these tables. A new
// counter needs an entry here, the place where it is counted, and a line in docs/reference/metrics.md. Both sides.

import { LOSS_CAUSES } from "./audio-report.ts";
import type { PlayerId } from "./commands.ts";
import { type CounterField, type CounterFields, CounterTable, type CountsOf } from "./counter-table.ts";

/** Counters of voice connections, in the order of the diagnosis of a player. */
const VOICE_COUNTERS = {
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
} as const satisfies CounterFields;

/** The name of a counter of voice connections. */
export type VoiceCounter = keyof typeof VOICE_COUNTERS;

/** The counters of voice connections, in order. */
export const VOICE_COUNTS = Object.keys(VOICE_COUNTERS) as readonly VoiceCounter[]; // its own keys

/**
 * Why a track ended before half of its stated length was played, without a seek:
 * - `bytesEnded`: there were no more packets
 * - `samplesSkipped`: packets were read to the end, and much of their audio was trimmed, or missing between them
 * - `decoderErrors`: packets could not be decoded
 * - `exception`: a failure that was reported to the client
 */
const EARLY_END_REASONS = ["bytesEnded", "samplesSkipped", "decoderErrors", "exception"] as const;

/** One of these. */
export type EarlyEndReason = (typeof EARLY_END_REASONS)[number];

/** Counters of players, summed per player, per worker and for the node. */
export const PLAYER_COUNTERS = new CounterTable({
  /** Audio frames of 20 ms. Frames that are revoked before they leave are subtracted, so an increase may be below 0. */
  framesSent: { metric: "frames_sent_total", help: "Audio frames sent, 20 ms each." },
  /** Frames of 20 ms that were due and not sent. */
  lostFrames: {
    metric: "frames_lost_total",
    help: "Frames that were due and not sent.",
    label: { name: "cause", values: LOSS_CAUSES },
  },
  /** Times a lost connection to the input's server was opened again. */
  inputReopened: { metric: "input_reopened_total", help: "Lost connections to inputs' servers opened again." },
  /** Tracks that ended long before they should have. */
  earlyEnds: {
    metric: "tracks_ended_early_total",
    help: "Tracks that ended before half of their stated length was played, by reason.",
    label: { name: "reason", values: EARLY_END_REASONS },
  },
  /** Packets handed to the pacer and not revoked, silence included. */
  packetsSent: { metric: "voice_packets_sent_total", help: "Packets sent to voice servers, silence included." },
  ...VOICE_COUNTERS,
});

/** The counts of players. */
export type PlayerCounts = CountsOf<(typeof PLAYER_COUNTERS)["fields"]>;

/** Lateness of sent packets, in classes. A frame is due every 20 ms; 60 may be caught up. */
export const LATENESS_HISTOGRAM = {
  metric: "frame_lateness_seconds",
  help: "How late frames were sent.",
  boundsMs: [1, 2, 5, 10, 20, 40, 60],
} as const satisfies CounterField;

/** How one gauge is declared. */
export interface GaugeField {
  /** Prometheus name behind `tonearm_worker_`, and help text; undefined: not exported. */
  readonly metric?: string;
  readonly help?: string;
}

/** Gauges of a worker, as of its last report. They are never summed: each worker has its own. */
export const WORKER_GAUGES = {
  /** Share of a core that the thread used over the last period, with anything, 0 to 1. */
  threadLoad: { metric: "load", help: "Share of a core that an audio thread uses." },
  /** Share of the last period spent producing and sending, 0 to 1. Decides where new players go. */
  tickLoad: {},
  /** Players whose audio is made here. */
  playerCount: {},
  /** Players of this worker that have a track and are not paused. */
  playingCount: { metric: "playing_players", help: "Players that play on an audio thread." },
  /** Lateness of the packets sent over the last period, 99th percentile, milliseconds. */
  latenessMsP99: { metric: "lateness_p99_milliseconds", help: "Lateness of packets." },
  /** Lateness of the latest of them, milliseconds. */
  latenessMsMax: {},
} as const satisfies Readonly<Record<string, GaugeField>>;

/** How a worker is doing. */
export interface WorkerMetrics extends Readonly<Record<keyof typeof WORKER_GAUGES, number>> {
  /** `LATENESS_HISTOGRAM` of the packets sent since the last report; a shorter list ends with zeros. */
  readonly lateness: readonly number[];
  /** The player that uses most of the thread, among those whose audio can be rendered elsewhere (`handOver`). */
  readonly heaviestPlayer: PlayerId | undefined;
}

/** Gauges of the track of a player, as of its last report. None is exported: a label would have to name the guild. */
export const PLAYER_GAUGES = {
  /** Audio that is read and not yet sent, milliseconds of track time. */
  queuedMs: {},
  /** Memory the track holds: bytes read ahead, tables, decoder. */
  heldBytes: {},
  /** Time of its thread that it has used since the last report, milliseconds. */
  usedMs: {},
} as const;

/** How packets are made. `opening`: none has been made for this track yet. */
export const AUDIO_MODES = ["opening", "passthrough", "transcoding"] as const;

/** The codecs that can be decoded. `pcm` stands for all audio without a codec, A-law and mu-law included. */
export const AUDIO_CODECS = ["opus", "vorbis", "mp3", "aac", "flac", "alac", "pcm"] as const;

/** The audio that a track's input has. */
export interface InputFormat {
  readonly codec: (typeof AUDIO_CODECS)[number];
  /** Mean of the compressed audio read so far, bits per second of track time; 0: not known. */
  readonly bitrate: number;
}

/** How the audio of one player is made. */
export interface AudioState extends Readonly<Record<keyof typeof PLAYER_GAUGES, number>> {
  readonly mode: (typeof AUDIO_MODES)[number];
  /** Undefined before the first packet. */
  readonly input?: InputFormat | undefined;
}
