// What else the machine did while a node was measured: the share of its processors that other processes used, and the
// share that its host took away. Linux only: read from /proc.

import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { CLOCK_TICKS_PER_SECOND, readProcessTree } from "./process-tree.ts";

/** Counters since the machine started, over all its processors. */
export interface MachineReading {
  readonly busyTicks: number;
  readonly stealTicks: number;
  readonly allTicks: number;
  readonly ourTicks: number;
}

/** Shares of all processors together, in percent. */
interface MachineUse {
  /** Busy with neither the nodes nor the bench. */
  readonly othersPercent: number;
  /** Share of time in which the host ran other guests. */
  readonly stealPercent: number;
  /** Load average: processes that needed a processor, the mean of the last minute. */
  readonly load: number;
}

/** `ourPids`: processes whose trees are the bench and the nodes; none of them is a descendant of another one. */
export function readMachine(ourPids: readonly number[], stat = readFileSync("/proc/stat", "utf8")): MachineReading {
  const counters = /^cpu +(.+)$/m.exec(stat)?.[1]?.split(" ").map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softIrq = 0, steal = 0] = counters;
  const ourSeconds = ourPids.reduce((sum, pid) => sum + (readProcessTree(pid)?.cpuSeconds ?? 0), 0);
  return {
    // Interrupts are attributed to no process: many of them are packets that the nodes send and the bench receives.
    busyTicks: user + nice + system,
    stealTicks: steal,
    allTicks: user + nice + system + idle + waiting + irq + softIrq + steal,
    ourTicks: ourSeconds * CLOCK_TICKS_PER_SECOND,
  };
}

export function machineUse(before: MachineReading, after: MachineReading, load = loadavg()[0] ?? 0): MachineUse {
  const grown = (counter: keyof MachineReading) => after[counter] - before[counter];
  const all = Math.max(1, grown("allTicks"));
  return {
    othersPercent: (Math.max(0, grown("busyTicks") - grown("ourTicks")) / all) * 100,
    stealPercent: (grown("stealTicks") / all) * 100,
    load,
  };
}
