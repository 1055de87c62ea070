// The node under test as a process of its own: started, timed, and read by the operating system's books (CPU time,
// resident memory), so that any node can be measured the same way.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { sleep } from "../sleep.ts";

/** What is measured: a command that starts a v4 node, which finds its settings in Lavalink's environment variables. */
export interface NodeCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface ResourceUse {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

const OWN_ENTRY = fileURLToPath(new URL("../../../bin/tonearm.js", import.meta.url));
/** Lavalink takes several seconds. */
const START_TIMEOUT_MS = 60_000;
const CLOCK_TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** This checkout's node, as `dist` has it. */
export const TONEARM: NodeCommand = { name: "tonearm", command: process.execPath, args: [OWN_ENTRY, "start"] };

export class NodeProcess {
  readonly url: string;
  readonly password = "bench password";
  /** From spawning the process to its first answer on /version. */
  readonly startMs: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, startMs: number) {
    this.#child = child;
    this.url = url;
    this.startMs = startMs;
  }

  /** With `onLine` what the node logs goes there instead of being shown. */
  static async start(
    node: NodeCommand,
    environment: Readonly<Record<string, string>> = {},
    onLine?: (line: string) => void,
  ): Promise<NodeProcess> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const startedMs = performance.now();
    const child = spawn(node.command, node.args, {
      stdio: onLine === undefined ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        SERVER_ADDRESS: "127.0.0.1",
        SERVER_PORT: String(port),
        LAVALINK_SERVER_PASSWORD: "bench password",
        TONEARM_NETWORK_ALLOW: "127.0.0.0/8",
        TONEARM_VOICE_GATEWAY_SCHEME: "ws",
        LOGGING_LEVEL_ROOT: "ERROR",
        ...environment,
      },
    });
    for (const input of [child.stdout, child.stderr]) {
      if (input !== null && onLine !== undefined) createInterface({ input }).on("line", onLine);
    }
    await untilAnswering(url, child);
    return new NodeProcess(child, url, performance.now() - startedMs);
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** CPU time since its start and memory now, all threads. Linux only: read from /proc. */
  use(): ResourceUse {
    const pid = this.#child.pid;
    // The second field is the name in parentheses and may hold spaces.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    const ticks = Number(stat[11]) + Number(stat[12]);
    const residentPages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
    return { cpuSeconds: ticks / CLOCK_TICKS_PER_SECOND, residentBytes: residentPages * PAGE_BYTES };
  }

  async close(): Promise<void> {
    if (this.hasEnded) return;
    const exited = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
    await exited;
    clearTimeout(timer);
  }
}

async function untilAnswering(url: string, child: ChildProcess): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null) throw new Error(`the node ended with status ${child.exitCode} while it started`);
    const answer = await fetch(`${url}/version`).catch(() => undefined); // not listening yet
    if (answer !== undefined) {
      await answer.text();
      return;
    }
    await sleep(5);
  }
  child.kill("SIGKILL");
  throw new Error(`the node did not answer within ${START_TIMEOUT_MS} ms`);
}

/** A port that was free a moment ago, for what binds it next. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()));
    });
  });
}
