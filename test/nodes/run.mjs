// Runs rings of tests on several versions of Node.js: `npm run nodes -- [--nodes VERSIONS] [--rings PROJECTS] [VITEST
// OPTIONS]`, lists with commas; by default the rings of `npm test` on the oldest version and the newest. Each comes as
// the package `node` of the configured registry, in a temporary folder that goes away again. Plain JavaScript, as it
// runs before anything is built. Ends with 1 when a ring failed.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { installNode, VERSIONS } from "./install-node.mjs";

const DEFAULT_RINGS = ["unit", "scenario"];
const VITEST = "node_modules/vitest/vitest.mjs";

/** Takes `--name value` or `--name=value` out of `args`. */
function takeOption(args, name) {
  const index = args.findIndex((arg) => arg === name || arg.startsWith(`${name}=`));
  if (index < 0) return undefined;
  const [, value] = args[index].includes("=") ? args.splice(index, 1)[0].split("=", 2) : args.splice(index, 2);
  return value;
}

function chosenVersions(text) {
  if (text === "all") return VERSIONS;
  if (text === "newest") return VERSIONS.slice(-1);
  return text?.split(",") ?? [VERSIONS[0], VERSIONS.at(-1)];
}

/** One version; true when all rings passed. What tests start is started with that version too. */
function runOn(version, rings, vitestArgs) {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-node-"));
  try {
    const bin = installNode(version, folder);
    const node = join(bin, "node");
    const found = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
    process.stdout.write(`\n==> Node.js ${found}: ${rings.join(", ")}\n`);
    const projects = rings.flatMap((ring) => ["--project", ring]);
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    const { status } = spawnSync(node, [VITEST, "run", ...projects, ...vitestArgs], { env, stdio: "inherit" });
    process.stdout.write(`==> Node.js ${found}: ${status === 0 ? "passed" : "FAILED"}\n`);
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const vitestArgs = process.argv.slice(2);
const versions = chosenVersions(takeOption(vitestArgs, "--nodes"));
const rings = takeOption(vitestArgs, "--rings")?.split(",") ?? DEFAULT_RINGS;
const failed = versions.filter((version) => !runOn(version, rings, vitestArgs));
if (failed.length > 0) process.stdout.write(`\nfailed on Node.js ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
