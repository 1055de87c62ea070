// The machines of a cluster: node processes on different ports, each with its own folder, that share their sessions
// through NATS. Each can be killed, ended, paused and started again. Lab only.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MACHINE_ROLES, type MachineRole } from "../../src/config/cluster-settings.ts";
import { NodeRuns, RESTART_PASSWORD } from "../restart/node-runs.ts";
import { connectBot } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import { requestNode } from "../test-environment/rest-request.ts";

export interface MachinesOptions {
  readonly count: number;
  /** Of the NATS servers. Without any, each machine is by itself. */
  readonly natsUrls: readonly string[];
  /** Folder that gets a log file of each machine. Default: none. */
  readonly logFolder?: string | undefined;
  /** Of each machine in turn. Default, also for further ones: both. */
  readonly roles?: readonly (readonly MachineRole[])[];
  /** Environment variables of each. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Further lines of each tonearm.yml. */
  readonly settings?: readonly string[];
}

const CLUSTER_NAME = "lab";
const KEY = "a key that all machines of the lab have";
const READY_MS_MAX = 60_000;
const POLL_MS = 50;
/** Of the sessions that only show that a machine takes some. */
const VISITOR_USER_ID = "100000000000000099";

interface HealthView {
  readonly cluster: { readonly status: string };
}

/** One machine: a name, a port, and a process for each run. */
export class Machine {
  readonly name: string;
  readonly runs: NodeRuns;
  readonly #roles: readonly MachineRole[];

  constructor(name: string, runs: NodeRuns, roles: readonly MachineRole[] = MACHINE_ROLES) {
    this.name = name;
    this.runs = runs;
    this.#roles = roles;
  }

  get port(): number {
    return this.runs.port;
  }

  get url(): string {
    return this.runs.url;
  }

  /** Starts the process, and resolves when it takes new sessions, or players: it listens, and has joined the cluster. */
  async start(): Promise<void> {
    await this.runs.start();
    await this.untilReady();
  }

  async untilReady(): Promise<void> {
    const deadlineMs = performance.now() + READY_MS_MAX;
    for (;;) {
      try {
        if (this.#roles.includes("gateway")) (await connectBot(this, { userId: VISITOR_USER_ID })).close();
        else await this.#checkJoined();
        return;
      } catch (cause) {
        if (!this.runs.isRunning || performance.now() > deadlineMs) {
          const lines = this.runs.lines.slice(-10).join("\n");
          throw new Error(`${this.name} takes no sessions:\n${lines}`, { cause });
        }
      }
      await sleep(POLL_MS);
    }
  }

  async #checkJoined(): Promise<void> {
    const access = { url: this.url, password: RESTART_PASSWORD };
    const { body } = await requestNode<HealthView>(access, { method: "GET", path: "/v4/tonearm/health" });
    if (body.cluster.status !== "joined") throw new Error(`its place in the cluster: ${body.cluster.status}`);
  }
}

export class Machines {
  readonly all: readonly Machine[];

  private constructor(all: readonly Machine[]) {
    this.all = all;
  }

  /** All take sessions. Nothing is left when that fails. */
  static async start(options: MachinesOptions): Promise<Machines> {
    const { count, logFolder } = options;
    if (logFolder !== undefined) await mkdir(logFolder, { recursive: true });
    const all: Machine[] = [];
    const machines = new Machines(all);
    try {
      for (let number = 1; number <= count; number++) {
        const name = `machine-${number}`;
        const roles = options.roles?.[number - 1] ?? MACHINE_ROLES;
        const runs = await NodeRuns.prepare({
          hasState: true,
          settings: [...clusterSettings(name, options, roles), ...(options.settings ?? [])],
          ...(options.environment && { environment: options.environment }),
          ...(logFolder !== undefined && { logPath: join(logFolder, `${name}.log`) }),
        });
        all.push(new Machine(name, runs, roles));
      }
      await Promise.all(all.map((machine) => machine.start()));
    } catch (error) {
      await machines.close();
      throw error;
    }
    return machines;
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(({ runs }) => runs.close()));
  }
}

function clusterSettings(
  name: string,
  { natsUrls }: MachinesOptions,
  roles: readonly MachineRole[],
): readonly string[] {
  if (natsUrls.length === 0) return [];
  return [
    `tonearm.state.key: ${KEY}`,
    `tonearm.cluster.servers: [${natsUrls.map((url) => JSON.stringify(url)).join(", ")}]`,
    `tonearm.cluster.name: ${CLUSTER_NAME}`,
    `tonearm.cluster.machine: ${name}`,
    `tonearm.cluster.roles: [${roles.join(", ")}]`,
  ];
}
