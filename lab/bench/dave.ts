// The cost of end-to-end encryption for an audio thread: each call of the MLS library, and 200 voice sessions that
// start within a second next to players. `npm run bench -- dave`; Linux only.

import { markdownTable, spreadText } from "../report/markdown-table.ts";
import { spreadOf } from "../report/statistics.ts";
import { type Costs, liveOnce, readThreads, summaryOf } from "./dave-costs.ts";
import { beginCrowd, type CrowdFigures, type CrowdPlan } from "./dave-crowd.ts";

const SIZES = [
  { size: 2, rounds: 40 },
  { size: 20, rounds: 8 },
];
const REPEATS = 3;
const STARTS = 200;
/** The cost of a frame: 40 µs for passthrough, 0.6 ms for MP3. */
const CROWDS = [
  { name: "no players", players: 0, frameMs: 0 },
  { name: "50 pass through", players: 50, frameMs: 0.04 },
  { name: "25 of MP3", players: 25, frameMs: 0.6 },
] as const;

const before = readThreads();
for (const { size, rounds } of SIZES) {
  const costs: Costs = new Map();
  for (let round = 0; round < rounds; round++) liveOnce(costs, size);
  const calls = summaryOf(costs);
  const frameMs = calls.find(({ call }) => call === "encryptOpus")?.warmMs ?? Number.NaN;
  const rows = calls.map(({ call, coldMs, warmMs }) => {
    const inFrames = (warmMs / frameMs).toFixed(warmMs > 10 * frameMs ? 0 : 1);
    return [call, coldMs.toFixed(3), warmMs.toFixed(3), inFrames];
  });
  console.log(`\n${size} members, ms of CPU, warm: the middle of ${Math.ceil(rounds / 2)}\n`);
  console.log(markdownTable(["call", "first", "warm", "in frames"], rows));
}
const after = readThreads();
const ownMs = after.ownMs - before.ownMs;
const othersMs = after.othersMs - before.othersMs;
console.log(
  `\non the calling thread: ${((100 * ownMs) / (ownMs + othersMs)).toFixed(1)} % of all CPU time during the run\n`,
);

const header = ["", "group after p50, ms", "p99, ms", "frames late", "worst, ms", "MLS a start, ms"];
for (const winner of ["ours", "first"] as const) {
  const rows: string[][] = [];
  for (const { name, players, frameMs } of CROWDS) {
    const heeding: CrowdFigures[] = [];
    const not: CrowdFigures[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const plan: Omit<CrowdPlan, "heedsFrames"> = { starts: STARTS, players, frameMs, winner };
      heeding.push(beginCrowd({ ...plan, heedsFrames: true }));
      not.push(beginCrowd({ ...plan, heedsFrames: false }));
    }
    rows.push([`${name}`, ...cellsOf(heeding)]);
    rows.push([`${name}, frames not heeded`, ...cellsOf(not)]);
  }
  console.log(`${STARTS} starts within a second, ${winner === "ours" ? "our commit" : "the first commit"} wins\n`);
  console.log(`${markdownTable(header, rows)}\n`);
}

function cellsOf(figures: readonly CrowdFigures[]): string[] {
  const cell = (key: keyof CrowdFigures, digits: number) =>
    spreadText(spreadOf(figures.map((one) => one[key])), digits);
  return [
    cell("readyMsP50", 0),
    cell("readyMsP99", 0),
    cell("framesLate", 0),
    cell("worstLateMs", 1),
    cell("workMs", 1),
  ];
}
