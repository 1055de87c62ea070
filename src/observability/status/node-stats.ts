// How the process and its machine are doing: the memory and cpu members of Stats (protocol-v4.md section 3.7). Main
// thread. Processor shares are computed over at least 30 s, and are 0 until then.

import { cpus, totalmem } from "node:os";
import type { StatsJson } from "../../control/protocol/stats-json.ts";
import type { Clock } from "../../lib/clock.ts";

const CPU_INTERVAL_MS = 30_000;
/** Reading it takes a tenth of a millisecond; hundreds of clients that ask at once all get the same reading. */
const MEMORY_INTERVAL_MS = 100;

interface CpuSample {
  readonly nowMs: number;
  readonly processMs: number;
  readonly busyMs: number;
  readonly totalMs: number;
}

/** One for the node. Memory is read at most ten times a second, processor time every 30 s, for all callers. */
export class NodeStats {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #cores = Math.max(1, cpus().length);
  #sample: CpuSample;
  #loads = { systemLoad: 0, lavalinkLoad: 0 };
  #memory: StatsJson["memory"];
  #memoryReadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.now();
    this.#sample = this.#takeSample();
    this.#memory = readMemory();
    this.#memoryReadMs = this.#startMs;
  }

  /** The process and machine part of Stats, as of now or a moment ago (see above). */
  read(): Pick<StatsJson, "uptime" | "memory" | "cpu"> {
    return {
      uptime: Math.round(this.#clock.now() - this.#startMs),
      memory: this.#readMemory(),
      cpu: { cores: this.#cores, ...this.#readLoads() },
    };
  }

  #readMemory(): StatsJson["memory"] {
    const now = this.#clock.now();
    if (now - this.#memoryReadMs < MEMORY_INTERVAL_MS) return this.#memory;
    this.#memoryReadMs = now;
    this.#memory = readMemory();
    return this.#memory;
  }

  #readLoads(): { systemLoad: number; lavalinkLoad: number } {
    if (this.#clock.now() - this.#sample.nowMs < CPU_INTERVAL_MS) return this.#loads;
    const before = this.#sample;
    const after = this.#takeSample();
    this.#sample = after;
    this.#loads = {
      systemLoad: share(after.busyMs - before.busyMs, after.totalMs - before.totalMs),
      lavalinkLoad: share(after.processMs - before.processMs, (after.nowMs - before.nowMs) * this.#cores),
    };
    return this.#loads;
  }

  #takeSample(): CpuSample {
    const { user, system } = process.cpuUsage();
    let idleMs = 0;
    let totalMs = 0;
    for (const { times } of cpus()) {
      idleMs += times.idle;
      totalMs += times.user + times.nice + times.sys + times.idle + times.irq;
    }
    return { nowMs: this.#clock.now(), processMs: (user + system) / 1000, busyMs: totalMs - idleMs, totalMs };
  }
}

/** In the terms of a JVM: what the process holds, and how much of that is in use. */
function readMemory(): StatsJson["memory"] {
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  const free = Math.max(0, heapTotal - heapUsed);
  return { free, used: rss - free, allocated: rss, reservable: totalmem() };
}

function share(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
}
