import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LOSS_CAUSES, REPAIR_KINDS } from "../../../../src/bridge/audio-report.ts";
import { type ClusterReport, NO_CLUSTER } from "../../../../src/control/cluster/cluster-status.ts";
import { MachineReports } from "../../../../src/control/cluster/machine-reports.ts";
import type { LoadJson } from "../../../../src/control/protocol/node-load-json.ts";
import type { PluginJson, SourceJson } from "../../../../src/control/protocol/sources-json.ts";
import type { StatsJson } from "../../../../src/control/protocol/stats-json.ts";
import { AudioTotals } from "../../../../src/control/workers/audio-totals.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { GcPauses } from "../../../../src/observability/metrics/gc-pauses.ts";
import { LogCounter } from "../../../../src/observability/metrics/log-counter.ts";
import { NodeMetrics } from "../../../../src/observability/metrics/node-metrics.ts";
import { prometheusText } from "../../../../src/observability/metrics/prometheus-text.ts";
import { clusterReport } from "../../../support/cluster-report.ts";
import { idleWorker } from "../../../support/idle-worker.ts";
import { JoinedReports } from "../../../support/joined-reports.ts";
import { stateReport } from "../../../support/state-report.ts";

const STATS: StatsJson = {
  frameStats: null,
  players: 3,
  playingPlayers: 2,
  uptime: 5000,
  memory: { free: 1, used: 2, allocated: 3, reservable: 4 },
  cpu: { cores: 8, systemLoad: 0.5, lavalinkLoad: 0.25 },
};

const LOAD: LoadJson = {
  hasCapacity: false,
  refused: 3,
  moved: 2,
  encoder: { complexity: 4, complexityMax: 10 },
  framesLost: 0,
  sharedIncidents: [],
  hasSpareWorker: true,
  workers: [],
};

const COUNTS = { succeeded: 5, refused: 1, failed: 2, lastError: null };
const BACKEND = { succeeded: 5, failed: 2, lastError: null, openUntilMs: null };
const SOURCE: SourceJson = {
  name: "tunes",
  plugin: "tunes",
  state: "running",
  trouble: null,
  loads: COUNTS,
  links: COUNTS,
  backends: [
    { ...BACKEND, name: "api", state: "closed" },
    { ...BACKEND, name: "page", state: "open" },
  ],
};
const PLUGIN: PluginJson = {
  name: "tunes",
  version: "1.0.0",
  isBuiltIn: false,
  state: "running",
  trouble: null,
  losses: 3,
  sources: ["tunes"],
  counts: { scraped: 4 },
  changedOptions: [],
};

const ALONE = new MachineReports(undefined);

let metrics: NodeMetrics | undefined;
let totals: AudioTotals;
let cluster: ClusterReport;

beforeEach(() => {
  totals = new AudioTotals();
  cluster = clusterReport();
});
afterEach(() => metrics?.close());

function create(reports: Pick<MachineReports, "serve" | "self" | "askOthers"> = ALONE): NodeMetrics {
  const { logger, counts } = counted();
  logger.child({ a: 1 }).warn("x");
  logger.warn("y");
  metrics = new NodeMetrics({
    readStats: () => STATS,
    readLoad: () => LOAD,
    readWorkers: () => [
      { index: 0, metrics: undefined },
      { index: 1, metrics: { ...idleWorker(), threadLoad: 0.5, playingCount: 7, latenessMsP99: 2.50001 } },
    ],
    sources: { sourcesJson: () => [SOURCE], pluginsJson: () => [PLUGIN] },
    mirrors: {
      fallbackCounts: [{ from: "youtube", to: "soundcloud", count: 3 }],
      mirrorCounts: [{ from: "spotify", to: "none", count: 2 }],
    },
    audio: totals,
    logCounts: counts,
    startEpochMs: 1_700_000_000_500,
    isScraped: true,
    readSessions: () => [{ isConnected: true }, { isConnected: false }, { isConnected: true }],
    readConnections: () => ({ idle: 4, upgraded: 2 }),
    readState: () => stateReport(),
    readCluster: () => cluster,
    reports,
    version: "1.2.3",
  });
  return metrics;
}

function counted() {
  const counter = new LogCounter(silentLogger);
  return { logger: counter.logger, counts: counter.counts };
}

describe("the text", () => {
  test("metrics report the load of the audio threads and the measures against it", () => {
    const text = create().read(undefined);
    for (const line of [
      "tonearm_has_capacity 0",
      `tonearm_build_info{version="1.2.3",node_version="${process.versions.node}"} 1`,
      'tonearm_sessions{state="connected"} 2',
      'tonearm_sessions{state="waiting"} 1',
      'tonearm_connections{state="upgraded"} 2',
      "tonearm_refused_starts_total 3",
      "tonearm_moved_players_total 2",
      "tonearm_encoder_complexity 4",
      "tonearm_encoder_complexity_max 10",
      'tonearm_worker_load{worker="0"} 0',
      'tonearm_worker_load{worker="1"} 0.5',
      'tonearm_worker_playing_players{worker="1"} 7',
      'tonearm_worker_lateness_p99_milliseconds{worker="1"} 2.5',
    ]) {
      expect(text.split("\n")).toContain(line);
    }
  });

  test("is what docs/reference/metrics.md says: each family with its type and labels, and no others", () => {
    const page = readFileSync(new URL("../../../../docs/reference/metrics.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| `(\w+)(?:\{([\w,]+)\})?` \| (\w+) \| .{10,} \|$/gm)];
    const expected = rows.map(([, name, labels = "", type]) => `${name} ${type} ${labels.replaceAll(",", ", ")}`);
    const text = create().read(undefined);
    const served = [...text.matchAll(/^# TYPE (\w+) (\w+)\n\w+(?:\{([^}]*)\})? /gm)].map(
      ([, name, type, pairs = ""]) => {
        const labels = pairs === "" ? [] : pairs.split(",").map((pair) => pair.split("=")[0]);
        return `${name} ${type} ${labels.join(", ")}`;
      },
    );
    expect(expected.toSorted()).toEqual(served.toSorted());
    expect(text.match(/^# TYPE /gm)).toHaveLength(served.length);
  });

  test("says how sources and plugins do", () => {
    const lines = create().read(undefined).split("\n");
    for (const line of [
      'tonearm_source_requests_total{source="tunes",request="load",outcome="failed"} 2',
      'tonearm_fallbacks_total{source="youtube",fallback="soundcloud"} 3',
      'tonearm_mirrors_total{from="spotify",to="none"} 2',
      'tonearm_backend_breaker_open{plugin="tunes",backend="api"} 0',
      'tonearm_backend_breaker_open{plugin="tunes",backend="page"} 1',
      'tonearm_plugin_losses_total{plugin="tunes"} 3',
      'tonearm_plugin_events_total{plugin="tunes",event="scraped"} 4',
    ]) {
      expect(lines).toContain(line);
    }
  });

  test("says whether sessions are stored, how much is written, and what was restored", () => {
    const lines = create().read(undefined).split("\n");
    for (const line of [
      'tonearm_state_status{status="disabled"} 0',
      'tonearm_state_status{status="off"} 0',
      'tonearm_state_status{status="working"} 1',
      'tonearm_state_status{status="failing"} 0',
      "tonearm_state_sessions 2",
      "tonearm_state_records 9",
      'tonearm_state_writes_total{outcome="succeeded"} 5',
      'tonearm_state_writes_total{outcome="failed"} 1',
      "tonearm_state_written_bytes_total 4096",
      'tonearm_state_restored{what="sessions"} 1',
      'tonearm_state_restored{what="players"} 3',
    ]) {
      expect(lines).toContain(line);
    }
  });

  test("says whether this machine is joined to its cluster, and what came and went", () => {
    const lines = create().read(undefined).split("\n");
    for (const line of [
      "tonearm_cluster_up 1",
      "tonearm_cluster_machines 2",
      "tonearm_cluster_sessions_elsewhere 7",
      'tonearm_cluster_sessions_moved_total{kind="adopted"} 1',
      'tonearm_cluster_sessions_moved_total{kind="given"} 2',
      'tonearm_cluster_sessions_moved_total{kind="taken"} 3',
      "tonearm_cluster_requests_forwarded_total 40",
      "tonearm_cluster_forwards_failed_total 5",
      "tonearm_cluster_lost_total 6",
    ]) {
      expect(lines).toContain(line);
    }
    cluster = clusterReport({ status: { kind: "away", reason: "x", sinceEpochMs: 1 } });
    expect(metrics?.read(["tonearm_cluster_up"])).toContain("\ntonearm_cluster_up 0\n");
  });

  test("a node that is alone exports no value of a cluster, so that no alert fires", () => {
    cluster = NO_CLUSTER;
    const text = create().read(undefined);
    expect(text).toContain("# TYPE tonearm_cluster_up gauge\n#");
    expect(text).not.toMatch(/^tonearm_cluster/m);
  });

  test("has every cause and kind from the start, with 0", () => {
    const lines = create().read(undefined).split("\n");
    for (const cause of LOSS_CAUSES) {
      expect(lines).toContain(`tonearm_frames_lost_total{cause="${cause}"} 0`);
      expect(lines).toContain(`tonearm_incidents_total{cause="${cause}"} 0`);
    }
    for (const kind of REPAIR_KINDS) expect(lines).toContain(`tonearm_repairs_total{kind="${kind}"} 0`);
    expect(lines).toContain('tonearm_frame_lateness_seconds_bucket{le="+Inf"} 0');
  });

  test("has the totals of audio, lateness in seconds and in growing classes", () => {
    totals.addIncident({ cause: "workerLost", startEpochMs: 0, lengthMs: 40, framesLost: 2, repair: undefined });
    totals.addReport({ epochMs: 0, worker: { ...idleWorker(), lateness: [150.5, 9, 0, 1, 0, 0, 0, 2] }, players: [] });
    totals.addVoiceClose(4014);
    const lines = create().read(undefined).split("\n");
    for (const line of [
      'tonearm_frames_lost_total{cause="workerLost"} 2',
      'tonearm_incidents_total{cause="workerLost"} 1',
      'tonearm_frame_lateness_seconds_bucket{le="0.001"} 9',
      'tonearm_frame_lateness_seconds_bucket{le="0.005"} 10',
      'tonearm_frame_lateness_seconds_bucket{le="0.06"} 12',
      'tonearm_frame_lateness_seconds_bucket{le="+Inf"} 12',
      "tonearm_frame_lateness_seconds_sum 0.1505",
      "tonearm_frame_lateness_seconds_count 12",
      "tonearm_voice_reconnects_total 0",
      'tonearm_voice_closed_total{code="4014"} 1',
    ]) {
      expect(lines).toContain(line);
    }
  });

  test("has every name that Lavalink's dashboards use", () => {
    const text = create().read(undefined);
    for (const line of [
      "lavalink_players_total 3",
      "lavalink_playing_players_total 2",
      "lavalink_uptime_milliseconds 5000",
      "lavalink_memory_free_bytes 1",
      "lavalink_memory_used_bytes 2",
      "lavalink_memory_allocated_bytes 3",
      "lavalink_memory_reservable_bytes 4",
      "lavalink_cpu_cores 8",
      "lavalink_cpu_system_load_percentage 0.5",
      "lavalink_cpu_lavalink_load_percentage 0.25",
      'logback_appender_total{level="warn"} 2',
      'logback_appender_total{level="error"} 0',
      "process_start_time_seconds 1700000000.5",
    ]) {
      expect(text.split("\n")).toContain(line);
    }
    expect(text).toMatch(/^lavalink_gc_pauses_seconds_bucket\{le="1.6"\} \d+$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
  });

  test("follows the format: help and type before the samples, each line ended", () => {
    const lines = create().read(undefined).split("\n");
    expect(lines.pop()).toBe("");
    let family = "";
    const pairs = '\\w+="[^"]*"(,\\w+="[^"]*")*';
    for (const line of lines) {
      const [, kind, name = ""] = /^# (HELP|TYPE) (\w+) ./.exec(line) ?? [];
      if (kind !== undefined) family = name;
      else expect(line).toMatch(new RegExp(`^${family}(_bucket|_sum|_count)?(\\{${pairs}\\})? [0-9.e+-]+$`));
    }
  });

  test("is only of the families that were asked for", () => {
    const text = create().read(["lavalink_cpu_cores", "nothing"]);
    expect(text).toBe(
      "# HELP lavalink_cpu_cores Cores of the machine.\n# TYPE lavalink_cpu_cores gauge\nlavalink_cpu_cores 8\n",
    );
  });

  test("is of all machines where that is asked for, without those that do not answer", async () => {
    const joined = new JoinedReports();
    const far = create(joined.of("far"));
    joined.of("silent");
    joined.silent.set("silent", "no answer");
    const here = create(joined.of("here"));
    try {
      const text = await here.readAll(["lavalink_players_total", "tonearm_machine_up"]);
      expect(text.split("\n").filter((line) => !line.startsWith("#"))).toEqual([
        ...["here", "far"].map((name) => `tonearm_machine_up{machine="${name}"} 1`),
        'tonearm_machine_up{machine="silent"} 0',
        ...["here", "far"].map((name) => `lavalink_players_total{machine="${name}"} 3`),
        "",
      ]);
      const whole = await here.readAll(undefined);
      const types = [...whole.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
      expect(new Set(types).size).toBe(types.length);
      const series = whole.split("\n").flatMap((line) => /^([^#].*) \S+$/.exec(line)?.[1] ?? []);
      expect(new Set(series).size).toBe(series.length);
    } finally {
      far.close();
    }
  });

  test("of a node that is alone is the same when it is asked for all machines", async () => {
    const names = ["lavalink_players_total"];
    expect(await create().readAll(names)).toBe(metrics?.read(names));
  });

  test("escapes what would break a label", () => {
    const samples = [{ labels: { a: 'x"\\\n' }, value: 1 }];
    expect(prometheusText([{ name: "n", help: "h", type: "gauge", samples }])).toContain('n{a="x\\"\\\\\\n"} 1');
  });
});

test("pauses count in every bucket that is not below them", () => {
  const pauses = new GcPauses();
  pauses.close();
  for (const pauseS of [0.01, 0.05, 3]) pauses.add(pauseS);
  const samples = pauses.samples().map(({ labels, suffix, value }) => [labels?.le ?? suffix, value]);
  expect(samples).toEqual([
    ...[["0.025", 1] as const, ["0.05", 2] as const, ["0.1", 2] as const, ["0.2", 2] as const],
    ...[["0.4", 2] as const, ["0.8", 2] as const, ["1.6", 2] as const, ["+Inf", 3] as const],
    ["_sum", 3.06],
    ["_count", 3],
  ]);
});
