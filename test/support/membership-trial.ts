// A cluster of machines in fake time, with random cuts, pauses, slow networks, lost answers, deaths, and times without
// NATS. At each removal of a machine's records it checks that the machine does nothing under that id any more. They watch
// each other's processes, whose connections are cut, reset and refused, too.

import { CONTRACT_VERSION } from "../../src/cluster/machine.ts";
import { Membership } from "../../src/cluster/membership.ts";
import { MACHINE_ROLES } from "../../src/config/cluster-settings.ts";
import { NodeError } from "../../src/errors.ts";
import type { Random } from "../../src/lib/random.ts";
import { silentLogger } from "../../src/log/log.ts";
import { FakeClock } from "./fake-clock.ts";
import { type FakeProcess, FakeProcesses } from "./fake-processes.ts";
import { type MemoryBucket, MemoryNats } from "./memory-bucket.ts";
import { MemoryLinks } from "./memory-links.ts";
import { PausableClock } from "./pausable-clock.ts";
import { untilSettled } from "./until-settled.ts";

const STEP_MS = 25;
const MACHINES_MIN = 3;
const MACHINES_MAX = 5;
/** Of a network at its best, one way. */
const TRANSIT_MS_MAX = 100;
const SLOW_MS_MAX = 3000;
const HARM_MS_MAX = 25_000;
const AWAY_MS_MAX = 40_000;
/** Less than others wait for a lease, after the last renewal. */
const QUICK_MS = 10_000;
/** Chances within a step. */
const HARM = STEP_MS / 15_000;
const AWAY = STEP_MS / 25_000;
const DEATH = STEP_MS / 60_000;

interface TrialMachine {
  readonly membership: Membership;
  readonly bucket: MemoryBucket;
  readonly clock: PausableClock;
  readonly process: FakeProcess;
  readonly ids: Set<string>;
  /** By id: what was begun under it may be sent now, as the machine's pacer finds, also while its main thread stands still. */
  readonly maySend: Map<string, () => boolean>;
  /** Nothing happens to it alone. */
  readonly isSpared: boolean;
  isDead: boolean;
  diedMs: number;
  /** When what has happened to it is over, and how. */
  harm: { readonly untilMs: number; readonly end: () => void } | undefined;
}

interface TrialCounts {
  lost: number;
  /** Records that others have removed. */
  declared: number;
  deaths: number;
  /** Dead machines that were declared dead earlier than by their lease. */
  quick: number;
}

export class MembershipTrial {
  readonly clock = new FakeClock();
  readonly nats = new MemoryNats(this.clock);
  readonly links = new MemoryLinks();
  readonly processes = new FakeProcesses();
  readonly machines: TrialMachine[] = [];
  /** What must never be. */
  readonly faults: string[] = [];
  readonly counts: TrialCounts = { lost: 0, declared: 0, deaths: 0, quick: 0 };
  readonly #random: () => number;
  #awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(random: () => number) {
    this.#random = random;
    this.nats.onWritten = (changes, by) => {
      for (const { key, value } of changes) if (value === undefined) this.#onRemoved(key, by);
    };
    for (let index = 0; index < MACHINES_MIN; index++) this.#add({ isSpared: index === 0 });
  }

  get alive(): readonly TrialMachine[] {
    return this.machines.filter(({ isDead }) => !isDead);
  }

  async run(durationMs: number): Promise<void> {
    for (const endMs = this.clock.now() + durationMs; this.clock.now() < endMs; ) {
      this.#act();
      await this.#step();
    }
  }

  /** All that was wrong is over, and nothing goes wrong any more. */
  async calm(durationMs: number): Promise<void> {
    if (this.nats.isAway) this.nats.comeBack();
    for (const machine of this.machines) this.#endHarm(machine);
    for (const endMs = this.clock.now() + durationMs; this.clock.now() < endMs; ) await this.#step();
  }

  async #step(): Promise<void> {
    this.clock.advance(STEP_MS);
    await untilSettled();
    for (const { membership, maySend } of this.alive.filter(({ clock }) => !clock.isPaused)) {
      const { self } = membership;
      if (self !== undefined && maySend.get(self.id)?.() !== true)
        this.#fault(`${self.id} may not send under its lease`);
    }
  }

  #act(): void {
    const nowMs = this.clock.now();
    this.#moveNats(nowMs);
    if (this.alive.length < MACHINES_MAX && this.#random() < DEATH) this.#add({ isSpared: false });
    for (const machine of this.alive) {
      if (machine.isSpared) continue;
      if (machine.harm !== undefined && machine.harm.untilMs <= nowMs) this.#endHarm(machine);
      if (machine.harm === undefined && this.#random() < HARM) this.#harm(machine, nowMs);
      if (this.alive.length > 2 && this.#random() < DEATH) this.#kill(machine);
    }
  }

  #moveNats(nowMs: number): void {
    if (this.nats.isAway) {
      if (nowMs >= this.#awayUntilMs) this.nats.comeBack();
    } else if (nowMs > this.#awayUntilMs + 12_000 && this.#random() < AWAY) {
      this.#awayUntilMs = nowMs + this.#random() ** 3 * AWAY_MS_MAX;
      this.nats.goAway({ isConnected: this.#random() < 0.5, keepsRequests: this.#random() < 0.5 });
    }
  }

  #harm(machine: TrialMachine, nowMs: number): void {
    const { bucket, clock, process } = machine;
    const until = (end: () => void): void => {
      machine.harm = { untilMs: nowMs + this.#random() * HARM_MS_MAX, end };
    };
    const kind = this.#random();
    if (kind < 0.4) {
      bucket.cut({ isNoticed: this.#random() < 0.5, canAsk: this.#random() < 0.5 });
      process.isCut = this.#random() < 0.5;
      // As a firewall that refuses everything, or resets what there is.
      process.isRefusing = this.#random() < 0.3;
      if (this.#random() < 0.5) process.endLines("lost");
      until(() => {
        process.isCut = false;
        process.isRefusing = false;
        bucket.restore();
      });
    } else if (kind < 0.65) {
      clock.pause();
      process.isPaused = true;
      until(() => {
        process.isPaused = false;
        clock.resume((due) => due.toSorted(() => this.#random() - 0.5));
      });
    } else if (kind < 0.85) {
      bucket.transit = () => this.#transit(SLOW_MS_MAX);
      until(() => {
        bucket.transit = () => this.#transit(TRANSIT_MS_MAX);
      });
    } else if (kind < 0.95) bucket.answersToLose = Math.ceil(this.#random() * 4);
    else {
      bucket.isBehind = true;
      until(() => {
        bucket.isBehind = false;
      });
    }
  }

  #endHarm(machine: TrialMachine): void {
    machine.harm?.end();
    machine.harm = undefined;
  }

  #kill(machine: TrialMachine): void {
    this.#endHarm(machine);
    machine.isDead = true;
    machine.diedMs = this.clock.now();
    machine.clock.kill();
    machine.bucket.cut();
    machine.process.end();
    this.counts.deaths++;
  }

  #add({ isSpared }: { readonly isSpared: boolean }): void {
    const clock = new PausableClock(this.clock);
    const bucket = this.nats.connect(clock);
    bucket.transit = () => this.#transit(TRANSIT_MS_MAX);
    const process = this.processes.create();
    const memoryLink = this.links.of(bucket);
    // Getters of the link are those of its bucket.
    const link = Object.assign(Object.create(memoryLink) as typeof memoryLink, {
      call: async (id: string, ...rest: [string, string, { readonly timeoutMs: number }]): Promise<string> => {
        const called = this.machines.find(({ ids }) => ids.has(id));
        const isHeard = called?.isDead === false && called.bucket.status.kind === "connected";
        if (!isHeard && bucket.status.kind === "connected") throw new NodeError("machine-gone", "nobody");
        return await memoryLink.call(id, ...rest);
      },
    });
    const ids = new Set<string>();
    const maySend = new Map<string, () => boolean>();
    const membership = new Membership({
      bucket,
      link,
      watchProcesses: process.watch({ link, clock, random: bytesOf(this.#random) }),
      self: {
        ...{ name: `machine${this.machines.length}`, roles: MACHINE_ROLES, regions: [] },
        ...{ version: "1.0.0", contract: CONTRACT_VERSION },
      },
      clock,
      random: bytesOf(this.#random),
      logger: silentLogger,
      onJoined: (id) => {
        ids.add(id);
        const { leaseEnd } = membership;
        const { life } = leaseEnd;
        maySend.set(id, () => leaseEnd.isBefore(clock.now(), life));
      },
      onLost: (reason) => {
        this.counts.lost++;
        if (isSpared) this.#fault(`a machine to which nothing has happened has lost its id: ${reason}`);
      },
      onMachines: () => undefined,
    });
    this.machines.push({
      ...{ membership, bucket, clock, process, ids, maySend, isSpared },
      ...{ isDead: false, diedMs: 0, harm: undefined },
    });
    clock.after(this.#random() * 5000, () => membership.start());
  }

  #transit(msMax: number): { readonly requestMs: number; readonly answerMs: number } {
    return { requestMs: 1 + this.#random() * msMax, answerMs: 1 + this.#random() * msMax };
  }

  #onRemoved(key: string, by: MemoryBucket): void {
    const [kind, id = ""] = key.split("/");
    const owner = this.machines.find(({ ids }) => ids.has(id));
    if (kind !== "life" || owner === undefined) return;
    if (owner.bucket !== by) this.counts.declared++;
    if (owner.isDead && this.clock.now() - owner.diedMs < QUICK_MS) this.counts.quick++;
    const isInUse = !owner.isDead && owner.membership.self?.id === id && owner.membership.holdsLease;
    if (isInUse) this.#fault(`${id} is removed while its machine holds its lease`);
    if (!owner.isDead && owner.maySend.get(id)?.() === true) this.#fault(`${id} is removed while its pacer may send`);
  }

  #fault(fault: string): void {
    this.faults.push(`at ${this.clock.now()} ms: ${fault}`);
  }
}

function bytesOf(random: () => number): Random {
  return {
    bytes: (length) => Uint8Array.from({ length }, () => Math.floor(random() * 256)),
    uint32: () => Math.floor(random() * 2 ** 32),
    unit: random,
  };
}
