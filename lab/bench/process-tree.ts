// CPU and memory of a process and all its children, as the operating system counts them. Linux only: read from /proc.

import { readdirSync, readFileSync } from "node:fs";
import { sleep } from "../sleep.ts";

export interface TreeUse {
  readonly processes: number;
  /** Since their start, of all threads, and of children that have ended and were waited for. */
  readonly cpuSeconds: number;
  /** Memory shared by two of them is counted twice. */
  readonly residentBytes: number;
}

interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** Ended, and its parent has not looked yet. */
  readonly isZombie: boolean;
  readonly cpuTicks: number;
  readonly residentPages: number;
}

export const CLOCK_TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;
const POLL_MS = 10;

/** Undefined when the process has ended. A child that was detached from its parents (a daemon) is not counted. */
export function readProcessTree(pid: number): TreeUse | undefined {
  const tree = treeOf(pid);
  if (tree.length === 0) return undefined;
  const sum = (pick: (entry: ProcessEntry) => number) => tree.reduce((total, entry) => total + pick(entry), 0);
  return {
    processes: tree.length,
    cpuSeconds: sum(({ cpuTicks }) => cpuTicks) / CLOCK_TICKS_PER_SECOND,
    residentBytes: sum(({ residentPages }) => residentPages) * PAGE_BYTES,
  };
}

/**
 * The proportional memory of all of them: a page that n processes share counts for one n-th in each. Undefined where
 * the system does not report it: the process has ended, or belongs to another user.
 */
export function readPssBytes(pid: number): number | undefined {
  let kilobytes = 0;
  for (const entry of treeOf(pid)) {
    const [, pss] = /^Pss:\s+(\d+) kB$/m.exec(readOrNothing(`/proc/${entry.pid}/smaps_rollup`) ?? "") ?? [];
    if (pss !== undefined) kilobytes += Number(pss);
    else if (entry.pid === pid) return undefined; // a child may have ended just now
  }
  return kilobytes === 0 ? undefined : kilobytes * 1024;
}

/** Asks all of them to end, and kills those that have not ended within `patienceMs`. */
export async function endProcessTree(pid: number, patienceMs: number): Promise<void> {
  const pids = treeOf(pid).map((entry) => entry.pid);
  signal(pids, "SIGTERM");
  const deadlineMs = performance.now() + patienceMs;
  while (pids.some(isRunning) && performance.now() < deadlineMs) await sleep(POLL_MS);
  signal(pids.filter(isRunning), "SIGKILL");
}

/** Kills all of them before this returns: for the exit handler of our own process. */
export function killProcessTree(pid: number): void {
  const pids = treeOf(pid).map((entry) => entry.pid);
  signal(pids, "SIGKILL");
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has just ended by itself.
    }
  }
}

function isRunning(pid: number): boolean {
  const entry = readEntry(String(pid));
  return entry !== undefined && !entry.isZombie;
}

function treeOf(rootPid: number): readonly ProcessEntry[] {
  const entries = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readEntry(name) ?? []) : []));
  const tree = entries.filter(({ pid }) => pid === rootPid);
  // It grows as it is walked.
  for (const { pid } of tree) tree.push(...entries.filter(({ parentPid }) => parentPid === pid));
  return tree;
}

function readEntry(name: string): ProcessEntry | undefined {
  const stat = readOrNothing(`/proc/${name}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the name in parentheses and may hold anything, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]); // as proc(5) counts them
  return {
    pid: Number(name),
    parentPid: field(4),
    isZombie: fields[0] === "Z",
    cpuTicks: field(14) + field(15) + field(16) + field(17),
    residentPages: field(24),
  };
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // the process has ended, or may not be inspected
  }
}
