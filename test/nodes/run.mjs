// Runs rings of tests on several versions of Node.js: `npm run nodes -- [--nodes VERSIONS] [--rings NAMES] [VITEST
// OPTIONS]`, lists with commas; by default every ring on the oldest version and the newest. A ring is the name of its
// npm script. Versions come to a temporary folder that goes away again. Plain JavaScript, as it runs before anything is
// built. Ends with 1 when a ring failed.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { installNode, VERSIONS, versionOf } from "./install-node.mjs";
import { findRings } from "./rings.mjs";

/** Takes `--name value` or `--name=value` out of `args`. */
function takeOption(args, name) {
  const index = args.findIndex((arg) => arg === name || arg.startsWith(`${name}=`));
  if (index < 0) return undefined;
  const [, value] = args[index].includes("=") ? args.splice(index, 1)[0].split("=", 2) : args.splice(index, 2);
  return value;
}

function chosenVersions(text = "oldest,newest") {
  return text === "all" ? VERSIONS : text.split(",").map(versionOf);
}

/** Throws for one that is no ring. */
function chosenRings(text) {
  const rings = findRings();
  if (text === undefined) return rings;
  return text.split(",").map((name) => {
    const ring = rings.find((one) => one.name === name);
    if (ring === undefined) throw new Error(`there is no ring ${name}, but ${rings.map((one) => one.name).join(", ")}`);
    return ring;
  });
}

/** One version; returns what failed. What tests start is started with that version too. */
function runOn(version, rings, vitestArgs) {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-node-"));
  try {
    const bin = installNode(version, folder);
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    return rings.filter(({ name, reason }) => {
      process.stdout.write(`\n==> Node.js ${version}: npm run ${name}${reason && ` is left out: ${reason}`}\n`);
      if (reason !== "") return false;
      return spawnSync("npm", ["run", name, "--", ...vitestArgs], { env, stdio: "inherit" }).status !== 0;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const vitestArgs = process.argv.slice(2);
const versions = chosenVersions(takeOption(vitestArgs, "--nodes"));
const rings = chosenRings(takeOption(vitestArgs, "--rings"));
const failed = versions.flatMap((version, index) => {
  const due = rings.filter(({ isOnce }) => !isOnce || index === 0);
  return runOn(version, due, vitestArgs).map(({ name }) => `${name} on Node.js ${version}`);
});
process.stdout.write(failed.length === 0 ? "\nall passed\n" : `\nfailed: ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
