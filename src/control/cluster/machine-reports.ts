// Asks all machines of the cluster the same question, for operators who look at all of them from one: REST with
// `?machines=all`, metrics, the dashboard. A machine that does not answer in time is reported with the reason, and holds
// up nobody for longer. Main thread; one for the node, also for one that is alone.

import { z } from "zod";
import { CONTRACT_VERSION, type Machine, type MachineLoad } from "../../cluster/machine.ts";
import type { MachineLink } from "../../cluster/machine-link.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { MachineCalls } from "./machine-calls.ts";
import { readJson } from "./read-json.ts";

const REPORT = "report";
/** Longest that a machine takes for a report. */
const ANSWER_MS_MAX = 1000;
/** An action may wait for a player's queue, or for a plugin. */
const ACT_MS_MAX = 15_000;
/** Characters of a report: metrics of a machine have some 50,000. */
const ANSWER_LENGTH_MAX = 4 * 1024 * 1024;
/** Machines that are asked; further ones are reported without. */
const MACHINES_MAX = 64;
/** Questions to all machines at a time. */
const QUESTIONS_MAX = 32;
/** Names of machines that are remembered, and for how long after they were there. */
const SEEN_MAX = 64;
const GONE_MS_MAX = 24 * 60 * 60 * 1000;

/** What a machine is asked for. `act`: to carry out an action of the dashboard. */
export type ReportTopic = "rest" | "metrics" | "dashboard" | "act";
export type ReportHandler = (request: string) => Promise<string>;

/** A machine as it is known here. */
export interface ReportedMachine extends Machine {
  /** As it was last said; undefined: not known. */
  readonly load: MachineLoad | undefined;
}

/** What a machine has answered, or why it has not. */
export interface MachineReport {
  readonly machine: ReportedMachine;
  readonly answer:
    | { readonly kind: "answered"; readonly text: string }
    | { readonly kind: "silent"; readonly reason: string };
}

/** A machine that was there. */
export interface GoneMachine {
  readonly machine: Machine;
  readonly sinceEpochMs: number;
}

interface ReportParts {
  readonly clock: Pick<Clock, "epochMs">;
  readonly calls: Pick<MachineCalls, "call">;
  readonly link: Pick<MachineLink, "serve">;
  readonly membership: Pick<Membership, "self" | "machines" | "loadOf">;
}

const question = z.tuple([z.string(), z.string()]);

export class MachineReports {
  readonly #parts: ReportParts | undefined;
  readonly #handlers = new Map<string, ReportHandler>();
  /** By name: a machine that is started again has another id. `goneEpochMs` undefined: it is there. */
  readonly #seen = new Map<string, { readonly machine: Machine; readonly goneEpochMs: number | undefined }>();
  #self: Machine | undefined;
  #questionCount = 0;
  #stopServing: (() => void) | undefined;

  /** Undefined: the node is alone. */
  constructor(parts: ReportParts | undefined) {
    this.#parts = parts;
  }

  /** Sets what answers questions of other machines. Call it before the cluster is joined. */
  serve(topic: ReportTopic, handler: ReportHandler): void {
    this.#handlers.set(topic, handler);
  }

  /** This machine, also while it is not joined; undefined: it has never been. */
  get self(): ReportedMachine | undefined {
    const self = this.#parts?.membership.self ?? this.#self;
    return self && { ...self, load: this.#parts?.membership.loadOf(self.id) };
  }

  /** Machines that have stopped or were lost within the last day, and since when; of those seen by this process. */
  get gone(): readonly GoneMachine[] {
    const fromMs = (this.#parts?.clock.epochMs() ?? 0) - GONE_MS_MAX;
    return [...this.#seen.values()].flatMap(({ machine, goneEpochMs = 0 }) =>
      goneEpochMs > fromMs ? [{ machine, sinceEpochMs: goneEpochMs }] : [],
    );
  }

  /**
   * Asks all other machines that are alive, by name. Takes 1 s at most.
   * @throws NodeError "requests-busy" while too many questions are asked
   */
  async askOthers(topic: ReportTopic, request: string): Promise<readonly MachineReport[]> {
    const { membership } = this.#parts ?? {};
    const selfId = this.self?.id;
    const others = (membership?.machines ?? []).filter(({ id }) => id !== selfId);
    if (this.#questionCount >= QUESTIONS_MAX) {
      throw new NodeError("requests-busy", "too many questions to all machines at a time: try again in a moment");
    }
    this.#questionCount++;
    try {
      return await Promise.all(
        others.map(async (machine, index) => ({
          machine: { ...machine, load: membership?.loadOf(machine.id) },
          answer:
            index < MACHINES_MAX
              ? await this.#ask(machine, topic, request)
              : { kind: "silent", reason: `it is not asked: only ${MACHINES_MAX} machines are` },
        })),
      );
    } finally {
      this.#questionCount--;
    }
  }

  /**
   * Has another machine do something.
   * @throws NodeError as `MachineCalls.call`
   */
  async act(machineId: string, request: string): Promise<string> {
    if (this.#parts === undefined) throw new NodeError("machine-gone", "there is no other machine");
    const asked = JSON.stringify(["act" satisfies ReportTopic, request]);
    return await this.#parts.calls.call(machineId, REPORT, asked, { timeoutMs: ACT_MS_MAX });
  }

  /** Machines have come or gone. */
  onMachines(): void {
    const { membership, clock } = this.#parts ?? {};
    const machines = membership?.machines ?? [];
    for (const machine of machines) {
      this.#seen.delete(machine.name);
      this.#seen.set(machine.name, { machine, goneEpochMs: undefined });
    }
    const names = new Set([...machines.map(({ name }) => name), this.self?.name]);
    for (const [name, { machine, goneEpochMs = clock?.epochMs() }] of this.#seen) {
      if (!names.has(name)) this.#seen.set(name, { machine, goneEpochMs });
      if (this.#seen.size > SEEN_MAX) this.#seen.delete(name);
    }
  }

  /** This machine has a new id. */
  onJoined(machineId: string): void {
    this.close();
    this.#self = this.#parts?.membership.self;
    this.#stopServing = this.#parts?.link.serve(machineId, REPORT, (asked) => this.#answer(asked));
  }

  /** Nothing is answered any more. */
  close(): void {
    this.#stopServing?.();
    this.#stopServing = undefined;
  }

  async #ask({ id, contract }: Machine, topic: ReportTopic, request: string): Promise<MachineReport["answer"]> {
    if (contract !== CONTRACT_VERSION) {
      const reason = `it has contract version ${contract}, this machine ${CONTRACT_VERSION}: they do not call each other`;
      return { kind: "silent", reason };
    }
    try {
      const asked = JSON.stringify([topic, request]);
      const text = await this.#parts?.calls.call(id, REPORT, asked, { timeoutMs: ANSWER_MS_MAX });
      if (text !== undefined && text.length <= ANSWER_LENGTH_MAX) return { kind: "answered", text };
      return { kind: "silent", reason: "its answer is too long" };
    } catch (error) {
      return { kind: "silent", reason: messageOf(error) };
    }
  }

  async #answer(asked: string): Promise<string> {
    const [topic, request] = question.safeParse(readJson(asked)).data ?? [];
    const handler = this.#handlers.get(topic ?? "");
    if (handler === undefined || request === undefined) {
      throw new NodeError("request-refused", "this machine does not know what it is asked for: it has another version");
    }
    return await handler(request);
  }
}
