// `npm run lab -- restart`: a node that is killed and started again, in three ways (README.md). Prints its seed and what
// was lost; ends with status 1 when anything was. Lab only.

import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { KINDS, runMoments } from "./moments.ts";
import { measurePatches } from "./patches.ts";
import { momentsText, patchesText, roundsText } from "./report.ts";
import { runRounds } from "./rounds.ts";

const { values } = parseArgs({
  options: {
    players: { type: "string" },
    rounds: { type: "string", default: "3" },
    end: { type: "string", default: "kill" },
    moments: { type: "string" },
    moment: { type: "string" },
    kinds: { type: "string" },
    patches: { type: "string" },
    seed: { type: "string" },
    json: { type: "string" },
    "no-dave": { type: "boolean", default: false },
  },
});

const SEED_MAX = 1_000_000;
const PLAYERS_DEFAULT = 100;
const MOMENTS_DEFAULT = 50;
const seed = Number(values.seed ?? randomInt(1, SEED_MAX));
const report = (line: string): void => console.log(line);

const { text, result, losses } = await run();
console.log(text);
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ seed, ...result }, undefined, 2)}\n`);
process.exit(losses === 0 ? 0 : 1);

async function run(): Promise<{ readonly text: string; readonly result: object; readonly losses: number }> {
  if (values.patches !== undefined) {
    const result = await measurePatches(Number(values.patches));
    return { text: patchesText(result), result, losses: 0 };
  }
  console.log(`seed ${seed}`);
  if (values.moments !== undefined || values.moment !== undefined) {
    const last = values.moment === undefined ? undefined : Number(values.moment);
    const moments = last ?? Number(values.moments ?? MOMENTS_DEFAULT);
    const kinds = values.kinds === undefined ? KINDS : KINDS.filter((kind) => values.kinds?.split(",").includes(kind));
    const result = await runMoments({ seed, moments, kinds, isVerbose: last !== undefined, report });
    return { text: momentsText(result), result, losses: result.losses.length };
  }
  const players = Number(values.players ?? PLAYERS_DEFAULT);
  const end = values.end === "term" ? "SIGTERM" : "SIGKILL";
  const result = await runRounds({
    players,
    rounds: Number(values.rounds),
    end,
    seed,
    hasDave: !values["no-dave"],
    report,
  });
  return { text: roundsText(result), result, losses: result.losses.length };
}
