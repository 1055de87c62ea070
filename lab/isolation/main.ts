// `npm run lab -- isolation`: attacks a node with hostile files, sites, voice servers and clients while control players
// play, and reports for each whether they were affected. Exit status 0 when none was, 1 when one was, 2 when the run
// failed.

import { writeFile } from "node:fs/promises";
import { availableParallelism, loadavg } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { NodeCommand } from "../bench/node-process.ts";
import { NODE_COMMAND, typedCommand } from "../programs.ts";
import { LAYERS } from "./cases.ts";
import { runGenerate } from "./fuzz/generate-command.ts";
import { runningNode, startOwnNode } from "./harness/node-under-test.ts";
import { runLostWorkers } from "./lost-workers/lost-workers.ts";
import { formatPlan, formatResult, formatSummary, HEADER } from "./report.ts";
import { expectedSeconds, type NamedCase, runCases } from "./run-cases.ts";

const HELP = `Attacks a v4 node with hostile cases while control players play, and reports whether they were affected.

  ${typedCommand("isolation")}                                            # on our own node
  ${typedCommand("isolation")} http://127.0.0.1:2333 --password PASSWORD  # on a running one

  --password TEXT   the node's password, default youshallnotpass
  --node FILE       the bin/tonearm.js of another checkout, as our own node
  --case NAMES      cases to run, separated by commas; a part of a name or of a layer is enough
  --quick           the most telling cases, with short windows: two minutes instead of most of an hour
  --list            list the cases
  --seed NUMBER     seed of their random data, default 1
  --json FILE       write all measurements to a file as well
  --log             print the log of our own node
  --help            this text

  ${typedCommand("isolation")} generate --files 10000 --container ogg,mp4 --seed 1

fuzzes readers and decoders with generated files; --out FILE writes the file of the seed instead.

  ${typedCommand("isolation")} lost-workers --players 100 --json FILE

ends an audio worker in the middle of a player's work, in three modes, and reports gaps and crash attribution.

A running node has to be on the same machine, be allowed to reach loopback, and speak ws:// to voice servers. Tonearm:

  TONEARM_NETWORK_ALLOW=127.0.0.0/8 TONEARM_VOICE_GATEWAY_SCHEME=ws ${NODE_COMMAND}
`;

const COMMANDS: ReadonlyMap<string, (args: string[]) => Promise<number>> = new Map([
  ["generate", runGenerate],
  ["lost-workers", runLostWorkers],
]);
const command = COMMANDS.get(process.argv[2] ?? "");
const { values, positionals } = parseArgs({
  args: command === undefined ? process.argv.slice(2) : [],
  allowPositionals: true,
  options: {
    password: { type: "string", default: "youshallnotpass" },
    node: { type: "string" },
    case: { type: "string" },
    quick: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    json: { type: "string" },
    log: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

process.exitCode = command === undefined ? await main() : await command(process.argv.slice(3));

async function main(): Promise<number> {
  const cases = chosenCases();
  if (values.help || cases.length === 0) {
    if (cases.length === 0) console.error(`no such case: ${values.case}\n`);
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  if (values.list) {
    for (const { layer, name, what } of cases) console.log(`${layer} / ${name}: ${what}`);
    return 0;
  }
  try {
    return await run(cases);
  } catch (error) {
    console.error(`cannot continue: ${error instanceof Error ? error.message : error}`);
    return 2;
  }
}

async function run(cases: readonly NamedCase[]): Promise<number> {
  const [url] = positionals;
  const onLine = (line: string) => (values.log ? console.error(`        node: ${line}`) : undefined);
  const plan = {
    cases: url === undefined ? cases : withoutSettings(cases),
    ...(values.quick ? { controlSeconds: 1.5, attackSecondsMax: 2 } : {}),
  };
  const machine = { load: loadavg()[0] ?? 0, cores: availableParallelism() };
  console.log(formatPlan({ cases: plan.cases.length, seconds: expectedSeconds(plan), ...machine }));
  console.log(HEADER);
  const results = await runCases({
    startNode: async (setting) =>
      url === undefined ? startOwnNode(onLine, { setting, ...otherNode() }) : runningNode(url, values.password),
    ...plan,
    seed: Number(values.seed),
    onResult: (result) => console.log(formatResult(result)),
  });
  console.log(formatSummary(results));
  if (values.json !== undefined) {
    await writeFile(values.json, `${JSON.stringify({ seed: Number(values.seed), results }, undefined, 2)}\n`);
  }
  return results.some(({ outcome }) => outcome === "fail") ? 1 : 0;
}

function otherNode(): { readonly command?: NodeCommand } {
  if (values.node === undefined) return {};
  return { command: { name: values.node, command: process.execPath, args: [resolve(values.node), "start"] } };
}

/** A running node cannot be given other settings. */
function withoutSettings(cases: readonly NamedCase[]): readonly NamedCase[] {
  const usable = cases.filter(({ node = "plain" }) => node === "plain");
  if (usable.length < cases.length) {
    console.log(`${cases.length - usable.length} cases need a node with their own settings and are not run\n`);
  }
  return usable;
}

function chosenCases(): NamedCase[] {
  const all = LAYERS.flatMap(({ layer, cases }) => cases.map((one) => ({ layer, ...one })));
  const selected = values.case?.split(",").map((name) => name.trim());
  const exact = all.filter(({ name }) => selected?.includes(name));
  if (selected !== undefined && exact.length === selected.length) return exact;
  const isSelected = ({ layer, name }: NamedCase) =>
    selected?.some((part) => `${layer} / ${name}`.includes(part)) ?? true;
  return all.filter((one) => isSelected(one) && (one.isQuick === true || !values.quick));
}
