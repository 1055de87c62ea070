// The machines of a cluster: node processes on different ports, each with its own folder, that share their sessions
// through NATS. Each can be killed, ended, paused and started again. Lab only.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { NodeRuns, RESTART_PASSWORD } from "../restart/node-runs.ts";
import { connectBot } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import { requestNode } from "../test-environment/rest-request.ts";

export type MachineRole = "gateway" | "audio" | "both";

/** A machine that is to be started. */
export interface MachinePlan {
  readonly name: string;
  readonly role: MachineRole;
  /** Of the NATS servers. Without any, the machine is by itself. */
  readonly natsUrls: readonly string[];
}

export interface MachinesOptions {
  readonly plans: readonly MachinePlan[];
  /** Folder that gets a log file of each machine. Default: none. */
  readonly logFolder?: string | undefined;
  /** Environment variables of each. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Further lines of each tonearm.yml. */
  readonly settings?: readonly string[];
}

const CLUSTER_NAME = "lab";
const KEY = "a key that all machines of the lab have";
const READY_MS_MAX = 60_000;
const POLL_MS = 50;

interface Health {
  readonly cluster?: { readonly status: string };
}

/** Of the sessions that only show that a machine takes some. */
const VISITOR_USER_ID = "100000000000000099";

/** So many machines that do the same, by the same NATS servers. */
export function equalMachines(count: number, natsUrls: readonly string[]): readonly MachinePlan[] {
  return Array.from({ length: count }, (_, index) => ({ name: `machine-${index + 1}`, role: "both", natsUrls }));
}

/** One machine: a name, a port, and a process for each run. */
export class Machine {
  readonly name: string;
  readonly role: MachineRole;
  readonly runs: NodeRuns;

  constructor({ name, role }: MachinePlan, runs: NodeRuns) {
    this.name = name;
    this.role = role;
    this.runs = runs;
  }

  get port(): number {
    return this.runs.port;
  }

  get url(): string {
    return this.runs.url;
  }

  /** Starts the process, and resolves when it is ready: it listens, and has joined the cluster. */
  async start(): Promise<void> {
    await this.runs.start();
    await this.untilReady();
  }

  /** Resolves when it takes new sessions, or has joined if it does not take any. */
  async untilReady(): Promise<void> {
    const deadlineMs = performance.now() + READY_MS_MAX;
    for (;;) {
      try {
        if (this.role === "audio") await this.#expectJoined();
        else (await connectBot(this, { userId: VISITOR_USER_ID })).close();
        return;
      } catch (cause) {
        if (!this.runs.isRunning || performance.now() > deadlineMs) {
          const lines = this.runs.lines.slice(-10).join("\n");
          throw new Error(`${this.name} is not ready:\n${lines}`, { cause });
        }
      }
      await sleep(POLL_MS);
    }
  }

  async #expectJoined(): Promise<void> {
    const access = { url: this.url, password: RESTART_PASSWORD };
    const { body } = await requestNode<Health>(access, { method: "GET", path: "/v4/tonearm/health" });
    if (body.cluster?.status !== "joined") throw new Error(`its cluster is ${body.cluster?.status}`);
  }
}

export class Machines {
  readonly all: readonly Machine[];

  private constructor(all: readonly Machine[]) {
    this.all = all;
  }

  /** All take sessions. Nothing is left when that fails. */
  static async start(options: MachinesOptions): Promise<Machines> {
    const { plans, logFolder } = options;
    if (logFolder !== undefined) await mkdir(logFolder, { recursive: true });
    const all: Machine[] = [];
    const machines = new Machines(all);
    try {
      for (const plan of plans) {
        const runs = await NodeRuns.prepare({
          hasState: true,
          settings: [...clusterSettings(plan), ...(options.settings ?? [])],
          ...(options.environment && { environment: options.environment }),
          ...(logFolder !== undefined && { logPath: join(logFolder, `${plan.name}.log`) }),
        });
        all.push(new Machine(plan, runs));
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

function clusterSettings({ name, role, natsUrls }: MachinePlan): readonly string[] {
  if (natsUrls.length === 0) return [];
  return [
    `tonearm.state.key: ${KEY}`,
    `tonearm.cluster.servers: [${natsUrls.map((url) => JSON.stringify(url)).join(", ")}]`,
    `tonearm.cluster.name: ${CLUSTER_NAME}`,
    `tonearm.cluster.machine: ${name}`,
    ...(role === "both" ? [] : [`tonearm.cluster.roles: ${role}`]),
  ];
}
