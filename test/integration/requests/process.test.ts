// The real process, as an operator runs it: starts, serves, says its password once, closes on a signal.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { freePort } from "../../../lab/free-port.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { BIN, LISTENING, type RunningNode, RunningNodes } from "../../support/running-node.ts";

const nodes = new RunningNodes();

afterEach(() => nodes.close());

function run(args: readonly string[], config = ""): RunningNode {
  return nodes.run(args, { config });
}

test.each(["SIGINT", "SIGTERM"] as const)("serves its version and closes with status 0 on %s", async (signal) => {
  const node = run(["start", "--server.port=0"]);
  const [, url] = await node.until(LISTENING);
  expect(await (await fetch(`${url}/version`)).text()).toMatch(/^\d+\.\d+\.\d+/);
  node.child.kill(signal);
  expect(await node.exited).toBe(0);
  expect(node.output()).toMatch(/closing signal=SIG(INT|TERM)[\s\S]*closed/);
});

test.skipIf(process.platform === "win32")("SIGTERM to `npm start` ends the node in order", async () => {
  // A separate process group: a node that stays behind is ended with it.
  const npm = spawn("npm", ["start", "--", "--server.port=0"], {
    cwd: PROJECT_ROOT,
    env: { PATH: process.env.PATH, HOME: nodes.folder(), TONEARM_STATE_ENABLED: "false" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  const url = new Promise<string>((resolve) => {
    npm.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      const [, found] = LISTENING.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  try {
    expect((await fetch(`${await url}/version`)).status).toBe(200);
    npm.kill("SIGTERM");
    // Its output is closed once nobody holds it any more.
    await once(npm, "close");
    expect(output).toMatch(/closing[\s\S]*closed/);
    await expect(fetch(`${await url}/version`)).rejects.toThrow();
  } finally {
    endGroup(npm);
  }
});

/** No effect when it is gone. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}

test("the generated password is shown once and is the one that works", async () => {
  const node = run(["--server.port=0"]);
  const [, url] = await node.until(LISTENING);
  const [, password = ""] = await node.until(/password for clients is {2}(\S+)/);
  const status = async (authorization: string) =>
    (await fetch(`${url}/v4/info`, { headers: { authorization } })).status;
  expect([await status(password), await status(`${password}x`)]).toEqual([200, 403]);
  expect(node.output().split(password)).toHaveLength(2);
});

test("a configured password is never shown", async () => {
  const node = run(["--server.port=0"], "lavalink.server.password: hunter2hunter2");
  await node.until(LISTENING);
  node.child.kill("SIGTERM");
  await node.exited;
  expect(node.output()).not.toContain("hunter2");
});

test("a wrong configuration ends with status 1 and says where the mistake is", async () => {
  const node = run(["start"], "server:\n  port: here\n");
  expect(await node.exited).toBe(1);
  expect(node.output()).toContain("tonearm.yml:2:9: server.port: expected a whole number");
});

test("a port that is taken ends with status 1 and says so", async () => {
  const first = run(["--server.port=0"]);
  const [, url = ""] = await first.until(LISTENING);
  const second = run([`--server.port=${new URL(url).port}`]);
  expect(await second.exited).toBe(1);
  expect(second.output()).toMatch(/could not listen on 127\.0\.0\.1.*EADDRINUSE/);
});

test.each(["WARN", "OFF"])("with the log level %s the line that panels wait for is written once", async (level) => {
  const fixture = readFileSync(
    new URL("../../fixtures/config/level-warn-hides-listening.yml", import.meta.url),
    "utf8",
  );
  const node = run(["--server.port=0", "--lavalink.server.password=hunter2hunter2"], fixture.replaceAll("WARN", level));
  const [, url] = await node.until(LISTENING);
  expect((await fetch(`${url}/version`)).status).toBe(200);
  node.child.kill("SIGTERM");
  expect(await node.exited).toBe(0);
  expect(node.output().match(/^.* INFO {2}listening on http.*$/gm)).toEqual([node.output().trim()]);
});

test("metrics are at the configured path, and each request is logged", async () => {
  const config = "metrics.prometheus: { enabled: true, endpoint: /inner/metrics }\n";
  const node = run(["--server.port=0", "--logging.request.includeClientInfo=true"], config);
  const [, url] = await node.until(LISTENING);
  const metrics = await fetch(`${url}/inner/metrics`);
  expect([metrics.status, await metrics.text()]).toEqual([
    200,
    expect.stringContaining("\nlavalink_players_total 0\n"),
  ]);
  await node.until(/INFO {2}answered GET \/inner\/metrics"? .*status=200 .*client=127\.0\.0\.1/);
});

describe("a node with a blocked output", () => {
  /** A node that logs every request, and a function that makes it log a lot. */
  async function noisy(): Promise<{ child: ChildProcess; ask: () => Promise<string> }> {
    // A port chosen by the node would be in the output, which is not read here.
    const port = await freePort();
    const cwd = nodes.folder();
    const args = ["start", `--server.port=${port}`, "--logging.request.includeHeaders=true"];
    const child = spawn(process.execPath, [BIN, ...args], { cwd, env: {}, stdio: ["ignore", "pipe", "pipe"] });
    nodes.adopt(child);
    const ask = async (): Promise<string> => {
      const headers = { "x-long": "word ".repeat(2000) };
      return (await fetch(`http://127.0.0.1:${port}/version`, { headers })).text();
    };
    await once(child.stdout!, "readable"); // it is a pipe
    // The longest start on a busy machine.
    await expect.poll(() => ask().catch(() => "")).toMatch(/^\d/);
    return { child, ask };
  }

  test("when standard output is closed, says so on standard error, and ends in order", async () => {
    const { child, ask } = await noisy();
    let errors = "";
    child.stderr?.on("data", (data) => {
      errors += data;
    });
    child.stdout?.destroy();
    for (let count = 0; count < 20; count++) expect(await ask()).toMatch(/^\d/);
    await expect.poll(() => errors).toContain("standard output blocked (writing fails with EPIPE)");
    expect(errors.split("\n")).toHaveLength(2);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("when standard output and standard error are closed", async () => {
    const { child, ask } = await noisy();
    child.stdout?.destroy();
    child.stderr?.destroy();
    for (let count = 0; count < 20; count++) expect(await ask()).toMatch(/^\d/);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("a node whose standard output is not read keeps running, and reports dropped lines once it is read", async () => {
    const { child, ask } = await noisy();
    // More than the pipe and the node's own bound hold.
    for (let count = 0; count < 250; count++) expect(await ask()).toMatch(/^\d/);
    let output = "";
    child.stdout?.on("data", (data) => {
      output += data;
    });
    await expect.poll(() => output).toMatch(/ERROR stdout blocked: log lines dropped count=\d+\n/);
    const dropped = Number(/count=(\d+)/.exec(output)?.[1]);
    const written = output.split("answered GET /version").length - 1;
    expect(dropped + written).toBeGreaterThanOrEqual(250);
    expect(written).toBeGreaterThan(50);
  });

  test("a node whose standard output is not read keeps running until a signal ends it", async () => {
    const { child, ask } = await noisy();
    for (let count = 0; count < 250; count++) await ask();
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});
