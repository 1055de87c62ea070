// The audio quality of players, as audio workers report it (worker-report.ts): losses by cause, incidents, repairs, and
// the state of voice. Plain data, both sides.

import { zeroCounts } from "./zero-counts.ts";

/**
 * Why a frame that was due was not sent, in report order:
 * - `workerLate`: the thread was too late to send it; `workerLost`: the player left a thread that was lost, or that it
 *   was too costly for, until another one sent its audio
 * - `decoderLate`: packets were there but not decoded
 * - `network`: the input waited for its server, or the system could not send to Discord
 * - `inputStarved`: the input had nothing ready, and was not waiting for the network
 * - `voiceNotReady`: the voice gateway was being connected; `daveNotReady`: end-to-end encryption was not ready
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

/** A new record, all 0. */
export function noLosses(): Record<LossCause, number> {
  return zeroCounts(LOSS_CAUSES);
}

/** All causes together. */
export function sumOf(counts: CauseCounts): number {
  let sum = 0;
  for (const cause of LOSS_CAUSES) sum += counts[cause];
  return sum;
}

/** Those that listeners missed: all but those in an empty channel. */
export function missedOf(counts: CauseCounts): number {
  return sumOf(counts) - counts.nobodyThere;
}

/** What was done for a player that should play and sent nothing: reopen its input, or join a new voice session. */
export const REPAIR_KINDS = ["reopen", "rejoin"] as const;

/** One of these. */
export type RepairKind = (typeof REPAIR_KINDS)[number];

/** A repair that was started. */
export interface Repair {
  readonly kind: RepairKind;
  /** The assumed cause of the silence. */
  readonly cause: LossCause;
  /** When it was started, Unix epoch milliseconds. */
  readonly epochMs: number;
  /** How long nothing had been sent by then, milliseconds. */
  readonly silentMs: number;
}

/** A period in which audio was missing, with less than a second of complete audio between its gaps. */
export interface Incident {
  /** The cause of most of its lost frames. */
  readonly cause: LossCause;
  /** When the first frame was missing, Unix epoch milliseconds. */
  readonly startEpochMs: number;
  /** From there to the end of the last missing frame, milliseconds. */
  readonly lengthMs: number;
  readonly framesLost: number;
  /** Undefined: it ended by itself, or has not ended. */
  readonly repair: RepairKind | undefined;
  /** The server that the input waited for; undefined when it waited for none. */
  readonly server?: SlowServer | undefined;
  /** True when it had lasted `LASTING_MS` and was reported then, so that its end is not counted again. */
  readonly wasLasting?: true | undefined;
}

/** An incident of this length is reported before it ends, milliseconds: it may never end. */
export const LASTING_MS = 5000;

/** A server that did not deliver what was played. */
export interface SlowServer {
  /** As in a URL, without credentials. */
  readonly host: string;
  /** What came during the incident, bytes a second; undefined when it was too short to tell. */
  readonly receivedRate: number | undefined;
  /** What playing without a gap would have taken, bytes a second; undefined when nothing was played. */
  readonly neededRate: number | undefined;
}

/** How a voice connection stands. */
export interface VoiceReport {
  /**
   * Where its session is between opening the gateway and `live`; `between`: waiting for the next attempt; `down`: none.
   */
  readonly state: VoiceStateName;
  /** What happens to due frames (media/voice/voice.ts). */
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
  /** Negotiated protocol version; 0: no DAVE. */
  readonly version: number;
  /** Epoch of the group; undefined without a group. */
  readonly epoch: number | undefined;
  /** `plain`: frames go out unencrypted; `waiting`: for a group; `recovering`: leaving it and coming back. */
  readonly state: "plain" | "waiting" | "encrypted" | "recovering";
  /** From the description of the session to its first group, milliseconds; 0 before. */
  readonly readyMs: number;
}

/** Changes in the audio of one player since the last such report of its worker. */
export interface AudioChanges {
  /** Incidents that are over, at most `INCIDENTS_PER_REPORT`. */
  readonly incidents: readonly Incident[];
  /** The one that is not, as it is by now. */
  readonly openIncident: Incident | undefined;
  /** True once for an open incident: it has lasted `LASTING_MS`. */
  readonly isNowLasting?: true | undefined;
  readonly repairs: readonly Repair[];
  /** Undefined: as before. */
  readonly voice: VoiceReport | undefined;
}

/**
 * An incident takes a second of complete audio to end by itself, and reports are sent twice a second: only pauses and
 * stops can end more of them.
 */
export const INCIDENTS_PER_REPORT = 8;
