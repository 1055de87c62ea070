// What the Stats object says of the process and the machine: uptime, memory, CPU (protocol-v4.md section 3.7). Main
// thread; the sessions add their players.

import { availableParallelism, cpus, totalmem } from "node:os";
import type { Clock } from "../lib/clock.ts";
import type { StatsJson } from "./api/stats-json.ts";

/** CPU loads are measured over at least this long, as in the published server. */
const CPU_PERIOD_MS = 30_000;

/** Counters since some start; only differences of two readings mean something. */
export interface CpuReading {
  /** Time all cores together spent working, milliseconds. */
  readonly systemBusyMs: number;
  /** Time all cores together had, milliseconds. */
  readonly systemTotalMs: number;
  /** CPU time of this process with all its threads, milliseconds. */
  readonly processMs: number;
}

export class NodeStats {
  readonly #clock: Clock;
  readonly #readCpu: () => CpuReading;
  readonly #cores = availableParallelism();
  readonly #startedMs: number;
  #sampledMs: number;
  #sample: CpuReading;
  #loads = { systemLoad: 0, lavalinkLoad: 0 };

  constructor({ clock, readCpu = readSystemCpu }: { clock: Clock; readCpu?: () => CpuReading }) {
    this.#clock = clock;
    this.#readCpu = readCpu;
    this.#startedMs = clock.now();
    this.#sampledMs = this.#startedMs;
    this.#sample = readCpu();
  }

  /** The loads are those of the last period of 30 s or more, and 0 before the first is over. */
  read(): Pick<StatsJson, "uptime" | "memory" | "cpu"> {
    this.#sampleCpu();
    return {
      uptime: Math.round(this.#clock.now() - this.#startedMs),
      memory: readMemory(),
      cpu: { cores: this.#cores, ...this.#loads },
    };
  }

  #sampleCpu(): void {
    const nowMs = this.#clock.now();
    const periodMs = nowMs - this.#sampledMs;
    if (periodMs < CPU_PERIOD_MS) return;
    const before = this.#sample;
    const now = this.#readCpu();
    this.#loads = {
      systemLoad: share(now.systemBusyMs - before.systemBusyMs, now.systemTotalMs - before.systemTotalMs),
      lavalinkLoad: share(now.processMs - before.processMs, periodMs * this.#cores),
    };
    this.#sample = now;
    this.#sampledMs = nowMs;
  }
}

function share(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
}

/** In the words of a JVM: `allocated` is what the process has, `free` the unused part of it, `reservable` its limit. */
function readMemory(): StatsJson["memory"] {
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  const limit = process.constrainedMemory();
  const free = Math.max(0, heapTotal - heapUsed);
  // Without a limit the system reports 0 or an absurdly high number.
  const reservable = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return { free, used: rss - free, allocated: rss, reservable };
}

function readSystemCpu(): CpuReading {
  let systemBusyMs = 0;
  let systemTotalMs = 0;
  for (const { times } of cpus()) {
    const busyMs = times.user + times.nice + times.sys + times.irq;
    systemBusyMs += busyMs;
    systemTotalMs += busyMs + times.idle;
  }
  const { user, system } = process.cpuUsage();
  return { systemBusyMs, systemTotalMs, processMs: (user + system) / 1000 };
}
