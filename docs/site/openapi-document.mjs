// @ts-check
// Requests the OpenAPI document from a node of this checkout: the same one that clients get, with all routes.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const TONEARM = fileURLToPath(new URL("../../bin/tonearm.js", import.meta.url));
const START_TIMEOUT_MS = 60_000;

/**
 * Starts a node in an empty folder, so that no configuration of the machine applies, and ends it again.
 *
 * @returns {Promise<Record<string, any>>}
 * @throws when the node does not start within a minute, with its output
 */
export async function readOpenApi() {
  const folder = await mkdtemp(join(tmpdir(), "tonearm-docs-"));
  const password = randomBytes(16).toString("hex");
  const address = ["--server.address=127.0.0.1", "--server.port=0"];
  const args = [TONEARM, "start", ...address, "--tonearm.log.format=text", "--tonearm.state.enabled=false"];
  const node = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, LAVALINK_SERVER_PASSWORD: password },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(node, "exit");
  try {
    const answer = await fetch(`${await addressOf(node)}/v4/openapi.json`, { headers: { authorization: password } });
    if (!answer.ok) throw new Error(`the node answered the request for its OpenAPI document with ${answer.status}`);
    return /** @type {Record<string, any>} */ (await answer.json());
  } finally {
    node.kill();
    await ended;
    await rm(folder, { recursive: true });
  }
}

/**
 * @param {import("node:child_process").ChildProcessByStdio<null, import("node:stream").Readable, null>} node
 * @returns {Promise<string>} `http://127.0.0.1:40000`
 */
function addressOf(node) {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = () => reject(new Error(`the node for the OpenAPI document did not start:\n${said}`));
    const timer = setTimeout(fail, START_TIMEOUT_MS);
    node.once("exit", () => {
      clearTimeout(timer);
      fail();
    });
    node.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const address = /listening on (http:\/\/\S+:\d+)/.exec(said)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
  });
}
