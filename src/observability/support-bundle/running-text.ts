// The state of a running node in a support bundle, part by part, as lines: load, stored state, cluster, sessions, players,
// sources, plugins, counters. Contains numbers and states, never what is played. Main thread; called by node-bundle.ts,
// which hides secrets and names.

import type { ClusterReport } from "../../control/cluster/cluster-status.ts";
import type { LoadJson } from "../../control/protocol/node-load-json.ts";
import type { PlayerDiagnosisJson } from "../../control/protocol/player-diagnosis-json.ts";
import type { PluginJson, SourceCountsJson, SourceJson } from "../../control/protocol/sources-json.ts";
import type { StatsJson } from "../../control/protocol/stats-json.ts";
import type { StateReport } from "../../control/state/state-status.ts";

const MEGABYTE = 1024 * 1024;
const CLIENT_LENGTH_MAX = 60;
const SESSIONS_SHOWN_MAX = 50;
const MACHINES_SHOWN_MAX = 10;
/** The players with most lost frames are shown. */
const PLAYERS_SHOWN_MAX = 20;

/** The shown state of a session. */
export interface SessionView {
  readonly id: string;
  readonly userId: string;
  readonly clientName: string | undefined;
  readonly isConnected: boolean;
  readonly resuming: boolean;
  readonly players: ReadonlyMap<string, { readonly isPlaying: boolean; diagnose(): PlayerDiagnosisJson }>;
}

export function loadText(stats: StatsJson, load: LoadJson): string {
  const { memory, cpu } = stats;
  const { encoder } = load;
  return [
    `up for ${Math.round(stats.uptime / 1000)} s, players: ${stats.players}, playing: ${stats.playingPlayers}`,
    `memory: ${megabytes(memory.allocated)} held, ${megabytes(memory.used)} in use`,
    `processor: ${cpu.cores} cores, the node uses ${percent(cpu.lavalinkLoad)}, busy in all ${percent(cpu.systemLoad)}`,
    `has capacity: ${load.hasCapacity}, starts refused: ${load.refused}, players moved: ${load.moved}`,
    `encoder: ${encoder.complexity} of ${encoder.complexityMax}, spare worker: ${load.hasSpareWorker}`,
    ...load.workers.map(
      (worker) =>
        `worker ${worker.index}: ready ${worker.isReady}, isolated ${worker.isIsolated}, players ${worker.players}, ` +
        `playing ${worker.playingPlayers}, load ${percent(worker.load)} (tick ${percent(worker.tickLoad)}), ` +
        `late p99 ${worker.latenessP99} ms, max ${worker.latenessMax} ms, ` +
        `frames sent ${worker.framesSent}, lost ${worker.framesLost}`,
    ),
  ].join("\n");
}

export function stateText({ status, restored, setAside, ...counts }: StateReport): string {
  const since = status.kind === "failing" ? ` since ${new Date(status.sinceEpochMs).toISOString()}` : "";
  return [
    `${status.kind}${since}${"reason" in status ? `: ${status.reason}` : ""}`,
    `sessions: ${counts.sessions}, records: ${counts.records}`,
    `writes: ${counts.writes}, failed: ${counts.failedWrites}, bytes: ${counts.writtenBytes}`,
    `restored at the start: sessions ${restored.sessions}, players ${restored.players}`,
    ...(setAside === undefined ? [] : [`set aside: ${setAside}`]),
  ].join("\n");
}

/** Machines go by their ids: their names are those of hosts. */
export function clusterText({ status, machine, machines, sessionsElsewhere, counts }: ClusterReport): string {
  const since = "sinceEpochMs" in status ? ` since ${new Date(status.sinceEpochMs).toISOString()}` : "";
  const shown = machines.slice(0, MACHINES_SHOWN_MAX);
  return [
    `${status.kind}${since}${"reason" in status ? `: ${status.reason}` : ""}`,
    `machines: ${machines.length}, sessions of others: ${sessionsElsewhere}`,
    `sessions adopted: ${counts.adopted}, given: ${counts.given}, taken: ${counts.taken}; lost: ${counts.lost}`,
    `requests forwarded: ${counts.forwarded}, failed: ${counts.forwardsFailed}`,
    ...shown.map(
      ({ id, roles, regions, version, contract, players = "?" }) =>
        `machine ${id}${id === machine?.id ? " (this one)" : ""}: Tonearm ${version}, contract ${contract}, ` +
        `${roles.join(" and ")}, near ${regions.join(" and ") || "no region"}, players ${players}`,
    ),
  ].join("\n");
}

/** Ids are given as they are, for the caller to find. */
export function sessionsText(sessions: readonly SessionView[]): string {
  const lines = sessions.slice(0, SESSIONS_SHOWN_MAX).map((session) => {
    const playing = [...session.players.values()].filter(({ isPlaying }) => isPlaying).length;
    const client = session.clientName?.slice(0, CLIENT_LENGTH_MAX) ?? "without a name";
    const state = session.isConnected ? "connected" : "waits for its client";
    return (
      `session ${session.id} of user ${session.userId}: ${state}, ` +
      `resuming ${session.resuming}, players ${session.players.size}, playing ${playing}, client ${client}`
    );
  });
  const more = sessions.length - lines.length;
  return [`sessions: ${sessions.length}`, ...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

/** `players` are those of the node's `playerCount` players that were inspected. */
export function playersText(players: readonly PlayerDiagnosisJson[], playerCount: number): string {
  const worst = players
    .toSorted((one, other) => lostOf(other) - lostOf(one))
    .slice(0, PLAYERS_SHOWN_MAX)
    .filter((player) => lostOf(player) > 0);
  return [
    `players: ${playerCount}, inspected: ${players.length}`,
    `voice: ${counted(players.map(({ voice }) => voice?.state ?? "never connected"))}`,
    `DAVE: ${counted(players.map(({ voice }) => voice?.dave.state ?? "never connected"))}`,
    `audio: ${counted(players.map(({ audio }) => audio?.mode ?? "no track"))}`,
    `paused: ${players.filter(({ paused }) => paused).length}`,
    `playing from: ${counted(players.flatMap(({ track }) => track?.sourceName ?? []))}`,
    "players that lost most frames (20 ms each):",
    ...(worst.length === 0 ? ["none lost any"] : worst.map(playerLine)),
  ].join("\n");
}

function playerLine(player: PlayerDiagnosisJson): string {
  const { frames, voice, worker, repairs, incidents, inputReopened } = player;
  const causes = Object.entries(frames.lost).filter(([, count]) => count > 0);
  const lost = causes.map(([cause, count]) => `${cause} ${count}`).join(", ");
  return (
    `guild ${player.guildId}: sent ${frames.sent}, lost ${lost}; ` +
    `worker ${worker?.index ?? "none"}, voice ${voice?.state ?? "none"}, ping ${voice?.ping ?? -1} ms, ` +
    `reconnects ${voice?.counts.reconnects ?? 0}, incidents ${incidents.length}, ` +
    `repairs ${repairs.reopen + repairs.rejoin}, input reopened ${inputReopened}`
  );
}

function lostOf({ frames }: PlayerDiagnosisJson): number {
  return Object.values(frames.lost).reduce((sum, count) => sum + count, 0);
}

export function sourcesText(sources: readonly SourceJson[]): string {
  return sources
    .flatMap(({ name, plugin, state, trouble, loads, links, backends }) => [
      `${name}${plugin === null ? "" : ` of ${plugin}`}: ${state}${trouble === null ? "" : `, ${trouble}`}; ` +
        `loads ${countsText(loads)}; links ${countsText(links)}`,
      ...backends.map(
        (backend) =>
          `    backend ${backend.name}: ${backend.state}, succeeded ${backend.succeeded}, failed ${backend.failed}` +
          (backend.lastError === null ? "" : `, last: ${backend.lastError}`),
      ),
    ])
    .join("\n");
}

function countsText(counts: SourceCountsJson | null): string {
  if (counts === null) return "none";
  const { succeeded, refused, failed, lastError } = counts;
  const last = lastError === null ? "" : `, last: ${lastError.code}: ${lastError.message}`;
  return `succeeded ${succeeded}, refused ${refused}, failed ${failed}${last}`;
}

export function pluginsText(plugins: readonly PluginJson[]): string {
  return plugins
    .map(({ name, version, isBuiltIn, state, trouble, losses, counts, changedOptions }) => {
      const counted = Object.entries(counts).map(([event, count]) => `${event} ${count}`);
      return (
        `${name} ${version ?? "never set up"}${isBuiltIn ? "" : " (not one of Tonearm's)"}: ${state}` +
        `${trouble === null ? "" : `, ${trouble}`}; lost ${losses}` +
        (counted.length === 0 ? "" : `; ${counted.join(", ")}`) +
        (changedOptions.length === 0 ? "" : `; changed: ${changedOptions.join(", ")}`)
      );
    })
    .join("\n");
}

/** Prometheus' text without zero values and without comments. */
export function countersText(metrics: string): string {
  return metrics
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !/ 0$/.test(line))
    .join("\n");
}

function counted(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${word} ${count}`).join(", ") || "none";
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MEGABYTE)} MiB`;
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}
