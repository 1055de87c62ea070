// A node that is ended and started again: one port and one folder for its state, and a process for each run. Every run
// is timed from the moment its process is spawned. Lab only.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { nodeFile } from "../node-package.ts";
import { sleep } from "../sleep.ts";

export const RESTART_PASSWORD = "restart password";
const START_MS_MAX = 60_000;
const END_MS_MAX = 20_000;
const POLL_MS = 3;
/** Log lines kept for a failure. */
const LINES_MAX = 200;

export interface NodeRunsOptions {
  /** Whether it has a store. */
  readonly hasState: boolean;
  /** Environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Further lines of its tonearm.yml. */
  readonly settings?: readonly string[];
  /** File that gets the output of all processes. Default: none. */
  readonly logPath?: string;
}

export class NodeRuns {
  readonly url: string;
  /** The last lines of all processes. */
  readonly lines: string[] = [];
  readonly #folder: string;
  readonly #port: number;
  readonly #options: NodeRunsOptions;
  #child: ChildProcess | undefined;
  #spawnedMs = 0;

  private constructor(folder: string, port: number, options: NodeRunsOptions) {
    this.#folder = folder;
    this.#port = port;
    this.#options = options;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** A node with an empty folder that has not been started. */
  static async prepare(options: NodeRunsOptions): Promise<NodeRuns> {
    const folder = await mkdtemp(join(tmpdir(), "tonearm-restart-"));
    const runs = new NodeRuns(folder, await freePort(), options);
    await writeFile(join(folder, "tonearm.yml"), runs.#config());
    return runs;
  }

  get port(): number {
    return this.#port;
  }

  /** Folder of its store. */
  get statePath(): string {
    return join(this.#folder, "state");
  }

  /** When the process of this run was spawned, by `performance.now()`. */
  get spawnedMs(): number {
    return this.#spawnedMs;
  }

  /** Of the process of this run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Spawns the process; the node does not listen yet. */
  spawn(): void {
    if (this.isRunning) throw new Error("the node is running");
    this.#spawnedMs = performance.now();
    const child = spawn(process.execPath, [nodeFile("bin/tonearm.js"), "start"], {
      cwd: this.#folder,
      env: this.#options.environment ?? {},
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        if (this.#options.logPath !== undefined) appendFileSync(this.#options.logPath, text);
        this.lines.push(...text.split("\n").filter((line) => line !== ""));
        this.lines.splice(0, this.lines.length - LINES_MAX);
      });
    }
  }

  /** Resolves when the port accepts connections, with the milliseconds since the process was spawned. */
  async untilListening(): Promise<number> {
    while (performance.now() < this.#spawnedMs + START_MS_MAX) {
      if (!this.isRunning) throw new Error(`the node ended while it started:\n${this.lines.slice(-10).join("\n")}`);
      if (await accepts(this.#port)) return performance.now() - this.#spawnedMs;
      await sleep(POLL_MS);
    }
    throw new Error(`the node did not listen within ${START_MS_MAX / 1000} s`);
  }

  /** Spawns the process and waits until it listens. */
  start(): Promise<number> {
    this.spawn();
    return this.untilListening();
  }

  /** Ends the process; resolves when it is gone, with its status or signal. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<string> {
    const child = this.#child;
    if (child === undefined) return "never started";
    if (this.isRunning) {
      const exited = once(child, "exit");
      child.kill(signal);
      const late = setTimeout(() => child.kill("SIGKILL"), END_MS_MAX);
      await exited;
      clearTimeout(late);
    }
    return child.signalCode ?? `status ${child.exitCode}`;
  }

  /** Stops the process where it is. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  /** Lets a paused process go on. */
  wake(): void {
    this.#child?.kill("SIGCONT");
  }

  async close(): Promise<void> {
    await this.end("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }

  #config(): string {
    return [
      `server: { address: 127.0.0.1, port: ${this.#port} }`,
      `lavalink.server.password: ${RESTART_PASSWORD}`,
      "tonearm.network.allow: 127.0.0.0/8",
      "tonearm.voice.gatewayScheme: ws",
      `tonearm.state.enabled: ${this.#options.hasState}`,
      `tonearm.state.path: ${JSON.stringify(this.statePath)}`,
      ...(this.#options.settings ?? []),
      "",
    ].join("\n");
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
