// Real nats-server processes on loopback with JetStream in a temporary folder: one, or three that form a cluster. Each
// can be killed, started again at the same port with the same folder, and paused. Lab only.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { sleep } from "../sleep.ts";
import { natsServerProgram } from "./nats-program.ts";

const HOST = "127.0.0.1";
const CLUSTER_NAME = "lab";
const READY_MS_MAX = 60_000;
const ANSWER_MS_MAX = 2000;
const POLL_MS = 20;
const LINES_MAX = 100;

interface NatsServerOptions {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly monitorPort: number;
  /** Of a server that has others beside it: its port for them, and all of these ports. */
  readonly routes: { readonly port: number; readonly ports: readonly number[] } | undefined;
  /** Further arguments of the program. */
  readonly args: readonly string[];
}

/** One server: a port, a folder, and a process for each start. */
export class NatsServer {
  readonly name: string;
  readonly port: number;
  /** `nats://HOST:PORT`. */
  readonly url: string;
  /** The last lines of all processes. */
  readonly lines: string[] = [];
  readonly #options: NatsServerOptions;
  #child: ChildProcess | undefined;
  /** When all that the process wrote has been read. */
  #closed: Promise<unknown> = Promise.resolve();

  constructor(options: NatsServerOptions) {
    this.#options = options;
    this.name = options.name;
    this.port = options.port;
    this.url = `nats://${HOST}:${options.port}`;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Spawns the process; it does not listen yet. */
  spawn(): void {
    if (this.isRunning) throw new Error(`${this.#options.name} is running`);
    const child = spawn(natsServerProgram(), this.#args(), { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.#closed = new Promise((resolve) => child.once("close", resolve));
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    child.on("error", (error) => this.lines.push(error.message));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.lines.push(...text.split("\n").filter((line) => line !== ""));
        this.lines.splice(0, this.lines.length - LINES_MAX);
      });
    }
  }

  /** Resolves when JetStream can be used. */
  async untilReady(): Promise<void> {
    const deadlineMs = performance.now() + READY_MS_MAX;
    while (performance.now() < deadlineMs) {
      if (!this.isRunning) {
        await this.#closed;
        throw new Error(`nats-server ended while it started:\n${this.lines.slice(-10).join("\n")}`);
      }
      if (await isHealthy(this.#options.monitorPort)) return;
      await sleep(POLL_MS);
    }
    throw new Error(`nats-server was not ready within ${READY_MS_MAX / 1000} s:\n${this.lines.slice(-10).join("\n")}`);
  }

  /** Whether it leads one of the streams, as far as it says so. */
  async leads(): Promise<boolean> {
    return await leadsAny(this.#options.monitorPort, this.name);
  }

  /** Kills the process; resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || !this.isRunning) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** It stays connected and answers nothing. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  /** Ends a pause. */
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  #args(): readonly string[] {
    const { name, folder, port, monitorPort, routes, args } = this.#options;
    const own = ["--name", name, "--addr", HOST, "--port", String(port), "--http_port", String(monitorPort)];
    const cluster =
      routes === undefined
        ? []
        : [
            ...["--cluster_name", CLUSTER_NAME, "--cluster", `nats://${HOST}:${routes.port}`],
            ...["--routes", routes.ports.map((other) => `nats://${HOST}:${other}`).join(",")],
          ];
    return [...own, "--jetstream", "--store_dir", folder, ...cluster, ...args];
  }
}

export interface NatsServersOptions {
  /** Default 1. */
  readonly count?: 1 | 3;
  /** Further arguments of each: `--auth`, `-c FILE`. */
  readonly args?: readonly string[];
}

export class NatsServers {
  readonly servers: readonly NatsServer[];
  readonly #folder: string;

  private constructor(folder: string, servers: readonly NatsServer[]) {
    this.#folder = folder;
    this.servers = servers;
  }

  /** Resolves when JetStream can be used. Nothing is left when that fails. */
  static async start({ count = 1, args = [] }: NatsServersOptions = {}): Promise<NatsServers> {
    const ports = await freePorts(3 * count);
    const folder = await mkdtemp(join(tmpdir(), "tonearm-nats-"));
    const routePorts = ports.splice(0, count);
    const servers = routePorts.map((routePort, index) => {
      const name = `nats-${index + 1}`;
      const [port = 0, monitorPort = 0] = ports.splice(0, 2);
      const routes = count === 1 ? undefined : { port: routePort, ports: routePorts };
      return new NatsServer({ name, folder: join(folder, name), port, monitorPort, routes, args });
    });
    const all = new NatsServers(folder, servers);
    try {
      await all.restart();
    } catch (error) {
      await all.close();
      throw error;
    }
    return all;
  }

  /** As `tonearm.cluster.servers` takes them. */
  get urls(): readonly string[] {
    return this.servers.map(({ url }) => url);
  }

  /** Starts those that do not run; resolves when all are ready. */
  async restart(): Promise<void> {
    for (const server of this.servers) if (!server.isRunning) server.spawn();
    await Promise.all(this.servers.map((server) => server.untilReady()));
  }

  async kill(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

interface StreamsAnswer {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly cluster?: { readonly leader?: string } }[];
  }[];
}

async function leadsAny(monitorPort: number, name: string): Promise<boolean> {
  const url = `http://${HOST}:${monitorPort}/jsz?accounts=true&streams=true`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    const { account_details: accounts = [] } = (await answer.json()) as StreamsAnswer; // of its monitoring
    return accounts.some(({ stream_detail: streams = [] }) => streams.some(({ cluster }) => cluster?.leader === name));
  } catch {
    return false; // it does not answer
  }
}

/** Also of JetStream: in a cluster, that it has a leader. */
async function isHealthy(monitorPort: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://${HOST}:${monitorPort}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
