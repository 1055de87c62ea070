// Judges the end of a track: whether it came long before it should have, and whether anything was audible at all. A
// track that ends as if all were well, and was not heard, looks like success to the client and the operator
// (docs/internals/incidents.md). Called when a track ends, by player-tracks.ts. Audio thread.

import type { EarlyEndReason } from "../../bridge/audio-metrics.ts";
import { type ErrorCode, NodeError } from "../../errors.ts";
import type { TrackTally } from "../pipeline/track-tally.ts";

/** Ends that miss less are rounding, encoder delay and trimmed padding. */
const MISSING_MS_MIN = 100;
/** Near its end a track may hold nothing more than what warms a decoder up. */
const REST_MS_MIN = 1000;

/** Facts about a track that is ending. Times are track time, milliseconds. */
export interface TrackEnd {
  /** As reported to the client; undefined for streams. */
  readonly lengthMs: number | undefined;
  /** The requested end; undefined: the track's own. */
  readonly endMs: number | undefined;
  /** Where it started. */
  readonly startMs: number;
  /** How far it was played. */
  readonly positionMs: number;
  /** How far its packets were read. */
  readonly readUntilMs: number;
  /** True when the client has moved it: where it started says nothing then. */
  readonly isSought: boolean;
  /** An exception has been reported. */
  readonly hasFailed: boolean;
  readonly tally: Pick<
    TrackTally,
    "packetCount" | "undecodedCount" | "undecodedMs" | "gapMs" | "hasDecoded" | "hasAudio"
  >;
}

/** An end that came too early. */
export interface EarlyEnd {
  readonly reason: EarlyEndReason;
  readonly playedMs: number;
  /** For the client, when nothing was audible and it has not been notified of a failure yet. */
  readonly error: NodeError | undefined;
}

/** Undefined: the track was played, or it is not known how much of it there should have been. */
export function findEarlyEnd(end: TrackEnd): EarlyEnd | undefined {
  const isInaudible = isEntirelyInaudible(end);
  if (!isInaudible && !isFarTooShort(end)) return undefined;
  const reason = reasonOf(end);
  const error = isInaudible && !end.hasFailed ? inaudibleError(reason, end.tally) : undefined;
  return { reason, playedMs: isInaudible ? 0 : playedMsOf(end), error };
}

/** Audio that is silent is audio: only a track of which none was made counts. */
function isEntirelyInaudible({ lengthMs, startMs, isSought, tally }: TrackEnd): boolean {
  if (tally.hasAudio) return false;
  if (!isSought && startMs === 0) return true;
  // Behind the start there may have been nothing, as where the stated length is an estimate.
  const restMs = (lengthMs ?? Number.POSITIVE_INFINITY) - startMs;
  return tally.undecodedCount > 0 && !tally.hasDecoded && restMs >= REST_MS_MIN;
}

function isFarTooShort(end: TrackEnd): boolean {
  if (end.isSought) return false;
  const dueMs = dueMsOf(end);
  const playedMs = playedMsOf(end);
  return playedMs < dueMs / 2 && dueMs - playedMs >= MISSING_MS_MIN;
}

/** The largest part of what is missing decides. */
function reasonOf(end: TrackEnd): EarlyEndReason {
  if (end.hasFailed) return "exception";
  const { startMs, readUntilMs, tally } = end;
  const { packetCount, undecodedCount, undecodedMs, hasDecoded, hasAudio } = tally;
  if (packetCount === 0) return "bytesEnded";
  if (!hasAudio) return undecodedCount > 0 && !hasDecoded ? "decoderErrors" : "samplesSkipped";
  const dueMs = dueMsOf(end);
  const unreadMs = Math.max(0, startMs + dueMs - readUntilMs);
  const skippedMs = dueMs - playedMsOf(end) - unreadMs - undecodedMs;
  if (unreadMs >= Math.max(undecodedMs, skippedMs)) return "bytesEnded";
  return undecodedMs >= skippedMs ? "decoderErrors" : "samplesSkipped";
}

/** How much should have been played; 0 when unknown. */
function dueMsOf({ lengthMs, endMs, startMs }: TrackEnd): number {
  if (lengthMs === undefined) return 0;
  return Math.max(0, Math.min(lengthMs, endMs ?? lengthMs) - startMs);
}

function playedMsOf({ positionMs, startMs, tally }: TrackEnd): number {
  return Math.max(0, positionMs - startMs - tally.gapMs);
}

function inaudibleError(reason: EarlyEndReason, { packetCount }: TrackEnd["tally"]): NodeError {
  const [code, found] = explanationOf(reason, packetCount);
  return new NodeError(code, `${found}, so nothing of the track was audible; check that it plays elsewhere`);
}

function explanationOf(reason: EarlyEndReason, packetCount: number): readonly [ErrorCode, string] {
  if (reason === "decoderErrors") {
    return ["media-decode-failed", `decoding the track failed: none of its ${packetCount} packets could be decoded`];
  }
  if (reason === "samplesSkipped") {
    const found = `all audio of its ${packetCount} packets lies outside the time that the file gives them`;
    return ["media-damaged", `the media cannot be played: ${found}`];
  }
  return ["media-damaged", "the media cannot be played: it ended before its first packet of audio"];
}
