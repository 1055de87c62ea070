// `npm run bench`: idle memory, start time, start latency, and CPU, memory and lateness of many players, against a fake
// Discord with DAVE on. Prints tables and, with --json, writes the numbers. Needs Linux (/proc), and ffmpeg for
// the songs unless `--media FOLDER` has a song.webm (Opus) and a song.mp3 of three minutes or more.

import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { type ApiLoadResult, measureApiLoad } from "./api-load.ts";
import { type BenchOptions, measureIdle, measurePlayers, measureStartLatency, type PlayersResult } from "./measure.ts";
import { makeBenchMedia } from "./media.ts";
import { type NodeCommand, TONEARM } from "./node-process.ts";

const PASSTHROUGH_PLAYERS = [1, 50, 200, 500];
const MP3_PLAYERS = [1, 20, 50];
const START_RUNS = 5;
const HEADER =
  "| node | file | players | CPU/player % | CPU % | MB/player | MB | due | sent | late p50 | p99 | max ms " +
  "|\n|---|---|---|---|---|---|---|---|---|---|---|---|";

const { values } = parseArgs({
  options: {
    media: { type: "string" },
    seconds: { type: "string", default: "20" },
    latencyRuns: { type: "string", default: "40" },
    /** idle, latency, webm-1 … mp3-50 (comma-separated), or api-PLAYERS-RATE: REST requests while so many play. */
    only: { type: "string" },
    /** Another node beside ours in the same run: a shell command that reads Lavalink's environment variables. */
    against: { type: "string" },
    "no-dave": { type: "boolean", default: false },
    json: { type: "string" },
  },
});

const nodes: NodeCommand[] = [TONEARM];
if (values.against !== undefined) nodes.push({ name: "other", command: "sh", args: ["-c", `exec ${values.against}`] });
const mediaRoot = values.media ?? (await makeBenchMedia());
const seconds = Number(values.seconds);
const results: unknown[] = [];
console.log(
  `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}, ${new Date().toISOString()}\n`,
);
for (const node of nodes) {
  const options: BenchOptions = { node, mediaRoot, daveVersion: values["no-dave"] ? 0 : 1 };
  if (isWanted("idle")) {
    const idle = await measureIdle(node, START_RUNS);
    console.log(
      `${node.name}: idle ${idle.residentMegabytes.toFixed(0)} MB, /version answers after ` +
        `${idle.startMs.toFixed(0)} ms`,
    );
    results.push(idle);
  }
  if (isWanted("latency")) {
    const latency = await measureStartLatency(options, Number(values.latencyRuns));
    console.log(
      `${node.name}: PATCH to first packet p50 ${latency.p50Ms.toFixed(1)} ms, p99 ${latency.p99Ms.toFixed(1)} ms`,
    );
    results.push(latency);
  }
  console.log(HEADER);
  const loads = [
    ...PASSTHROUGH_PLAYERS.map((players) => ({ file: "song.webm", players })),
    ...MP3_PLAYERS.map((players) => ({ file: "song.mp3", players })),
  ].filter((load) => isWanted(`${load.file.split(".")[1]}-${load.players}`));
  for (const load of loads) {
    const result = await measurePlayers(options, { ...load, seconds });
    console.log(row(result));
    for (const { kind, detail } of result.violations) console.log(`    broke a rule of Discord's: ${kind}: ${detail}`);
    results.push(result);
  }
}
if (values.only?.startsWith("api-")) {
  const [, players = "1000", rate = "5000"] = values.only.split("-");
  for (const node of nodes) {
    const options: BenchOptions = { node, mediaRoot, daveVersion: values["no-dave"] ? 0 : 1 };
    const result = await measureApiLoad(options, {
      players: Number(players),
      requestsPerSecond: Number(rate),
      seconds,
    });
    console.log(describeApiLoad(result));
    results.push(result);
  }
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, undefined, 2)}\n`);

function isWanted(name: string): boolean {
  return values.only === undefined || values.only.split(",").includes(name);
}

function describeApiLoad(result: ApiLoadResult): string {
  const lateness = ({ latenessMsP50, latenessMsP99, latenessMsMax }: ApiLoadResult["latenessBefore"]) =>
    `p50 ${latenessMsP50.toFixed(1)}, p99 ${latenessMsP99.toFixed(1)}, max ${latenessMsMax.toFixed(1)} ms`;
  return [
    `${result.node}: ${result.players} playing players, ${result.wantedPerSecond} requests a second wanted`,
    `  answered ${result.answeredPerSecond.toFixed(0)} a second, ${result.failed} failed, p50 ` +
      `${result.p50Ms.toFixed(1)} ms, p99 ${result.p99Ms.toFixed(1)} ms`,
    `  packets late before: ${lateness(result.latenessBefore)}`,
    `  packets late meanwhile: ${lateness(result.latenessMeanwhile)}`,
  ].join("\n");
}

function row(result: PlayersResult): string {
  const { lateness } = result;
  const cells = [
    result.node,
    result.file,
    result.players,
    result.cpuPercentPerPlayer.toFixed(3),
    result.cpuPercentTotal.toFixed(1),
    result.memoryMegabytesPerPlayer.toFixed(2),
    result.memoryMegabytesTotal.toFixed(0),
    result.packetsDue,
    result.packetsSent,
    lateness.latenessMsP50.toFixed(1),
    lateness.latenessMsP99.toFixed(1),
    lateness.latenessMsMax.toFixed(1),
  ];
  return `| ${cells.join(" | ")} |`;
}
