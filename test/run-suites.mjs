// Runs suites of tests and prints one table: `node test/run-suites.mjs [SUITE…]`, every suite by default, `gate` for
// what CI runs. The last line is "N passed, N failed"; the exit status is 0 only when nothing failed. Plain JavaScript,
// because it also runs the checks of a checkout that does not compile.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));
/**
 * A run that takes longer is killed and started once more: vitest can wait indefinitely for a process that it has lost.
 * The gate has 90 minutes, and its longest run takes 5 on two idle cores; the suite `slow` takes 20.
 */
const runMinutesMax = (suite) => (suite === "gate" ? 25 : 60);
/** Enough of a failure message to show its cause; a stack or a comparison may be a megabyte. */
const MESSAGE_CHARACTERS_MAX = 2_000;

/** One run of the test runner; each of its tests is counted. */
const tests = (...command) => ({ command, isTests: true });
const vitest = (...args) => tests("npx", "vitest", "run", ...args);
/** One command that passes when it ends with status 0. */
const check = (...command) => ({ command, isTests: false });

const SUITES = {
  unit: [vitest("--project", "unit")],
  // Network namespaces and container images need a context around the test runner, which their scripts create.
  integration: [vitest("--project", "integration"), tests("bash", "test/integration/netns/run.sh")],
  packaging: [vitest("--project", "packaging"), tests("bash", "test/packaging/image/run.sh")],
  ui: [vitest("--project", "ui")],
  slow: [vitest("--project", "slow")],
};

const GATE = [
  check("npm", "run", "verify"),
  check("node", "bin/tonearm.js", "--version"),
  check("npm", "run", "doctor", "--", "--server.port=0"),
  tests("npm", "test", "--"),
  vitest(...["requests", "media", "clients"].map((folder) => `test/integration/${folder}/`)),
  // The packed tarballs of the node, the lab and the Opus encoder install and run without a checkout; the node's starts
  // and plays on the oldest supported Node.js and on the newest.
  vitest(...["npm", "checkout", "lab", "opus-encoder"].map((name) => `test/packaging/install/${name}.test.ts`)),
];

const chosen = process.argv.slice(2);
const known = { ...SUITES, gate: GATE };
const unknown = chosen.filter((name) => !(name in known));
if (unknown.length > 0) {
  process.stderr.write(`unknown suite ${unknown.join(", ")}; the suites are ${Object.keys(known).join(", ")}\n`);
  process.exit(2);
}

const reports = mkdtempSync(join(tmpdir(), "tonearm-suites-"));
process.on("exit", () => rmSync(reports, { recursive: true, force: true }));
const failures = [];
const rows = [];
/** The running process group, separate from ours, so Ctrl-C does not reach it. */
let groupId;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    endGroup(groupId);
    process.exit(1);
  });
}
for (const name of chosen.length > 0 ? chosen : Object.keys(SUITES)) {
  for (const run of known[name]) rows.push(await runOne(name, run, join(reports, `${rows.length}.json`)));
}
printTable();
process.exitCode = rows.some(({ failed }) => failed > 0) ? 1 : 0;

async function runOne(suite, { command, isTests }, report) {
  const title = command.join(" ");
  const errors = `${report}.errors`;
  const reporters = ["default", join(PROJECT, "test/support/unhandled-errors.mjs"), "json"].map(
    (one) => `--reporter=${one}`,
  );
  const line = isTests ? [...command, ...reporters, `--outputFile.json=${report}`] : command;
  const startedMs = performance.now();
  const minutesMax = runMinutesMax(suite);
  let status = await execute(title, line, { errors, minutesMax });
  if (status === undefined) status = (await execute(`${title} (again)`, line, { errors, minutesMax })) ?? 1;
  const counts = isTests ? countTests(title, status, { report, errors }) : countCheck(title, status);
  return { suite, title, ...counts, minutes: (performance.now() - startedMs) / 60_000 };
}

/** The exit status; undefined after a timeout. Processes that a command leaves behind are killed with its group. */
function execute(title, [program, ...args], { errors, minutesMax }) {
  process.stdout.write(`\n==> ${title}\n`);
  const child = spawn(program, args, {
    cwd: PROJECT,
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
    env: { ...process.env, UNHANDLED_ERRORS: errors },
  });
  groupId = child.pid;
  return new Promise((resolve) => {
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      process.stdout.write(`\n==> ${title} did not end within ${minutesMax} minutes and is killed\n`);
      endGroup(child.pid);
    }, minutesMax * 60_000);
    child.on("error", (error) => {
      clearTimeout(timer);
      fail(title, error.message);
      resolve(1);
    });
    child.on("close", (status) => {
      clearTimeout(timer);
      endGroup(child.pid);
      resolve(isOver ? undefined : (status ?? 1));
    });
  });
}

function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has no processes left.
  }
}

function countCheck(title, status) {
  if (status !== 0) fail(title, `ended with status ${status}`);
  return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0 };
}

/** A run that crashes, runs no test or reports an error outside of tests counts as one failure. */
function countTests(title, status, { report, errors }) {
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0, testResults = [] } = readJson(report);
  for (const file of testResults) {
    const failed = file.assertionResults.filter((result) => result.status === "failed");
    for (const { fullName, failureMessages } of failed) fail(`${file.name} > ${fullName}`, ...failureMessages);
    if (file.status === "failed" && failed.length === 0) fail(file.name, file.message);
  }
  const isBroken = numFailedTests === 0 && (status !== 0 || numPassedTests === 0);
  if (isBroken) fail(title, `ended with status ${status} after ${numPassedTests} tests`, readText(errors));
  return { passed: numPassedTests, failed: numFailedTests + (isBroken ? 1 : 0), skipped: numPendingTests };
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The run ended before it wrote the file: its status says so.
    return "";
  }
}

function readJson(path) {
  try {
    return JSON.parse(readText(path));
  } catch {
    // The run ended before it wrote the file, too.
    return {};
  }
}

function fail(title, ...messages) {
  failures.push([`==> FAILED: ${title}`, ...messages.map((text) => text.slice(0, MESSAGE_CHARACTERS_MAX))].join("\n"));
}

/** Failures first: the end of a long log is what people read. */
function printTable() {
  const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
  const lines = [{ suite: "suite", title: "command", passed: "passed", failed: "failed", skipped: "skipped" }, ...rows];
  const table = lines.map(({ suite, title, passed, failed, skipped, minutes }) =>
    [
      suite.padEnd(12),
      ...[passed, failed, skipped].map((count) => String(count).padStart(7)),
      (minutes?.toFixed(1) ?? "minutes").padStart(8),
      ` ${title}`,
    ].join(" "),
  );
  process.stdout.write(`\n${[...failures, table.join("\n")].join("\n\n")}\n`);
  process.stdout.write(`\n${sum("passed")} passed, ${sum("failed")} failed\n`);
}
