// One row of the players as it is shown: texts and flags that change seldom, so that a row whose line is unchanged need
// not be rendered again. The position, which moves every second, is kept separately. In the browser.

import type { PlayerRow, SessionRow, StateMessage } from "../../src/control/dashboard/live-messages.ts";
import { ago, clockTime, percent, shortened, webAddress } from "./format.ts";
import { isTrouble, sinceIncidentMs } from "./incident-time-line.ts";
import { trackName } from "./track-name.ts";
import { CAUSES, MODES } from "./words.ts";

/** All of it is shown; two of them with the same members look the same. */
export interface PlayerLine {
  readonly key: string;
  readonly sessionId: string;
  readonly guildId: string;
  /** Of an untagged track the file name. Null: nothing is loaded. */
  readonly title: string | null;
  /** With the host of the link where the track is untagged. */
  readonly author: string;
  readonly address: string | null;
  readonly source: string;
  readonly requester: string;
  /** Empty for streams. */
  readonly length: string;
  readonly client: string;
  readonly clientId: string;
  /** Name of its machine, if that is another than the one that the page is connected to. */
  readonly machine: string;
  readonly machineId: string | undefined;
  readonly worker: string;
  readonly cost: string;
  readonly mode: string;
  readonly state: PlayerLineState;
  /** Empty: none within the last ten minutes. */
  readonly trouble: string;
  readonly troubleNow: boolean;
  readonly framesLost: number;
}

/** In one word what it does. */
export type PlayerLineState = "playing" | "paused" | "opening" | "no voice" | "empty";

/** Where a position was at one moment, and whether it moves. */
export interface Movement {
  readonly atMs: number;
  readonly positionMs: number;
  /** Null: a stream, or nothing. */
  readonly lengthMs: number | null;
  readonly isMoving: boolean;
}

/** Name of a player among all. */
export function playerKey({ sessionId, guildId }: { readonly sessionId: string; readonly guildId: string }): string {
  return `${sessionId}/${guildId}`;
}

/** How a client is called: by itself, else by its bot. */
export function clientNameOf(session: SessionRow | undefined): string {
  if (session === undefined) return "?";
  return shortened(session.clientName ?? `bot ${session.userId}`);
}

/** Players with trouble first, and those with an ongoing incident before all others; otherwise in the node's order. */
export function playerLines({ atMs, players, sessions }: StateMessage): PlayerLine[] {
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const urgency = ({ troubleNow, trouble }: PlayerLine): number => (troubleNow ? 0 : trouble === "" ? 2 : 1);
  return players.rows
    .map((row) => toLine(row, byId.get(row.sessionId), atMs))
    .toSorted((one, other) => urgency(one) - urgency(other));
}

/** `next`, with each line that has not changed as the object that it was before. */
export function keepSame(before: readonly PlayerLine[], next: readonly PlayerLine[]): PlayerLine[] {
  const known = new Map(before.map((line) => [line.key, line]));
  return next.map((line) => {
    const old = known.get(line.key);
    return old !== undefined && looksSame(old, line) ? old : line;
  });
}

/** The movements of all rows by their keys. */
export function movementsOf({ atMs, players }: StateMessage): Map<string, Movement> {
  return new Map(
    players.rows.map((row) => [
      playerKey(row),
      {
        atMs,
        positionMs: row.positionMs,
        lengthMs: row.track === null || row.track.isStream ? null : row.track.lengthMs,
        isMoving: stateOf(row) === "playing",
      },
    ]),
  );
}

/** Milliseconds at that moment of the node; never past the end. */
export function positionAt({ atMs, positionMs, lengthMs, isMoving }: Movement, nodeNowMs: number): number {
  const moved = isMoving ? positionMs + Math.max(0, nodeNowMs - atMs) : positionMs;
  return lengthMs === null ? moved : Math.min(moved, lengthMs);
}

function toLine(row: PlayerRow, session: SessionRow | undefined, nowMs: number): PlayerLine {
  const { track, lastIncident } = row;
  const hasTrouble = isTrouble(lastIncident, nowMs);
  const name = track === null ? null : trackName(track);
  return {
    key: playerKey(row),
    sessionId: row.sessionId,
    guildId: row.guildId,
    title: name === null ? null : shortened(name.title),
    author: shortened(name?.author ?? ""),
    address: webAddress(track?.uri ?? null),
    source: shortened(track?.sourceName ?? ""),
    requester: shortened(track?.requester ?? ""),
    length: track === null || track.isStream ? "" : clockTime(track.lengthMs),
    client: clientNameOf(session),
    clientId: session?.userId ?? "",
    machine: shortened(row.machine?.name ?? ""),
    machineId: row.machine?.id,
    worker: row.worker === null ? "waits" : `${row.worker}${row.isIsolated ? " isolated" : ""}`,
    cost: row.cost === null ? "–" : percent(row.cost),
    mode: row.mode === null ? "–" : MODES[row.mode],
    state: stateOf(row),
    trouble: hasTrouble ? troubleOf(lastIncident, nowMs) : "",
    troubleNow: hasTrouble && !lastIncident.isOver,
    framesLost: row.framesLost,
  };
}

function troubleOf(incident: NonNullable<PlayerRow["lastIncident"]>, nowMs: number): string {
  const when = incident.isOver ? ago(sinceIncidentMs(incident, nowMs)) : "now";
  return `${CAUSES[incident.cause].short}, ${when}`;
}

function stateOf({ track, isPaused, isConnected, mode }: PlayerRow): PlayerLineState {
  if (track === null) return "empty";
  if (isPaused) return "paused";
  if (!isConnected) return "no voice";
  return mode === null || mode === "opening" ? "opening" : "playing";
}

function looksSame(one: PlayerLine, other: PlayerLine): boolean {
  // Both have the same members: they are created in one place.
  for (const name of Object.keys(one) as (keyof PlayerLine)[]) if (one[name] !== other[name]) return false;
  return true;
}
