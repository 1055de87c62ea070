// Reads the dashboard's state from the parts of the node at one moment. Main thread; costs nothing without viewers.

import type { JsonObject } from "../../lib/json.ts";
import { redactText } from "../../lib/redact-text.ts";
import type { PlannerControl, SourceControl } from "../api/api-context.ts";
import type { ClusterReport } from "../cluster/cluster-status.ts";
import type { PlayerOverview } from "../players/player-overview.ts";
import type { LoadJson } from "../protocol/node-load-json.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionPlayer } from "../sessions/session-player.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { StateReport } from "../state/state-status.ts";
import type { PlayerRow, SessionRow, StateMessage, ViewMessage } from "./live-messages.ts";

export const SESSIONS_MAX = 500;
/** For how long a player that stuttered is shown before the others. */
export const TROUBLE_MS = 10 * 60 * 1000;
/** Titles and names are cut to this length. */
const TEXT_LENGTH_MAX = 300;
const URI_LENGTH_MAX = 2000;

/** The components that the state is read from. */
export interface LiveParts {
  readonly sessions: Sessions;
  readonly sources: Pick<SourceControl, "sourcesJson" | "pluginsJson">;
  /** Undefined: no addresses are configured. */
  readonly routePlanner: Pick<PlannerControl, "status"> | undefined;
  readLoad(): LoadJson;
  readState(): Pick<StateReport, "status">;
  readCluster(): Pick<ClusterReport, "status" | "machines">;
}

/** The part of the state at `epochMs` that `view` requests. */
export function readState(parts: LiveParts, view: ViewMessage, epochMs: number): StateMessage {
  const { sessions, sources, routePlanner } = parts;
  const { status, machines } = parts.readCluster();
  return {
    type: "state",
    atMs: epochMs,
    stats: sessions.stats(),
    load: parts.readLoad(),
    stored: parts.readState().status,
    cluster: { status, machineCount: machines.length },
    machines: null,
    isDraining: sessions.isDraining,
    players: playersOf(sessions, view, epochMs),
    sessions: sessionRows(sessions),
    sources: sources.sourcesJson(),
    plugins: sources.pluginsJson(),
    routePlanner: routePlanner?.status() ?? null,
    focus: focusOf(sessions, view),
  };
}

interface Entry {
  readonly session: Session;
  readonly player: SessionPlayer;
}

/** Players that stuttered recently first, the most recent at the top; the others in their order. */
function playersOf(sessions: Sessions, view: ViewMessage, epochMs: number): StateMessage["players"] {
  const troubled: Entry[] = [];
  const others: Entry[] = [];
  for (const session of sessions.all()) {
    for (const player of session.players.values()) {
      const isTroubled = player.lastTroubleEpochMs > epochMs - TROUBLE_MS;
      (isTroubled ? troubled : others).push({ session, player });
    }
  }
  const total = troubled.length + others.length;
  troubled.sort((a, b) => b.player.lastTroubleEpochMs - a.player.lastTroubleEpochMs);
  const candidates = view.onlyTrouble ? troubled : [...troubled, ...others];
  const text = view.filter.trim().toLowerCase();
  const matching = text === "" ? candidates : candidates.filter((entry) => isMatching(entry, text));
  const rows = matching.slice(view.offset, view.offset + view.count).map(rowOf);
  return { total, matching: matching.length, rows };
}

function isMatching({ session, player }: Entry, text: string): boolean {
  const { track } = player.overview();
  const info = track?.info;
  const fields = [
    ...[player.guildId, session.id, session.userId, session.clientName, session.owner],
    ...[info?.title, info?.author, info?.sourceName, track && requesterOf(track.userData)],
  ];
  if (fields.some((field) => field?.toLowerCase().includes(text))) return true;
  return info !== undefined && [info.uri ?? "", info.identifier].some((link) => isInLink(link, text));
}

/** As it is written and as it is read aloud, without secrets: else a viewer could guess them letter by letter. */
function isInLink(link: string, text: string): boolean {
  if (![link, unescaped(link)].some((form) => form.toLowerCase().includes(text))) return false;
  const shown = redactText(link, URI_LENGTH_MAX);
  return [shown, unescaped(shown)].some((form) => form.toLowerCase().includes(text));
}

function unescaped(link: string): string {
  try {
    return decodeURIComponent(link);
  } catch {
    // A percent sign that escapes nothing.
    return link;
  }
}

function rowOf({ session, player }: Entry): PlayerRow {
  const { positionMs, isPaused, isConnected, worker, isIsolated, audio, track } = player.overview();
  return {
    machine: null,
    sessionId: session.id,
    guildId: player.guildId,
    track: track === undefined ? null : trackRow(track),
    positionMs,
    isPaused,
    isConnected,
    isIsolated,
    worker: worker ?? null,
    mode: track === undefined ? null : (audio.mode ?? null),
    cost: track === undefined ? null : (audio.cost ?? null),
    heldBytes: track === undefined ? 0 : audio.heldBytes,
    framesLost: audio.framesLost,
    lastIncident: audio.lastIncident ?? null,
  };
}

function trackRow({ info, userData }: NonNullable<PlayerOverview["track"]>): NonNullable<PlayerRow["track"]> {
  return {
    title: short(info.title),
    author: short(info.author),
    // Viewers do not get the password of a stream: only its client does.
    uri: info.uri === null ? null : redactText(info.uri, URI_LENGTH_MAX),
    sourceName: short(info.sourceName),
    isStream: info.isStream,
    lengthMs: Number(info.length),
    requester: requesterOf(userData) ?? null,
  };
}

/**
 * The requester of a track, if its client has put it into `userData.requester`, as libraries do: a text, or a Discord
 * user.
 */
export function requesterOf({ requester }: JsonObject): string | undefined {
  if (typeof requester === "string" || typeof requester === "number") return short(String(requester));
  if (typeof requester !== "object" || requester === null || Array.isArray(requester)) return undefined;
  const user = requester as JsonObject;
  const names = [user.displayName, user.globalName, user.global_name, user.username, user.tag, user.name, user.id];
  const name = names.find((value) => typeof value === "string" && value.trim() !== "");
  return typeof name === "string" ? short(name) : undefined;
}

function sessionRows(sessions: Sessions): SessionRow[] {
  const rows: SessionRow[] = [];
  for (const session of sessions.all()) {
    if (rows.length === SESSIONS_MAX) break;
    let playing = 0;
    for (const player of session.players.values()) if (player.isPlaying) playing++;
    const { id, userId, isConnected } = session;
    const clientName = session.clientName === undefined ? null : short(session.clientName);
    rows.push({
      id,
      userId,
      clientName,
      key: session.owner ?? null,
      isConnected,
      connection: connectionRow(session),
      players: session.players.size,
      playing,
    });
  }
  return rows;
}

function connectionRow({ connection }: Session): SessionRow["connection"] {
  if (connection === undefined) return null;
  const { sinceEpochMs, isResumed, origin } = connection;
  const { address = null, forwardedFor = null, userAgent = null } = origin ?? {};
  return { sinceMs: sinceEpochMs, isResumed, address, forwardedFor, userAgent };
}

function focusOf(sessions: Sessions, { focus }: ViewMessage): StateMessage["focus"] {
  if (focus === null) return null;
  const diagnosis = sessions.get(focus.sessionId)?.players.get(focus.guildId)?.diagnose();
  if (diagnosis === undefined) return null;
  const { track } = diagnosis;
  if (track === null) return diagnosis;
  return { ...diagnosis, track: { ...track, identifier: redactText(track.identifier, URI_LENGTH_MAX) } };
}

function short(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}
