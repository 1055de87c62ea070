// The dashboard's state of all machines of a cluster: what this machine shows of itself, joined with what the others have
// answered. Main thread; without side effects.

import type { GoneMachine, ReportedMachine } from "../cluster/machine-reports.ts";
import type { MachineRow, PlayerRow, SessionRow, StateMessage, ViewMessage } from "./live-messages.ts";
import { SESSIONS_MAX, TROUBLE_MS } from "./live-state.ts";
import { LISTED_MAX, type MachineView, type OtherView } from "./machine-views.ts";

/** What the others have answered, and when that was. */
export interface OtherViews {
  readonly views: readonly OtherView[];
  readonly atMs: number;
}

interface JoinOptions {
  readonly self: ReportedMachine | undefined;
  readonly gone: readonly GoneMachine[];
  readonly view: ViewMessage;
}

/** `own`: with this machine's players from the first one on, as many as `listedCountOf` says. */
export function withOtherMachines(
  own: StateMessage,
  { views, atMs }: OtherViews,
  { self, gone, view }: JoinOptions,
): StateMessage {
  const answered = views.flatMap(({ machine, view }) => (view === undefined ? [] : [{ machine, view }]));
  const passedMs = Math.max(0, own.atMs - atMs);
  const rows = [
    ...own.players.rows,
    ...answered.flatMap(({ machine: { id, name }, view: { players } }) =>
      players.rows.map((row) => ({ ...row, positionMs: positionAfter(row, passedMs), machine: { id, name } })),
    ),
  ];
  const shown = worstFirst(onceEach(rows), own.atMs).slice(view.offset, view.offset + view.count);
  const sum = (countOf: (players: StateMessage["players"]) => number): number =>
    [own, ...answered.map(({ view: other }) => other)].reduce((total, { players }) => total + countOf(players), 0);
  const matching = Math.min(
    sum((players) => players.matching),
    LISTED_MAX,
  );
  return {
    ...own,
    players: { total: sum((players) => players.total), matching, rows: shown },
    sessions: joinedSessions([own, ...answered.map(({ view: other }) => other)], shown),
    machines: machineRows(own, { views, self, gone }),
    focus: own.focus ?? answered.find(({ view: other }) => other.focus !== null)?.view.focus ?? null,
  };
}

/** A player that is moving may be on two machines. */
function onceEach(rows: readonly PlayerRow[]): readonly PlayerRow[] {
  return [...new Map(rows.map((row) => [`${row.sessionId}/${row.guildId}`, row])).values()];
}

/** Where a player is by now that was there so long ago. */
function positionAfter({ track, positionMs, isPaused, isConnected, mode }: PlayerRow, passedMs: number): number {
  const isMoving = track !== null && !isPaused && isConnected && mode !== null && mode !== "opening";
  if (!isMoving) return positionMs;
  return track.isStream ? positionMs + passedMs : Math.min(positionMs + passedMs, track.lengthMs);
}

/** Those that stuttered recently, the last one before all; then the others as they are. */
function worstFirst(rows: readonly PlayerRow[], nowMs: number): readonly PlayerRow[] {
  const troubleMs = ({ lastIncident }: PlayerRow): number => {
    const endMs = lastIncident === null ? 0 : lastIncident.isOver ? lastIncident.start + lastIncident.length : nowMs;
    return endMs > nowMs - TROUBLE_MS ? endMs : 0;
  };
  return rows.toSorted((one, other) => troubleMs(other) - troubleMs(one));
}

/** A session may have players on several machines; its client is connected to one. Those of shown players come first. */
function joinedSessions(
  views: readonly Pick<MachineView, "sessions">[],
  players: readonly PlayerRow[],
): readonly SessionRow[] {
  const byId = new Map<string, SessionRow>();
  for (const session of views.flatMap(({ sessions }) => sessions)) {
    const known = byId.get(session.id);
    if (known === undefined) byId.set(session.id, session);
    else {
      const main = known.isConnected ? known : session;
      const counts = { players: known.players + session.players, playing: known.playing + session.playing };
      byId.set(session.id, { ...main, ...counts });
    }
  }
  const needed = new Set(players.map(({ sessionId }) => sessionId));
  return [...byId.values()]
    .toSorted((a, b) => Number(needed.has(b.id)) - Number(needed.has(a.id)))
    .slice(0, SESSIONS_MAX);
}

/** By name, those that are gone at their place. */
function machineRows(
  own: MachineView,
  { views, self, gone }: Pick<JoinOptions, "self" | "gone"> & Pick<OtherViews, "views">,
): readonly MachineRow[] {
  const rows = [
    ...(self === undefined ? [] : [{ ...rowOf(self, own, []), isThis: true }]),
    ...views.map(({ machine, view, reason }) =>
      rowOf(machine, view, view === undefined ? [`does not answer: ${reason}`] : []),
    ),
    ...gone.map(({ machine, sinceEpochMs }) => ({
      ...rowOf({ ...machine, load: undefined }, undefined, []),
      goneSinceMs: sinceEpochMs,
    })),
  ];
  return rows.toSorted((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1));
}

function rowOf(
  { id, name, roles, regions, version, load }: ReportedMachine,
  view: MachineView | undefined,
  troubles: readonly string[],
): MachineRow {
  return {
    ...{ id, name, roles, regions, version },
    isThis: false,
    troubles: view === undefined ? troubles : troublesOf(view),
    goneSinceMs: null,
    players: view?.players.total ?? load?.players ?? null,
    playing: view?.stats.playingPlayers ?? null,
    load: load?.load ?? null,
    hasCapacity: view?.load.hasCapacity ?? load?.hasCapacity ?? null,
    isDraining: view?.isDraining ?? load?.isDraining ?? false,
    cpu: view?.stats.cpu.lavalinkLoad ?? null,
    memoryBytes: view?.stats.memory.used ?? null,
    uptimeMs: view?.stats.uptime ?? null,
  };
}

/** What makes the health of a machine bad, and what keeps players away from it. */
function troublesOf({ stored, cluster: { status }, load, isDraining }: MachineView): readonly string[] {
  return [
    ...("reason" in stored ? [`does not store sessions: ${stored.reason}`] : []),
    ...("reason" in status ? [`is not joined to the cluster (${status.kind}): ${status.reason}`] : []),
    ...(load.hasCapacity || isDraining ? [] : ["has no capacity: new players are refused"]),
  ];
}
