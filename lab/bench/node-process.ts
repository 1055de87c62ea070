// The node under test as a separate process: started, timed, and measured through the operating system (CPU time and
// memory of it and its children), so that any node can be measured the same way.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { freePort } from "../free-port.ts";
import { nodeFile } from "../node-package.ts";
import { sleep } from "../sleep.ts";
import { endProcessTree, killProcessTree, readProcessTree, type TreeUse } from "./process-tree.ts";

/** The command that starts the measured v4 node, which reads its settings from Lavalink's environment variables. */
export interface NodeCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Time limit for its first answer. Default 60 s: Lavalink takes several. */
  readonly startMsMax?: number;
}

const START_MS_MAX = 60_000;
/** A request that takes longer during the start is repeated. */
const ANSWER_MS_MAX = 2000;
const CLOSE_MS_MAX = 5000;

/** Our own node: as built in the checkout, or the installed package. Throws `CannotRun` when there is none. */
export function ownNode(): NodeCommand {
  return { name: "tonearm", command: process.execPath, args: [nodeFile("bin/tonearm.js"), "start"] };
}

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

  /** With `onLine` the node's log lines are passed to it instead of being printed. */
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
        // Nothing in the working directory, and every run starts empty.
        TONEARM_STATE_ENABLED: "false",
        LOGGING_LEVEL_ROOT: "ERROR",
        ...environment,
      },
    });
    // It is killed however this process ends.
    const end = () => killProcessTree(child.pid ?? 0);
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    for (const input of [child.stdout, child.stderr]) {
      if (input !== null && onLine !== undefined) createInterface({ input }).on("line", onLine);
    }
    await untilAnswering(url, child, node.startMsMax ?? START_MS_MAX);
    return new NodeProcess(child, url, performance.now() - startedMs);
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  get pid(): number {
    return this.#child.pid ?? 0; // it has answered, so it was started
  }

  /** Resolves when it has ended, with how. */
  async ended(): Promise<string> {
    if (!this.hasEnded) await once(this.#child, "exit");
    return endOf(this.#child);
  }

  /** CPU time since its start and current memory, of all threads and children; zeros when it has ended. Linux only. */
  use(): TreeUse {
    return readProcessTree(this.pid) ?? { processes: 0, cpuSeconds: 0, residentBytes: 0 };
  }

  async close(): Promise<void> {
    if (this.hasEnded) return;
    const exited = once(this.#child, "exit");
    await endProcessTree(this.pid, CLOSE_MS_MAX);
    await exited;
  }
}

async function untilAnswering(url: string, child: ChildProcess, startMsMax: number): Promise<void> {
  let failure: Error | undefined;
  child.once("error", (error) => {
    failure = error; // the program does not exist
  });
  const deadlineMs = performance.now() + startMsMax;
  while (performance.now() < deadlineMs) {
    if (failure !== undefined) throw new Error(`the node could not be started: ${failure.message}`);
    if (hasEnded(child)) throw new Error(`the node ended ${endOf(child)} while it started`);
    const patience = AbortSignal.timeout(Math.min(ANSWER_MS_MAX, startMsMax));
    const answer = await fetch(`${url}/version`, { signal: patience })
      .then((response) => response.text())
      .catch(() => undefined); // not listening yet
    if (answer !== undefined) return;
    await sleep(5);
  }
  if (child.pid !== undefined) await endProcessTree(child.pid, 0);
  throw new Error(`the node did not answer within ${startMsMax} ms`);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function endOf({ exitCode, signalCode }: ChildProcess): string {
  return signalCode === null ? `with status ${exitCode}` : `by ${signalCode}`;
}
