// With real processes: that is what the operating system is asked for.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { findListeningProcess } from "../../../../lab/bench/listening-process.ts";
import { machineUse, readMachine } from "../../../../lab/bench/machine-use.ts";
import { endProcessTree, readProcessTree, readPssBytes } from "../../../../lab/bench/process-tree.ts";

const MEGABYTE = 1024 * 1024;
const parents: ChildProcess[] = [];

afterEach(async () => {
  for (const { pid } of parents.splice(0)) if (pid !== undefined) await endProcessTree(pid, 0);
});

/**
 * A process whose child has used this much processor time, and holds this much memory, once this resolves. Its name has
 * a parenthesis in it, as names may.
 */
async function startFamily({ busyMs = 0, megabytes = 0 }): Promise<number> {
  const child = `
    process.title = "a) child (";
    const held = Buffer.alloc(${megabytes * MEGABYTE}, 1);
    while (process.cpuUsage().user < ${busyMs * 1000}) Math.sqrt(held.length);
    console.log("ready");
    setInterval(() => held, 1e6);`;
  const parent = `
    const { spawn } = require("node:child_process");
    spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "inherit" });`;
  const started = spawn(process.execPath, ["-e", parent], { stdio: ["ignore", "pipe", "inherit"] });
  parents.push(started);
  await once(started.stdout, "data");
  return started.pid ?? 0;
}

test("a tree's processor time includes that of the children", async () => {
  const pid = await startFamily({ busyMs: 300 });
  const tree = readProcessTree(pid);
  expect(tree?.processes).toBe(2);
  expect(tree?.cpuSeconds).toBeGreaterThanOrEqual(0.29);
});

test("a tree's memory includes that of the children, by either count", async () => {
  const pid = await startFamily({ megabytes: 200 });
  expect(readProcessTree(pid)?.residentBytes).toBeGreaterThan(200 * MEGABYTE);
  expect(readPssBytes(pid)).toBeGreaterThan(200 * MEGABYTE);
  expect(readPssBytes(pid)).toBeLessThanOrEqual(readProcessTree(pid)?.residentBytes ?? 0);
});

test("a tree ends as a whole, and can then no longer be read", async () => {
  const pid = await startFamily({});
  await endProcessTree(pid, 10_000);
  await expect.poll(() => readProcessTree(pid)).toBeUndefined();
  expect(readPssBytes(pid)).toBeUndefined();
});

test("the process that listens on a port is found, and none on an unused port", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // listens on TCP
  expect(findListeningProcess(port)).toBe(process.pid);
  server.close();
  await once(server, "close");
  expect(findListeningProcess(port)).toBeUndefined();
});

test("the use of other processes is the busy time of the machine less ours", () => {
  const stat = (user: number, system: number, idle: number, steal: number) =>
    `cpu  ${user} 0 ${system} ${idle} 0 0 0 ${steal} 0 0\ncpu0 1 2 3\n`;
  const before = { ...readMachine([], stat(1000, 500, 8000, 0)), ourTicks: 200 };
  const after = { ...readMachine([], stat(1300, 600, 8500, 100)), ourTicks: 350 };
  expect(machineUse(before, after, 2.5)).toEqual({ othersPercent: 25, stealPercent: 10, load: 2.5 });
  expect(machineUse(before, { ...after, ourTicks: 1200 }, 0).othersPercent).toBe(0);
});

test("our own use of the machine is that of our process trees", async () => {
  const pid = await startFamily({ busyMs: 200 });
  expect(readMachine([pid]).ourTicks).toBeGreaterThanOrEqual(19);
  expect(readMachine([]).ourTicks).toBe(0);
  expect(readMachine([]).allTicks).toBeGreaterThan(0);
});
