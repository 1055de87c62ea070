// The node's Prometheus metrics: Lavalink's names where there is an equivalent (protocol-v4.md section 6.4), so that
// existing dashboards keep working. Main thread; built by node.ts when metrics are on, read by the route of the API.

import { z } from "zod";
import type { ClusterReport } from "../../control/cluster/cluster-status.ts";
import type { MachineReports } from "../../control/cluster/machine-reports.ts";
import { readJson } from "../../control/cluster/read-json.ts";
import type { LoadJson } from "../../control/protocol/node-load-json.ts";
import type { StatsJson } from "../../control/protocol/stats-json.ts";
import type { Mirrors } from "../../control/sources/mirrors.ts";
import type { StateReport } from "../../control/state/state-status.ts";
import type { AudioTotals } from "../../control/workers/audio-totals.ts";
import type { LogLevel } from "../../log/log.ts";
import { audioFamilies, type WorkerReading, workerFamilies } from "./audio-families.ts";
import { clusterFamilies } from "./cluster-families.ts";
import { GcPauses } from "./gc-pauses.ts";
import { joinFamilies, readFamilies } from "./machine-families.ts";
import { type MetricFamily, PROMETHEUS_CONTENT_TYPE, prometheusText } from "./prometheus-text.ts";
import { type SourceReadings, sourceFamilies } from "./source-families.ts";
import { stateFamilies } from "./state-families.ts";

/** What another machine asks for: the names of families, or all. */
const namesSchema = z.array(z.string()).nullable();

interface NodeMetricsOptions {
  readonly readStats: () => StatsJson;
  readonly readLoad: () => LoadJson;
  readonly readWorkers: () => readonly WorkerReading[];
  readonly sources: SourceReadings;
  /** Tracks that were played from elsewhere. */
  readonly mirrors: Pick<Mirrors, "mirrorCounts" | "fallbackCounts">;
  /** Clients' sessions, including those that wait to be resumed. */
  readonly readSessions: () => readonly { readonly isConnected: boolean }[];
  /** Connections to the node's port by what they are doing. */
  readonly readConnections: () => Readonly<Record<string, number>>;
  /** How the state that outlives the process is doing. */
  readonly readState: () => StateReport;
  /** How this machine is doing in its cluster. */
  readonly readCluster: () => ClusterReport;
  /** What the other machines of the cluster say of themselves. */
  readonly reports: Pick<MachineReports, "serve" | "self" | "askOthers">;
  /** Tonearm's own. */
  readonly version: string;
  /** Audio totals since the start. */
  readonly audio: AudioTotals;
  readonly logCounts: Readonly<Record<LogLevel, number>>;
  /** Epoch milliseconds of the start. */
  readonly startEpochMs: number;
  /**
   * False: only support bundles read metrics, and garbage collection pauses are not measured, which costs a little
   * each.
   */
  readonly isScraped: boolean;
}

/** One for the node. Everything but the collector's pauses is read when it is asked for. */
export class NodeMetrics {
  readonly contentType = PROMETHEUS_CONTENT_TYPE;
  readonly #options: NodeMetricsOptions;
  readonly #gcPauses: GcPauses | undefined;

  constructor(options: NodeMetricsOptions) {
    this.#options = options;
    this.#gcPauses = options.isScraped ? new GcPauses() : undefined;
    options.reports.serve("metrics", async (request) => {
      return JSON.stringify(this.#families(namesSchema.parse(readJson(request)) ?? undefined));
    });
  }

  /** All families, or those with the given names. */
  read(names: readonly string[] | undefined): string {
    return prometheusText(this.#families(names));
  }

  /**
   * As `read`, of all machines of the cluster: each sample has the label `machine`. One that does not answer is left out.
   * @throws NodeError "requests-busy"
   */
  async readAll(names: readonly string[] | undefined): Promise<string> {
    const { reports } = this.#options;
    const others = (await reports.askOthers("metrics", JSON.stringify(names ?? null))).map(readFamilies);
    const { self } = reports;
    const families = this.#families(names);
    // A node that is alone has no name.
    if (self === undefined && others.length === 0) return prometheusText(families);
    const own = { machine: self ?? { id: "", name: "this machine" }, families };
    return prometheusText(named(joinFamilies([own, ...others]), names));
  }

  #families(names: readonly string[] | undefined): readonly MetricFamily[] {
    const { audio, sources, mirrors } = this.#options;
    const ofTonearm = [...this.#ofTonearm(), ...audioFamilies(audio), ...sourceFamilies(sources, mirrors)];
    const families = [...this.#ofLavalink(), ...ofTonearm, ...this.#ofProcess()];
    return named(families, names);
  }

  /** Pauses are no longer noted. */
  close(): void {
    this.#gcPauses?.close();
  }

  #ofLavalink(): MetricFamily[] {
    const { players, playingPlayers, uptime, memory, cpu } = this.#options.readStats();
    return [
      gauge("lavalink_players_total", "Players of connected clients.", players),
      gauge("lavalink_playing_players_total", "Players with a track that is not paused.", playingPlayers),
      gauge("lavalink_uptime_milliseconds", "Time since the start.", uptime),
      gauge("lavalink_memory_free_bytes", "Unused part of the JavaScript heap.", memory.free),
      gauge("lavalink_memory_used_bytes", "Memory in use.", memory.used),
      gauge("lavalink_memory_allocated_bytes", "Memory of the process.", memory.allocated),
      gauge("lavalink_memory_reservable_bytes", "Memory of the machine.", memory.reservable),
      gauge("lavalink_cpu_cores", "Cores of the machine.", cpu.cores),
      gauge("lavalink_cpu_system_load_percentage", "Share of all cores that is busy, 0 to 1.", cpu.systemLoad),
      gauge(
        "lavalink_cpu_lavalink_load_percentage",
        "Share of all cores that the node uses, 0 to 1.",
        cpu.lavalinkLoad,
      ),
      {
        name: "lavalink_gc_pauses_seconds",
        help: "Stops of the main thread for garbage collection.",
        type: "histogram",
        samples: this.#gcPauses?.samples() ?? [],
      },
      {
        name: "logback_appender_total",
        help: "Log lines by level, written or not.",
        type: "counter",
        samples: Object.entries(this.#options.logCounts).map(([level, value]) => ({ labels: { level }, value })),
      },
    ];
  }

  #ofTonearm(): MetricFamily[] {
    const { hasCapacity, refused, moved, encoder } = this.#options.readLoad();
    const sessions = this.#options.readSessions();
    const connected = sessions.filter(({ isConnected }) => isConnected).length;
    return [
      {
        name: "tonearm_build_info",
        help: "Always 1; its labels say what runs.",
        type: "gauge",
        samples: [{ labels: { version: this.#options.version, node_version: process.versions.node }, value: 1 }],
      },
      byState("tonearm_sessions", "Sessions of clients.", { connected, waiting: sessions.length - connected }),
      byState("tonearm_connections", "Connections of clients.", this.#options.readConnections()),
      gauge("tonearm_has_capacity", "1, or 0 while players that are silent now would be refused.", hasCapacity ? 1 : 0),
      {
        name: "tonearm_refused_starts_total",
        help: "Starts refused because the audio threads were busy.",
        type: "counter",
        samples: [{ value: refused }],
      },
      {
        name: "tonearm_moved_players_total",
        help: "Players whose audio moved to an audio thread with less load while playing.",
        type: "counter",
        samples: [{ value: moved }],
      },
      gauge("tonearm_encoder_complexity", "Current complexity of the Opus encoders, 0 to 10.", encoder.complexity),
      gauge(
        "tonearm_encoder_complexity_max",
        "Configured complexity of the Opus encoders, 0 to 10.",
        encoder.complexityMax,
      ),
      ...workerFamilies(this.#options.readWorkers()),
      ...stateFamilies(this.#options.readState()),
      ...clusterFamilies(this.#options.readCluster()),
    ];
  }

  #ofProcess(): MetricFamily[] {
    const { user, system } = process.cpuUsage();
    return [
      {
        name: "process_cpu_seconds_total",
        help: "Processor time used.",
        type: "counter",
        samples: [{ value: (user + system) / 1e6 }],
      },
      gauge("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()),
      gauge("process_start_time_seconds", "When the process started.", this.#options.startEpochMs / 1000),
    ];
  }
}

function named(families: readonly MetricFamily[], names: readonly string[] | undefined): readonly MetricFamily[] {
  return names === undefined ? families : families.filter(({ name }) => names.includes(name));
}

function byState(name: string, help: string, counts: Readonly<Record<string, number>>): MetricFamily {
  const samples = Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }));
  return { name, help, type: "gauge", samples };
}

function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: "gauge", samples: [{ value }] };
}
