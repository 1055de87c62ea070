// Schemathesis (PyPI) reads our OpenAPI document and tries to make the node break it: answers to all its requests have
// the status, type, headers and body that the document promises. Installed into a separate Python environment.

import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { METHODS } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fuzzSeed } from "../../support/fuzz-seed.ts";
import { NodeUnderFire } from "./node-under-fire.ts";

const PACKAGE = "schemathesis==4.32.5";
const TIME_MAX_S = 60;
const INSTALL_TIMEOUT_MS = 180_000;
const CHECKS = [
  ..."not_a_server_error status_code_conformance content_type_conformance response_headers_conformance".split(" "),
  ..."response_schema_conformance unsupported_method ignored_auth".split(" "),
];

/** A failure of its report; an operation has the form `GET /version`. */
interface Failure {
  readonly operations: readonly string[];
}

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "tonearm-fuzz-"));
const python = installSchemathesis();
let node: NodeUnderFire;

beforeAll(async () => {
  node = await NodeUnderFire.start();
});

afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

// It needs Python 3.10 with venv, and PyPI; the reason is printed when one is missing.
test.skipIf(python === undefined)("schemathesis finds no answer that contradicts the OpenAPI document", async () => {
  // Reloading a plugin starts its thread; Schemathesis finds the names in answers, sooner or later all of them.
  await node.startPlugins();
  const warmMemoryBytes = await node.memoryBytes();
  const config = join(folder, "schemathesis.toml");
  const report = join(folder, "report.json");
  writeFileSync(config, `base-url = "${node.url}"\n[parameters]\n"path.sessionId" = "${node.sessionId}"\n`);
  const result = await run(
    python ?? "",
    [
      ...["-m", "schemathesis.cli", "--config-file", config, "run", `${node.url}/v4/openapi.json`],
      ...["--header", `Authorization: ${node.password}`, "--seed", String(fuzzSeed()), "--workers", "1"],
      ...["--checks", CHECKS.join(","), "--phases", "examples,coverage,fuzzing", "--continue-on-failure"],
      ...["--max-time", String(TIME_MAX_S), "--request-timeout", "20", "--no-shrink"],
      ...["--report", "json", "--report-json-path", report],
      // Afterwards the node takes no players until it is started again: unit tests have that route.
      ...["--exclude-path", "/v4/tonearm/drain"],
      // It keeps notes where it is started.
    ],
    { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
  ).catch((error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? String(error) }));
  const { failures: all, test_cases: cases } = JSON.parse(readFileSync(report, "utf8"));
  const failures = all.filter(({ operations }: Failure) => operations.some(isParsed));
  console.log(`${cases.generated} requests by schemathesis`);
  expect(failures, result.stdout).toEqual([]);
  expect(cases.generated).toBeGreaterThan(500);
  await node.expectUnharmed(warmMemoryBytes);
});

/** False for methods that Node.js' parser does not know and answers with 400 itself: on 20.19.0, QUERY. */
function isParsed(operation: string): boolean {
  return METHODS.includes(operation.split(" ", 1)[0] ?? "");
}

/** The Python that has Schemathesis, or undefined where it cannot be installed. In CI that is a failure. */
function installSchemathesis(): string | undefined {
  const environment = join(folder, "venv");
  const steps = [
    ["python3", "-m", "venv", environment],
    [join(environment, "bin", "python"), "-m", "pip", "install", "--quiet", PACKAGE],
  ] as const;
  for (const [command, ...args] of steps) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8", timeout: INSTALL_TIMEOUT_MS });
    if (status === 0) continue;
    const reason = `schemathesis could not be installed: ${error?.message ?? stderr}`;
    if (process.env.CI !== undefined) throw new Error(reason);
    console.log(`skipped: ${reason}`);
    return undefined;
  }
  return join(environment, "bin", "python");
}
