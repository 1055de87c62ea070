// `npm run lab -- cluster`: machines behind a balancer that share their sessions through NATS, of which one after the
// other ends (README.md). Prints its seed and what was lost; ends with status 1 when anything was. Lab only.

import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { clusterText } from "./report.ts";
import type { MachineEnd } from "./round.ts";
import { runClusterRounds } from "./rounds.ts";

const { values } = parseArgs({
  options: {
    machines: { type: "string", default: "3" },
    players: { type: "string", default: "60" },
    rounds: { type: "string", default: "3" },
    end: { type: "string", default: "kill" },
    pause: { type: "boolean", default: false },
    nats: { type: "string", default: "1" },
    logs: { type: "string" },
    seed: { type: "string" },
    json: { type: "string" },
    "no-dave": { type: "boolean", default: false },
  },
});

const SEED_MAX = 1_000_000;
const seed = Number(values.seed ?? randomInt(1, SEED_MAX));
const end: MachineEnd = values.pause ? "pause" : values.end === "term" ? "term" : "kill";

console.log(`seed ${seed}`);
const result = await runClusterRounds({
  machines: Number(values.machines),
  players: Number(values.players),
  rounds: Number(values.rounds),
  end,
  seed,
  hasDave: !values["no-dave"],
  natsServers: values.nats === "3" ? 3 : 1,
  logFolder: values.logs,
  report: (line) => console.log(line),
});
console.log(clusterText(result));
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ seed, ...result }, undefined, 2)}\n`);
process.exit(result.losses.length === 0 ? 0 : 1);
