// `npm run lab -- conformance URL --password PASSWORD`: checks any node that speaks the v4 protocol, as a black box.
// Exit status 0 when every rule holds, 1 when one is broken, 2 when the node does not answer.

import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { NODE_COMMAND, typedCommand } from "../programs.ts";
import { GROUPS } from "./checks.ts";
import { formatResults } from "./report.ts";
import { runChecks } from "./run-checks.ts";
import type { Check } from "./workbench/check.ts";

const HELP = `Checks a node against the Lavalink v4 protocol.

  ${typedCommand("conformance")} http://127.0.0.1:2333 --password PASSWORD

  --password TEXT   the node's password, default youshallnotpass
  --only GROUPS     groups to run, separated by commas: ${GROUPS.join(", ")}
  --json FILE       write all results to a file as well
  --at-once NUMBER  checks that run concurrently, default 8
  --help            this text

The kit has its own media server and voice server, both on 127.0.0.1, so the node has to run on the same machine and
be allowed to reach it. For Tonearm:

  TONEARM_NETWORK_ALLOW=127.0.0.0/8 TONEARM_VOICE_GATEWAY_SCHEME=ws ${NODE_COMMAND}

The voice server speaks ws://, not wss://. Checks that need something the node cannot reach are skipped with a reason.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    password: { type: "string", default: "youshallnotpass" },
    only: { type: "string" },
    json: { type: "string" },
    "at-once": { type: "string", default: "8" },
    help: { type: "boolean", default: false },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const [url] = positionals;
  const groups = values.only?.split(",").map((name) => name.trim());
  const unknown = groups?.filter((name) => !GROUPS.includes(name)) ?? [];
  if (values.help || url === undefined || unknown.length > 0) {
    if (unknown.length > 0) console.error(`no such group: ${unknown.join(", ")}\n`);
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  try {
    const atOnce = Number(values["at-once"]);
    const isSelected = ({ group }: Check) => groups?.includes(group) ?? true;
    const results = await runChecks({ url, password: values.password, atOnce, isSelected });
    console.log(formatResults(results));
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
    return results.some(({ outcome }) => outcome === "fail") ? 1 : 0;
  } catch (error) {
    console.error(`cannot check ${url}: ${error instanceof Error ? error.message : error}`);
    return 2;
  }
}
