// Messages that a node might send to the dashboard's page, for the fake node and for unit tests: players that move and
// stutter, untrusted names, sources that fail.

import { VOICE_COUNTS } from "../../src/bridge/audio-metrics.ts";
import { zeroCounts } from "../../src/bridge/zero-counts.ts";
import type { MachineRow, PlayerRow, SessionRow, StateMessage } from "../../src/control/dashboard/live-messages.ts";
import type { WorkerLoadJson } from "../../src/control/protocol/node-load-json.ts";
import type { IncidentJson, PlayerDiagnosisJson } from "../../src/control/protocol/player-diagnosis-json.ts";
import type { PluginJson, SourceJson } from "../../src/control/protocol/sources-json.ts";
import type { NodeSample } from "../../src/observability/status/node-history.ts";

/** Right-to-left overrides, markup, and far too much text. */
export const HOSTILE_TITLE = `\u202e<img src=x onerror="document.title='owned'">${"Wh\u0336a\u0336t ".repeat(900)}`;

const TITLES = [
  "Midnight in Lisbon",
  "Harbour Lights",
  "Ночной поезд",
  "Slow Train Home",
  "أغنية الصباح",
  "Glass Rain",
];
const AUTHORS = ["The Long Way", "Nora Vale", "Αυγή", "Field Notes", "ليلى", "Sea Level"];
const PEOPLE = ["mia", "Jonas", "kestrel", null, "Ada L.", "fox ♪"];
const SOURCES = ["soundcloud", "http", "bandcamp", "youtube"];
const BYTES = 1_000_000;

/** One second long, `agoMs` ago. */
export function incidentOf(changes: Partial<IncidentJson> = {}): IncidentJson {
  return { cause: "network", start: 0, length: 1000, framesLost: 50, repair: null, isOver: true, ...changes };
}

/** The player of that number: session `s0` or `s1`, a guild of 18 digits. */
export function playerRow(index: number, changes: Partial<PlayerRow> = {}): PlayerRow {
  const isStream = index % 10 === 9;
  return {
    machine: null,
    sessionId: index % 2 === 0 ? "s0" : "s1",
    guildId: String(100_000_000_000_000_000n + BigInt(index) * 7919n),
    track: {
      title: `${TITLES[index % 6]} ${index}`,
      author: AUTHORS[(index * 5) % 6] ?? "",
      uri: `https://music.example/${index}`,
      sourceName: SOURCES[index % 4] ?? "",
      isStream,
      lengthMs: isStream ? 0 : 150_000 + index * 1000,
      requester: PEOPLE[index % 6] ?? null,
    },
    positionMs: 1000 * index,
    isPaused: false,
    isConnected: true,
    worker: index % 2,
    isIsolated: false,
    mode: index % 3 === 0 ? "passthrough" : "transcoding",
    cost: 0.004 + (index % 7) * 0.001,
    heldBytes: BYTES,
    framesLost: 0,
    lastIncident: null,
    ...changes,
  };
}

/** Since an hour before the state's time, resumed behind a proxy. */
const CONNECTION = {
  sinceMs: 1_700_000_000_000 - 3_600_000,
  isResumed: true,
  address: "192.0.2.7",
  forwardedFor: "203.0.113.9",
  userAgent: "night-bot (node 20)",
};

/** `s0` and `s1`; the second's client has disconnected. */
const SESSIONS: readonly SessionRow[] = [
  {
    id: "s0",
    userId: "801",
    clientName: "night-bot/2.1",
    key: null,
    isConnected: true,
    connection: CONNECTION,
    players: 25,
    playing: 24,
  },
  {
    id: "s1",
    userId: "802",
    clientName: null,
    key: "second bot",
    isConnected: false,
    connection: null,
    players: 25,
    playing: 25,
  },
];

function worker(index: number, changes: Partial<WorkerLoadJson> = {}): WorkerLoadJson {
  return {
    index,
    isIsolated: false,
    isReady: true,
    players: 25,
    playingPlayers: 24,
    load: index === 0 ? 0.18 : 0.68,
    tickLoad: 0.15,
    latenessP99: 2.4,
    latenessMax: 6 + index * 30,
    framesSent: 1_204_332,
    framesLost: 41,
    ...changes,
  };
}

/** A node with these players that has run for three hours. */
export function stateMessage(rows: readonly PlayerRow[], changes: Partial<StateMessage> = {}): StateMessage {
  return {
    type: "state",
    atMs: 1_700_000_000_000,
    stats: {
      frameStats: null,
      players: rows.length,
      playingPlayers: rows.filter(({ isPaused }) => !isPaused).length,
      uptime: 3 * 3_600_000 + 120_000,
      memory: { free: 40 * BYTES, used: 182 * BYTES, allocated: 240 * BYTES, reservable: 4000 * BYTES },
      cpu: { cores: 4, systemLoad: 0.31, lavalinkLoad: 0.17 },
    },
    load: {
      hasCapacity: true,
      refused: 0,
      moved: 3,
      framesLost: 82,
      sharedIncidents: [{ start: 1_700_000_000_000 - 600_000, length: 180, players: 41, framesLost: 164 }],
      hasSpareWorker: true,
      encoder: { complexity: 8, complexityMax: 10 },
      workers: [worker(0), worker(1)],
    },
    stored: { kind: "working" },
    cluster: { status: { kind: "joined" }, machineCount: 3 },
    machines: null,
    isDraining: false,
    players: { total: rows.length, matching: rows.length, rows },
    sessions: SESSIONS,
    sources: sourcesAt(1_700_000_000_000),
    plugins: PLUGINS,
    routePlanner: null,
    focus: null,
    ...changes,
  };
}

/** A machine of the cluster that is well, unless a test changes it. */
export function machineRow(name: string, changes: Partial<MachineRow> = {}): MachineRow {
  return {
    ...{ id: `id-${name}`, name, isThis: false, roles: ["gateway", "audio"], regions: ["rotterdam"], version: "0.1.0" },
    ...{ troubles: [], goneSinceMs: null, players: 40, playing: 30, load: 0.2, hasCapacity: true, isDraining: false },
    ...{ cpu: 0.15, memoryBytes: 182 * BYTES, uptimeMs: 3 * 3_600_000 },
    ...changes,
  };
}

/** What the node was like `agoMs` before `nowMs`. */
export function nodeSample(nowMs: number, agoMs: number): NodeSample {
  return {
    atMs: nowMs - agoMs,
    memoryBytes: 180 * BYTES,
    cpu: 0.12,
    players: 48,
    playing: 44,
    framesLost: 40,
    latenessMs: 12,
    workerLoads: [0.2, 0.5],
  };
}

/** One that works, one with an open circuit breaker, one that is off. */
export function sourcesAt(nowMs: number): readonly SourceJson[] {
  const fine = { succeeded: 1203, refused: 14, failed: 2, lastError: null };
  const message = "the site answered with 429 and asked for a pause";
  return [
    {
      name: "soundcloud",
      plugin: "soundcloud",
      state: "running",
      trouble: null,
      loads: fine,
      links: fine,
      backends: [],
    },
    {
      name: "youtube",
      plugin: "youtube",
      state: "running",
      trouble: null,
      links: fine,
      loads: { ...fine, failed: 88, lastError: { code: "source-failed", message, atMs: nowMs - 40_000 } },
      backends: [
        { name: "WEB", state: "open", succeeded: 9, failed: 31, lastError: message, openUntilMs: nowMs + 240_000 },
        { name: "TV", state: "closed", succeeded: 220, failed: 1, lastError: null, openUntilMs: null },
      ],
    },
    {
      name: "jellyfin",
      plugin: "jellyfin",
      state: "off",
      trouble: "jellyfin.url is not set",
      loads: null,
      links: null,
      backends: [],
    },
    { name: "http", plugin: null, state: "running", trouble: null, loads: fine, links: null, backends: [] },
  ];
}

const PLUGINS: readonly PluginJson[] = [
  {
    name: "soundcloud",
    version: "1.0.0",
    isBuiltIn: true,
    state: "running",
    trouble: null,
    losses: 0,
    sources: ["soundcloud"],
    counts: { keysFound: 1 },
    changedOptions: [],
  },
  {
    name: "youtube",
    version: "1.0.0",
    isBuiltIn: true,
    state: "resting",
    trouble: "its thread was lost",
    losses: 2,
    sources: ["youtube", "ytmusic"],
    counts: {},
    changedOptions: ["pot.token"],
  },
];

/** With incidents of several causes in the last twenty minutes, the last of them `sinceMs` ago. */
export function diagnosisOf(row: PlayerRow, nowMs: number, sinceMs = 15_000): PlayerDiagnosisJson {
  return {
    guildId: row.guildId,
    sessionId: row.sessionId,
    track: row.track && { ...row.track, identifier: "x" },
    position: row.positionMs,
    paused: row.isPaused,
    age: 300,
    worker: { index: 1, isIsolated: false, load: 0.68, latenessP99: 2.4, latenessMax: 36 },
    renderWorker: null,
    volume: 80,
    filters: ["timescale", "lowPass"],
    region: "rotterdam",
    audio: { mode: row.mode ?? "opening", codec: "aac", bitrate: 127_600, queued: 9_800, heldBytes: row.heldBytes },
    voice: {
      state: "live",
      gate: "send",
      ping: 24,
      dave: { version: 1, epoch: 3, state: "encrypted", ready: 180 },
      counts: { ...zeroCounts(VOICE_COUNTS), daveTransitions: 3, resumes: 1 },
    },
    frames: {
      sent: 61_004,
      lost: {
        workerLate: 4,
        workerLost: 0,
        decoderLate: 0,
        network: 212,
        inputStarved: 0,
        voiceNotReady: 31,
        daveNotReady: 0,
        nobodyThere: 0,
      },
      lostMinutes: [
        { time: nowMs - 1_100_000, lost: 4 },
        { time: nowMs - 120_000, lost: 243 },
      ],
    },
    incidents: [
      incidentOf({ start: nowMs - sinceMs - 2000, length: 2000, framesLost: 100, repair: "reopen" }),
      incidentOf({ start: nowMs - 340_000, length: 700, framesLost: 31, cause: "voiceNotReady" }),
      incidentOf({ start: nowMs - 1_100_000, length: 80, framesLost: 4, cause: "workerLate" }),
    ],
    repairs: {
      reopen: 1,
      rejoin: 0,
      last: { kind: "reopen", cause: "network", time: nowMs - sinceMs, silent: 1400 },
    },
    inputReopened: 2,
  };
}
