// Real nats-server processes on loopback: one, or a cluster of three. Each keeps its port and folder through a restart,
// and ends with this process at the latest.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { findNatsServer } from "../../lab/cluster/nats-program.ts";
import { freePort } from "../../lab/free-port.ts";

const PROGRAM = findNatsServer();
const READY_MS_MAX = 30_000;
const POLL_MS = 20;

/** Tests with a NATS server cannot run. */
export const isNatsMissing = PROGRAM === undefined;

/** The title of tests with a NATS server, which says why they are skipped if they are. */
export function natsTitle(title: string): string {
  return isNatsMissing ? `${title} (skipped: no nats-server in $NATS_SERVER, $PATH or Go's bin folder)` : title;
}

export interface NatsServerOptions {
  /** Lines for the configuration file. */
  readonly lines?: readonly string[];
  readonly hasJetStream?: boolean;
  /** What `start` itself connects with to see that it is ready. */
  readonly login?: NodeConnectionOptions;
}

interface Place {
  readonly name: string;
  readonly port: number;
  readonly folder: string;
  readonly lines: readonly string[];
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** The server that leads the bucket of the cluster `test`, and the others. */
export async function leaderAndOthers(
  servers: readonly NatsServer[],
): Promise<readonly [NatsServer, readonly NatsServer[]]> {
  const nats = await servers[0]!.connect();
  const info = await nats.request("$JS.API.STREAM.INFO.KV_test");
  await nats.close();
  const { cluster } = info.json<{ cluster: { leader: string } }>();
  const leader = servers.find(({ name }) => name === cluster.leader)!;
  return [leader, servers.filter((server) => server !== leader)];
}

/** One nats-server. */
export class NatsServer {
  readonly #place: Place;
  readonly #login: NodeConnectionOptions;
  #child: ChildProcess | undefined;

  private constructor(place: Place, login: NodeConnectionOptions) {
    this.#place = place;
    this.#login = login;
  }

  /** With JetStream, unless the options say otherwise; resolves when it is ready. */
  static async start({ lines = [], hasJetStream = true, login = {} }: NatsServerOptions = {}): Promise<NatsServer> {
    const folder = await mkdtemp(join(tmpdir(), "nats-server-"));
    const place = { name: "single", port: await freePort(), folder, lines: withStore(lines, folder, hasJetStream) };
    const server = new NatsServer(place, login);
    await server.restart();
    return server;
  }

  /** Three that hold a stream together; resolves when JetStream has a leader. */
  static async startThree(): Promise<readonly [NatsServer, NatsServer, NatsServer]> {
    const names = ["one", "two", "three"];
    const routePorts = await Promise.all(names.map(() => freePort()));
    const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`).join(", ");
    const servers = await Promise.all(
      names.map(async (name, index) => {
        const folder = await mkdtemp(join(tmpdir(), "nats-server-"));
        const cluster = `cluster { name: trio, listen: "127.0.0.1:${routePorts[index]}", routes: [${routes}] }`;
        const lines = withStore([cluster], folder, true);
        return new NatsServer({ name, port: await freePort(), folder, lines }, {});
      }),
    );
    const [one, two, three] = servers;
    if (one === undefined || two === undefined || three === undefined) throw new Error("not three servers");
    await Promise.all(servers.map((server) => server.#spawn()));
    await Promise.all(servers.map((server) => server.#ready()));
    await one.#untilAllHold();
    return [one, two, three];
  }

  get name(): string {
    return this.#place.name;
  }

  get port(): number {
    return this.#place.port;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** A connection of the test to this server. */
  async connect(): Promise<NatsConnection> {
    return await connect({ servers: `127.0.0.1:${this.port}`, reconnect: false, timeout: 1000, ...this.#login });
  }

  /** Starts it with the port, and what it has stored, from before. */
  async restart(): Promise<void> {
    await this.#spawn();
    await this.#ready();
  }

  /** As after a loss of power. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** As an operator does: it hands its leadership over first. */
  async terminate(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async stop(): Promise<void> {
    await this.#end("SIGKILL");
    await rm(this.#place.folder, { recursive: true, force: true });
  }

  /** It accepts connections, as the kernel does, and answers nothing. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  continue(): void {
    this.#child?.kill("SIGCONT");
  }

  async #spawn(): Promise<void> {
    const { folder, lines, name, port } = this.#place;
    const file = join(folder, "nats.conf");
    await writeFile(file, [`server_name: ${name}`, `listen: "127.0.0.1:${port}"`, ...lines].join("\n"));
    const child = spawn(PROGRAM ?? "nats-server", ["--config", file, "--log", join(folder, "log")], {
      stdio: "ignore",
    });
    running.add(child);
    child.on("exit", () => running.delete(child));
    child.on("error", () => running.delete(child));
    this.#child = child;
  }

  async #ready(): Promise<void> {
    const deadline = performance.now() + READY_MS_MAX;
    for (;;) {
      if (await this.#isReady()) return;
      if (performance.now() > deadline) throw new Error(`nats-server ${this.name} is not ready`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async #isReady(): Promise<boolean> {
    let nats: NatsConnection | undefined;
    try {
      nats = await this.connect();
      if (nats.info?.jetstream !== true) return true;
      const answer = await nats.request("$JS.API.INFO", "", { timeout: 1000 });
      return answer.json<{ error?: unknown }>().error === undefined;
    } catch {
      return false;
    } finally {
      await nats?.close();
    }
  }

  /** Each of the three takes its part of a stream. */
  async #untilAllHold(): Promise<void> {
    const nats = await this.connect();
    const config = JSON.stringify({ name: "all", subjects: ["all"], storage: "memory", num_replicas: 3 });
    const deadline = performance.now() + READY_MS_MAX;
    for (;;) {
      const answer = await nats.request("$JS.API.STREAM.CREATE.all", config, { timeout: READY_MS_MAX });
      if (answer.json<{ error?: unknown }>().error === undefined) break;
      if (performance.now() > deadline) throw new Error("not all NATS servers are ready");
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    await nats.request("$JS.API.STREAM.DELETE.all", "", { timeout: READY_MS_MAX });
    await nats.close();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }
}

function withStore(lines: readonly string[], folder: string, hasJetStream: boolean): readonly string[] {
  const store = `jetstream { store_dir: "${folder}", max_file_store: 4G, max_memory_store: 64M }`;
  return hasJetStream ? [store, ...lines] : lines;
}
