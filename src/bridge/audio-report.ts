// What became of the sound of players, as audio workers tell it with their counters: losses by cause, incidents,
// repairs, and how voice stands. Everything counted is since the report before, so that it may be added up wherever a
// player has been. Plain data, both sides.

import type { PlayerId } from "./commands.ts";

/**
 * Why a frame that was due was not heard, in the order in which they are told:
 * - `workerLate`: the thread came too late to send it; `workerLost`: the player was taken off a thread that was lost,
 * or that it
 *   was too costly for, until it sounded on another
 * - `decoderLate`: packets were there and their sound was not
 * - `network`: the input waited for its server, or the system could not send to Discord
 * - `inputStarved`: the input had nothing ready, and it was not the network that was waited for
 * - `voiceNotReady`: the voice gateway was being connected; `daveNotReady`: end-to-end encryption was not there
 * - `nobodyThere`: nobody else is in the channel. Nobody misses it, so it is counted and makes no incident
 */
export const LOSS_CAUSES = [
  "workerLate",
  "workerLost",
  "decoderLate",
  "network",
  "inputStarved",
  "voiceNotReady",
  "daveNotReady",
  "nobodyThere",
] as const;

/** One of these. */
export type LossCause = (typeof LOSS_CAUSES)[number];

/** Frames of 20 ms, or incidents, by cause. */
export type CauseCounts = Readonly<Record<LossCause, number>>;

/** A new record of its own, all 0. */
export function noLosses(): Record<LossCause, number> {
  return {
    workerLate: 0,
    workerLost: 0,
    decoderLate: 0,
    network: 0,
    inputStarved: 0,
    voiceNotReady: 0,
    daveNotReady: 0,
    nobodyThere: 0,
  };
}

/** All causes together. */
export function sumOf(counts: CauseCounts): number {
  let sum = 0;
  for (const cause of LOSS_CAUSES) sum += counts[cause];
  return sum;
}

/** What was done for a player that should sound and sent nothing: its input opened anew, or a new voice session. */
export const REPAIR_KINDS = ["reopen", "rejoin"] as const;

/** One of these. */
export type RepairKind = (typeof REPAIR_KINDS)[number];

/** One that was begun. */
export interface Repair {
  readonly kind: RepairKind;
  /** What it was taken to lack. */
  readonly cause: LossCause;
  /** When it was begun, Unix epoch milliseconds. */
  readonly epochMs: number;
  /** How long nothing had been sent by then, milliseconds. */
  readonly silentMs: number;
}

/** A stretch in which sound was missing, with less than a second of whole sound between its gaps. */
export interface Incident {
  /** That of most of its frames. */
  readonly cause: LossCause;
  /** When the first frame was missing, Unix epoch milliseconds. */
  readonly startEpochMs: number;
  /** From there to the end of the last missing frame, milliseconds. */
  readonly lengthMs: number;
  readonly framesLost: number;
  /** Undefined: it ended by itself, or has not ended. */
  readonly repair: RepairKind | undefined;
}

/** What voice connections count. */
export const VOICE_COUNTS = [
  "framesRefused",
  "encryptFailures",
  "daveTransitions",
  "daveRecoveries",
  "plainFallbacks",
  "udpErrors",
  "malformedMessages",
  "resumes",
  "reconnects",
] as const;

/** What each means: media/voice/voice-counters.ts. */
export type VoiceCounts = Readonly<Record<(typeof VOICE_COUNTS)[number], number>>;

/** How a voice connection stands. */
export interface VoiceReport {
  /**
   * Where its session is between opening the gateway and `live`; `between`: waiting for the next attempt; `down`: none.
   */
  readonly state: VoiceStateName;
  /** What becomes of due frames (media/voice/voice.ts). */
  readonly gate: "send" | "hold" | "discard" | "down";
  /** -1 without a connection, 0 before the first heartbeat is acknowledged. */
  readonly pingMs: number;
  readonly dave: DaveReport;
}

/** Where a voice session is, in the order of its life; see `VoiceReport`. */
export const VOICE_STATES = [
  "down",
  "between",
  "opening",
  "identifying",
  "discovering",
  "selecting",
  "resuming",
  "live",
  "detached",
  "closed",
] as const;

/** One of these. */
type VoiceStateName = (typeof VOICE_STATES)[number];

/** How the end-to-end encryption of a voice session stands. */
export interface DaveReport {
  /** What was negotiated; 0 is none. */
  readonly version: number;
  /** Of the group; undefined without one. */
  readonly epoch: number | undefined;
  /** `plain`: frames go out unencrypted; `waiting`: for a group; `recovering`: leaving it and coming back. */
  readonly state: "plain" | "waiting" | "encrypted" | "recovering";
  /** From the description of the session to its first group, milliseconds; 0 before. */
  readonly readyMs: number;
}

/** What has changed about one player since the last such report of its worker. */
export interface PlayerReport {
  readonly playerId: PlayerId;
  /** Frames sent that no AudioBatch tells of, as there is no track any more. */
  readonly framesSent: number;
  /** Undefined: none. */
  readonly lostFrames: CauseCounts | undefined;
  /** Those that are over, at most `INCIDENTS_PER_REPORT`. */
  readonly incidents: readonly Incident[];
  /** The one that is not, as it is by now. */
  readonly openIncident: Incident | undefined;
  readonly repairs: readonly Repair[];
  /** Times a lost connection to the input's server was opened again. */
  readonly inputReopened: number;
  /** Undefined: nothing was counted. */
  readonly voiceCounts: VoiceCounts | undefined;
  /** Undefined: as before. */
  readonly voice: VoiceReport | undefined;
}

/**
 * Each takes a second of whole sound to end by itself, and reports come twice a second: more only by pauses and stops.
 */
export const INCIDENTS_PER_REPORT = 8;
