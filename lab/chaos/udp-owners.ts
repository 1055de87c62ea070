// Which process sends from a UDP port of this machine, by Linux's /proc: so that streams of one guild are known by their
// processes. Elsewhere nothing is known. Lab only.

import { readdir, readFile, readlink } from "node:fs/promises";

const TABLES = ["/proc/net/udp", "/proc/net/udp6"];

/** The ports of these processes, with the process of each. */
export async function udpOwners(pids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const ports = (await Promise.all(TABLES.map(readTable))).flatMap((text) => [...socketPorts(text)]);
  const portOf = new Map(ports);
  const found = await Promise.all(pids.map(async (pid) => [pid, await socketsOf(pid)] as const));
  return new Map(
    found.flatMap(([pid, inodes]) =>
      inodes.flatMap((inode) => {
        const port = portOf.get(inode);
        return port === undefined ? [] : [[port, pid] as const];
      }),
    ),
  );
}

/** Inode and local port of each line of such a table. */
export function* socketPorts(table: string): Generator<readonly [inode: string, port: number]> {
  for (const line of table.split("\n").slice(1)) {
    const [, local = "", , , , , , , , inode] = line.trim().split(/\s+/);
    const port = Number.parseInt(local.split(":")[1] ?? "", 16);
    if (inode !== undefined && port > 0) yield [inode, port];
  }
}

async function readTable(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(() => ""); // not Linux
}

async function socketsOf(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []); // it has ended
  const targets = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => ""))); // closed by now
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}
