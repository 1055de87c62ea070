// Finds the process of this machine that listens on a TCP port, so that the CPU and memory of a node started elsewhere
// can be read from the operating system. Linux only: read from /proc.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const LISTENING = "0A";

/** Undefined when no process listens there, or when it may not be inspected. */
export function findListeningProcess(port: number): number | undefined {
  const sockets = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((path) => listeningSockets(path, port)));
  if (sockets.size === 0) return undefined;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const pid = pids.find((name) => openFilesOf(name).some((file) => sockets.has(file)));
  return pid === undefined ? undefined : Number(pid);
}

/** As they are called among a process's open files. */
function listeningSockets(path: string, port: number): string[] {
  const lines = attempt(() => readFileSync(path, "utf8").split("\n").slice(1)) ?? [];
  return lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
    const isIt = state === LISTENING && Number.parseInt(local.split(":")[1] ?? "", 16) === port;
    return isIt ? [`socket:[${inode}]`] : [];
  });
}

function openFilesOf(pid: string): string[] {
  const names = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return names.flatMap((name) => attempt(() => readlinkSync(`/proc/${pid}/fd/${name}`)) ?? []);
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // the process has ended, or may not be inspected
  }
}
