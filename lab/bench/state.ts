// Measures the store of the state on this machine's disk: one record of 1 KB a write, at the pace of a busy node, with
// the syncs that follow the writes, and the CPU time of the process for each. `npm run bench -- state`.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/log/log.ts";
import { openStateStore } from "../../src/state/open-state.ts";
import { markdownTable } from "../report/markdown-table.ts";
import { quantile } from "../report/statistics.ts";
import { sleep } from "../sleep.ts";

const WRITES = 5000;
const PLAYERS = 200;
const VALUE = "x".repeat(1000);
const PAUSE_MS = 2;

const folder = await mkdtemp(join(tmpdir(), "tonearm-bench-state-"));
try {
  const open = async () => {
    const startedMs = performance.now();
    const opened = await openStateStore({ path: folder, key: undefined, clock: systemClock, logger: silentLogger });
    if (opened.kind === "off") throw new Error(opened.reason);
    return { store: opened.store, tookMs: performance.now() - startedMs };
  };
  const { store } = await open();
  const tookMs: number[] = [];
  const blockedMs: number[] = [];
  for (let count = 0; count < WRITES; count++) {
    const startedMs = performance.now();
    const cpu = process.cpuUsage();
    const written = store.write([{ key: `player/${count % PLAYERS}`, value: VALUE }]);
    await written;
    tookMs.push(performance.now() - startedMs);
    const { user, system } = process.cpuUsage(cpu);
    blockedMs.push((user + system) / 1000);
    await sleep(PAUSE_MS);
  }
  await store.close();
  const again = await open();
  const records = await again.store.readAll();
  await again.store.close();
  const row = (name: string, values: readonly number[]) => [
    name,
    ...[0.5, 0.99, 1].map((share) => quantile(values, share).toFixed(3)),
  ];
  console.log(markdownTable(["ms", "p50", "p99", "worst"], [row("write", tookMs), row("CPU of it", blockedMs)]));
  console.log(`\nopened with ${records.length} records in ${again.tookMs.toFixed(1)} ms`);
} finally {
  await rm(folder, { recursive: true });
}
