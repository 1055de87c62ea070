// Carries out the events of a schedule at their times, each until its subject is there again, and keeps when that was.
// An event whose subject, or too much else, is still away is left out. Lab only.

import type { Machine } from "../cluster/machines.ts";
import type { NatsServer } from "../cluster/nats-servers.ts";
import { RESTART_PASSWORD } from "../restart/node-runs.ts";
import { sleep } from "../sleep.ts";
import { requestNode } from "../test-environment/rest-request.ts";
import { type ChaosEvent, type Subject, spareOf } from "./schedule.ts";
import type { Happening } from "./sound.ts";
import type { Stage } from "./stage.ts";

const DRAIN_SECONDS_MAX = 30;

export class Striker {
  /** In the order of their beginnings; those that last have no end yet. */
  readonly happenings: Happening[] = [];
  /** What did not come back. */
  readonly losses: string[] = [];
  readonly #stage: Stage;
  readonly #report: (line: string) => void;
  readonly #away = new Set<Subject>();

  constructor(stage: Stage, report: (line: string) => void) {
    this.#stage = stage;
    this.#report = report;
  }

  /** Resolves when all is there again, or cannot be brought back. */
  async run(schedule: readonly ChaosEvent[], startedMs: number): Promise<void> {
    const lasting: Promise<void>[] = [];
    for (const event of schedule) {
      await sleep(Math.max(0, startedMs + event.atMs - performance.now()));
      const { subject, fault, atMs, forMs } = event;
      const isSpare = spareOf(this.#stage.subjects, [...this.#away]).includes(subject);
      const words = `${(atMs / 1000).toFixed(1)} s: ${fault} ${subject.name} for ${(forMs / 1000).toFixed(1)} s`;
      if (!isSpare) {
        this.#report(`${words}: left out, as too much is still away`);
        continue;
      }
      const isLeader = subject.role === "nats" && (await this.#server(subject).leads());
      this.#report(isLeader ? `${words}; it is the leader` : words);
      lasting.push(this.#strike(event));
    }
    await Promise.all(lasting);
  }

  async #strike({ subject, fault, forMs }: ChaosEvent): Promise<void> {
    this.#away.add(subject);
    const fromMs = performance.now();
    const index = this.happenings.push({ subject, fault, fromMs, toMs: Number.POSITIVE_INFINITY }) - 1;
    await this.#begin(subject, fault);
    await sleep(Math.max(0, fromMs + forMs - performance.now()));
    try {
      await this.#end(subject, fault);
    } catch (error) {
      this.losses.push(`${subject.name} does not come back: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    this.happenings[index] = { subject, fault, fromMs, toMs: performance.now() };
    this.#away.delete(subject);
  }

  async #begin(subject: Subject, fault: ChaosEvent["fault"]): Promise<void> {
    if (subject.role === "nats") {
      const server = this.#server(subject);
      if (fault === "pause") server.pause();
      else await Promise.all([server.kill(), ...this.#setListening(server, false)]);
      return;
    }
    const machine = this.#machine(subject);
    const { runs } = machine;
    if (fault === "drain") await this.#drain(machine);
    if (fault === "pause") runs.pause();
    else if (fault === "cut") this.#stage.proxies.get(subject.name)?.cut();
    else await runs.end(fault === "kill" ? "SIGKILL" : "SIGTERM");
  }

  async #end(subject: Subject, fault: ChaosEvent["fault"]): Promise<void> {
    if (subject.role === "nats") {
      const server = this.#server(subject);
      if (fault === "pause") server.resume();
      else {
        server.spawn();
        await Promise.all(this.#setListening(server, true));
      }
      await server.untilReady();
      return;
    }
    const machine = this.#machine(subject);
    if (fault === "pause") machine.runs.wake();
    else if (fault === "cut") this.#stage.proxies.get(subject.name)?.heal();
    if (fault === "pause" || fault === "cut") await machine.untilReady();
    else await machine.start();
  }

  async #drain({ name, url }: Machine): Promise<void> {
    const request = { method: "POST", path: `/v4/tonearm/drain?deadline=${DRAIN_SECONDS_MAX}` };
    const drained = requestNode<{ left?: number }>({ url, password: RESTART_PASSWORD }, request);
    const { status, body } = await drained.catch(() => ({ status: 0, body: {} as { left?: number } }));
    if (status !== 200) this.losses.push(`${name} does not drain: ${status}`);
    else if (body.left !== 0) this.#report(`${name} has ${body.left} players left`);
  }

  #setListening(server: NatsServer, isListening: boolean): readonly Promise<void>[] {
    return [...this.#stage.proxies.values()].map((proxies) => proxies.setListening(server, isListening));
  }

  #machine({ name }: Subject): Machine {
    const machine = this.#stage.machines.find((other) => other.name === name);
    if (machine === undefined) throw new Error(`there is no machine ${name}`);
    return machine;
  }

  #server({ name }: Subject): NatsServer {
    const server = this.#stage.nats.find((other) => other.name === name);
    if (server === undefined) throw new Error(`there is no NATS server ${name}`);
    return server;
  }
}
