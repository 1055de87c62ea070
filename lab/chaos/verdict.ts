// What must be so when all is quiet again: every player plays, or its client was told once that it does not; what REST
// says is what Discord hears; and at no time have two processes sent for one guild. Pure. Lab only.

import type { StreamOverlap } from "../discord/stream-overlaps.ts";
import type { Violation, ViolationKind } from "../discord/violations.ts";
import type { CastPlayer } from "../restart/cast.ts";
import { type HeardPacket, PACKET_MS } from "../restart/surroundings.ts";
import type { NodeMessage, PlayerView } from "../test-environment/bot.ts";
import type { Subject } from "./schedule.ts";
import type { Sending } from "./sound.ts";

/** One player in the end. */
export interface Ending {
  readonly player: CastPlayer;
  /** By REST. */
  readonly view: PlayerView | undefined;
  /** The last packet that was heard. */
  readonly heard: HeardPacket | undefined;
  /** Whether that was a moment ago. */
  readonly isHeard: boolean;
  /** Events of its guild, over all connections of its client. */
  readonly told: readonly NodeMessage[];
  /** Its client has its session. */
  readonly hasSession: boolean;
}

/** A datagram of the older stream may be read after one of the newer one that has come to another socket. */
const OVERLAP_TOLERANCE_MS = 20;
/** Between what REST says and what was heard: frames are on their way, and the lab may be busy. */
const HEARD_TOLERANCE_MS = 1000;

/** `plays`, `told`: it does not, and its client knows; or what is wrong. */
export type Outcome = "plays" | "told" | { readonly loss: string };

export function outcomeOf({ player, view, isHeard, told, hasSession }: Ending): Outcome {
  const { guildId, rate } = player;
  const ends = told.filter(({ type }) => type === "TrackEndEvent" || type === "WebSocketClosedEvent");
  const toldCount = hasSession ? ends.length : 1;
  const hasTrack = view !== undefined && view.track !== null;
  const plays = hasTrack && isHeard === rate > 0;
  const words = `its client was told ${toldCount} times (${told.map(({ type }) => type).join(", ") || "nothing"})`;
  if (plays && toldCount === 0) {
    const [first] = told;
    return first === undefined ? "plays" : { loss: `player ${guildId} plays, and ${words}` };
  }
  if (!hasTrack && !isHeard && toldCount === 1) return "told";
  const state = plays
    ? "plays"
    : isHeard
      ? `is heard ${hasTrack ? "although paused" : "without a track"}`
      : "does not play";
  return { loss: `player ${guildId} ${state}, and ${words}` };
}

/** How far what was heard is from what REST says; undefined where it cannot be known. */
export function heardErrorMs({ player, view, heard }: Ending, epochOffsetMs: number): number | undefined {
  if (!player.isCounted || player.rate === 0 || view === undefined || heard === undefined) return undefined;
  const { position, time } = view.state;
  return heard.number * PACKET_MS - (position + (heard.atMs + epochOffsetMs - time));
}

export function heardLosses(endings: readonly Ending[], epochOffsetMs: number): readonly string[] {
  return endings.flatMap((ending) => {
    const errorMs = heardErrorMs(ending, epochOffsetMs);
    if (errorMs === undefined || Math.abs(errorMs) <= HEARD_TOLERANCE_MS) return [];
    return [`player ${ending.player.guildId}: heard ${Math.round(errorMs)} ms from where REST says it is`];
  });
}

/** Two streams of one guild at once. */
export interface DoubleSending extends StreamOverlap {
  /** Machines of the newer and the older stream; undefined: unknown. */
  readonly machine: string | undefined;
  readonly olderMachine: string | undefined;
}

export function doubleSendingLosses(sendings: readonly DoubleSending[], startedMs: number): readonly string[] {
  return sendings
    .filter(({ fromMs, toMs }) => toMs - fromMs > OVERLAP_TOLERANCE_MS)
    .map(({ guildId, fromMs, toMs, packets, machine = "unknown", olderMachine = "unknown" }) => {
      const [at, until] = [fromMs, toMs].map((ms) => ((ms - startedMs) / 1000).toFixed(2));
      return `guild ${guildId} was sent to twice, ${at} to ${until} s: ${packets} packets of ${olderMachine} beside ${machine}`;
    });
}

/**
 * What Discord sees of a machine that stands still or is killed; and what it reads late when it is busy itself: op 5
 * travels beside the packets.
 */
const EXCUSED: ReadonlySet<ViolationKind> = new Set([
  "silence-missing",
  "gateway-heartbeat-missing",
  "dave-commit-missing",
  "dave-transition-timeout",
  "speaking-missing",
  "speaking-not-cleared",
]);

/** Whatever else Discord would refuse has no excuse. */
export function refusedLosses(violations: readonly Violation[], startedMs: number): readonly string[] {
  return violations
    .filter(({ kind }) => !EXCUSED.has(kind))
    .map(({ kind, guildId = "unknown", detail, atMs }) => {
      const seconds = ((atMs - startedMs) / 1000).toFixed(1);
      return `guild ${guildId}: Discord refuses ${kind} at ${seconds} s: ${detail}`;
    });
}

/** Machines that are gateways only have no players. */
export function misplacedLosses(sendings: readonly Sending[], subjects: readonly Subject[]): readonly string[] {
  return subjects
    .filter(({ role }) => role === "gateway")
    .flatMap(({ name }) => {
      const guilds = new Set(sendings.filter(({ machine }) => machine === name).map(({ guildId }) => guildId));
      return guilds.size === 0 ? [] : [`${name} sent for ${guilds.size} guilds, though it has no role for that`];
    });
}
