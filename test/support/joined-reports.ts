// Machines of a cluster in one process that ask each other for reports, and may be silent.

import { CONTRACT_VERSION } from "../../src/cluster/machine.ts";
import type {
  MachineReport,
  MachineReports,
  ReportedMachine,
  ReportHandler,
  ReportTopic,
} from "../../src/control/cluster/machine-reports.ts";

type Reports = Pick<MachineReports, "serve" | "self" | "gone" | "askOthers" | "act">;

export class JoinedReports {
  /** Why a machine of that name does not answer. */
  readonly silent = new Map<string, string>();
  /** Names of machines that were there. */
  readonly gone: string[] = [];
  /** What was asked, oldest first. */
  readonly asked: { readonly machine: string; readonly topic: ReportTopic; readonly request: string }[] = [];
  readonly #machines = new Map<string, Map<ReportTopic, ReportHandler>>();

  /** The view of one machine, whose id is its name with `id-` before it. */
  of(name: string): Reports {
    const handlers = new Map<ReportTopic, ReportHandler>();
    this.#machines.set(name, handlers);
    return {
      serve: (topic, handler) => handlers.set(topic, handler),
      self: machine(name),
      gone: this.gone.map((other) => ({ machine: machine(other), sinceEpochMs: 1_700_000_000_000 })),
      askOthers: (topic, request) =>
        Promise.all(
          [...this.#machines.keys()]
            .filter((other) => other !== name)
            .map(async (other) => ({ machine: machine(other), answer: await this.#ask(other, topic, request) })),
        ),
      act: (id, request) => this.#handle(id.slice("id-".length), "act", request),
    };
  }

  async #ask(name: string, topic: ReportTopic, request: string): Promise<MachineReport["answer"]> {
    const reason = this.silent.get(name);
    if (reason !== undefined) return { kind: "silent", reason };
    return { kind: "answered", text: await this.#handle(name, topic, request) };
  }

  async #handle(name: string, topic: ReportTopic, request: string): Promise<string> {
    this.asked.push({ machine: name, topic, request });
    const handler = this.#machines.get(name)?.get(topic);
    if (handler === undefined) throw new Error(`${name} does not know ${topic}`);
    return await handler(request);
  }
}

function machine(name: string): ReportedMachine {
  return {
    ...{ id: `id-${name}`, name, roles: ["gateway", "audio"], regions: ["rotterdam"], version: "1.2.3" },
    contract: CONTRACT_VERSION,
    load: { players: 12, load: 0.25, loadPerPlayer: 0.01, hasCapacity: true, isDraining: false },
  };
}
