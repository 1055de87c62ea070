// The real node process in the network namespace that test/integration/netns/run.sh has made for it, with address blocks routed to
// it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Addresses of test/integration/netns/run.sh. */
export const SITE_IPV4 = "10.77.0.1";
export const SITE_IPV6 = "fd77::1";
export const NODE_IPV4 = "10.77.0.2";
export const NODE_PASSWORD = "netns password";

/** Why the tests cannot run, as found by test/integration/netns/run.sh; empty when they can. */
export const { NETNS_MISSING = "they are run by test/integration/netns/run.sh" } = process.env;

export const BIN = fileURLToPath(new URL("../../../bin/tonearm.js", import.meta.url));
/** Empty, and removed with the namespace: no configuration file is found there. */
export const WORKING_FOLDER = "/run";
const LISTENING = /listening on (http:\/\/[\d.]+:\d+)/;
const START_TIMEOUT_MS = 30_000;
const OUTPUT_TEXT_MAX = 20_000;

export class RoutedNode {
  /** `http://10.77.0.2:PORT`. */
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Resolves when the node listens. `config`: environment variables added to those that connect it to the fakes. */
  static async start(config: Readonly<Record<string, string>>): Promise<RoutedNode> {
    const child = spawn("ip", ["netns", "exec", "node", process.execPath, BIN, "start"], {
      cwd: WORKING_FOLDER,
      env: {
        PATH: process.env.PATH,
        SERVER_ADDRESS: NODE_IPV4,
        SERVER_PORT: "0",
        LAVALINK_SERVER_PASSWORD: NODE_PASSWORD,
        TONEARM_NETWORK_ALLOW: `${SITE_IPV4},${SITE_IPV6}`,
        TONEARM_VOICE_GATEWAY_SCHEME: "ws",
        TONEARM_STATE_ENABLED: "false",
        // One planner serves all workers.
        TONEARM_WORKERS_COUNT: "2",
        ...config,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return new RoutedNode(child, await untilListening(child));
  }

  /** As an operator ends it. Resolves with its exit status. */
  async close(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const [status] = await exited;
    return status;
  }
}

function untilListening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (what: string): void => {
      child.kill("SIGKILL");
      reject(new Error(`the node ${what}: ${output}`));
    };
    const timer = setTimeout(() => fail(`did not listen within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (data: Buffer) => {
        output = (output + data.toString()).slice(-OUTPUT_TEXT_MAX);
        const match = LISTENING.exec(output);
        if (match?.[1] === undefined) return;
        clearTimeout(timer);
        resolve(match[1]);
      });
    }
    child.once("error", (error) => fail(error.message));
    child.once("exit", (status) => fail(`ended with status ${status}`));
  });
}
