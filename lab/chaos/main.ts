// `npm run lab -- chaos`: machines and NATS servers are killed, ended, paused and cut off at random while players play
// (README.md). Prints its seed and what was lost; ends with status 1 when anything was. Lab only.

import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { CannotRun } from "../cannot-run.ts";
import { chaosText } from "./report.ts";
import { runChaos } from "./run.ts";
import { eventNames } from "./schedule.ts";

const { values } = parseArgs({
  options: {
    gateways: { type: "string", default: "3" },
    audio: { type: "string", default: "4" },
    both: { type: "string", default: "0" },
    nats: { type: "string", default: "3" },
    players: { type: "string", default: "200" },
    bots: { type: "string", default: "10" },
    minutes: { type: "string", default: "5" },
    events: { type: "string" },
    logs: { type: "string" },
    seed: { type: "string" },
    json: { type: "string" },
    "no-dave": { type: "boolean", default: false },
  },
});

const SEED_MAX = 1_000_000;
/** Then songs end. */
const MINUTES_MAX = 7;
const seed = Number(values.seed ?? randomInt(1, SEED_MAX));
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= MINUTES_MAX)) throw new CannotRun(`--minutes is up to ${MINUTES_MAX}`);
const names = values.events === undefined ? undefined : new Set(values.events.split(","));
const known: readonly string[] = eventNames(
  (["gateway", "audio", "both", "nats"] as const).map((role) => ({ name: role, role })),
);
const unknown = [...(names ?? [])].filter((name) => !known.includes(name));
if (unknown.length > 0) throw new CannotRun(`unknown events: ${unknown.join(", ")}; there are ${known.join(", ")}`);

console.log(`seed ${seed}`);
process.setMaxListeners(0); // each process that is started is ended with this one
const result = await runChaos({
  gateways: Number(values.gateways),
  audio: Number(values.audio),
  both: Number(values.both),
  natsServers: values.nats === "1" ? 1 : 3,
  players: Number(values.players),
  bots: Number(values.bots),
  minutes,
  names,
  seed,
  hasDave: !values["no-dave"],
  logFolder: values.logs,
  report: (line) => console.log(line),
});
console.log(chaosText(result));
if (values.json !== undefined) {
  const { sound, ...rest } = result;
  const plain = { ...sound, hit: Object.fromEntries(sound.hit), beside: Object.fromEntries(sound.beside) };
  await writeFile(values.json, `${JSON.stringify({ seed, ...rest, sound: plain }, undefined, 2)}\n`);
}
process.exit(result.losses.length === 0 ? 0 : 1);
