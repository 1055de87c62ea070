import { afterEach, beforeEach, expect, test } from "vitest";
import type { StateMessage } from "../../../../src/control/dashboard/live-messages.ts";
import { NodeHistory } from "../../../../src/observability/status/node-history.ts";
import { stateMessage } from "../../../support/dashboard-messages.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const STATE = stateMessage([]);

let clock: FakeClock;
let stats: StateMessage["stats"];
let reads: number;
let history: NodeHistory;

beforeEach(() => {
  clock = new FakeClock();
  stats = STATE.stats;
  reads = 0;
  const readStats = () => {
    reads++;
    return stats;
  };
  history = new NodeHistory({ clock, readStats, readLoad: () => ({ ...STATE.load, framesLost: 82 }) });
});
afterEach(() => history.close());

test("the node takes one sample a minute, and does nothing else", () => {
  const startMs = clock.epochMs();
  clock.advance(59_999);
  expect([history.samples, reads]).toEqual([[], 0]);
  clock.advance(1);
  stats = { ...stats, players: 7, playingPlayers: 5 };
  clock.advance(60_000);
  expect(reads).toBe(2);
  expect(history.samples.map(({ atMs, players }) => [atMs - startMs, players])).toEqual([
    [60_000, 0],
    [120_000, 7],
  ]);
  expect(history.samples[1]).toEqual({
    atMs: startMs + 120_000,
    memoryBytes: stats.memory.used,
    cpu: 0.17,
    players: 7,
    playing: 5,
    framesLost: 82,
    latenessMs: 36,
    workerLoads: [0.18, 0.68],
  });
});

test("the node keeps the samples of an hour, and none after it is closed", () => {
  const startMs = clock.epochMs();
  for (let minute = 0; minute < 100; minute++) clock.advance(60_000);
  expect(history.samples).toHaveLength(60);
  expect(history.samples[0]?.atMs).toBe(startMs + 41 * 60_000);
  history.close();
  clock.advance(600_000);
  expect(history.samples.at(-1)?.atMs).toBe(startMs + 100 * 60_000);
  expect(clock.pendingCount).toBe(0);
});
