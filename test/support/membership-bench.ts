// Machines of a cluster in fake time, each with its own clock and connection, for tests of their membership.

import { expect } from "vitest";
import { seededRandom } from "../../lab/seeded-random.ts";
import type { LostReason } from "../../src/cluster/lease.ts";
import type { MachineLoad } from "../../src/cluster/machine.ts";
import { Membership } from "../../src/cluster/membership.ts";
import { MACHINE_ROLES } from "../../src/config/cluster-settings.ts";
import { createLogger } from "../../src/log/log.ts";
import { FakeClock } from "./fake-clock.ts";
import { type FakeProcess, FakeProcesses } from "./fake-processes.ts";
import { type MemoryBucket, MemoryNats } from "./memory-bucket.ts";
import { MemoryLinks } from "./memory-links.ts";
import { PausableClock } from "./pausable-clock.ts";
import { untilSettled } from "./until-settled.ts";

export const STEP_MS = 50;
/** The threads of a process share another clock than the one that the machines have. */
const SHARED_OFFSET_MS = 7_000_000;

export interface BenchMachine {
  readonly membership: Membership;
  readonly bucket: MemoryBucket;
  readonly clock: PausableClock;
  /** Unless the others watch it, its lease alone shows that it is alive. */
  readonly process: FakeProcess;
  /** Its ids. */
  readonly joined: string[];
  /** What was begun under its current id may be sent now, as its pacer finds. */
  maySend: () => boolean;
  readonly lost: LostReason[];
  /** With their fields. */
  readonly warnings: string[];
  machinesCount: number;
  /** What it says of itself. */
  load: MachineLoad | undefined;
}

interface MachineOptions {
  readonly contract?: number;
  readonly isStarted?: boolean;
  readonly load?: MachineLoad;
  /** It watches the processes of others, and they its. Default: false. */
  readonly isWatching?: boolean;
}

export class MembershipBench {
  readonly clock = new FakeClock();
  readonly nats = new MemoryNats(this.clock);
  readonly links = new MemoryLinks();
  readonly #processes = new FakeProcesses();
  #seed = 0;

  create(
    name: string,
    { contract = 1, isStarted = true, load, isWatching = false }: MachineOptions = {},
  ): BenchMachine {
    const clock = new PausableClock(this.clock);
    const bucket = this.nats.connect(clock);
    const random = seededRandom(++this.#seed);
    const warnings: string[] = [];
    const process = this.#processes.create();
    const logger = createLogger((level, message, fields) => {
      if (level !== "info") warnings.push(`${message} ${JSON.stringify(fields)}`);
    });
    const membership = new Membership({
      bucket,
      link: bucket,
      self: { name, roles: MACHINE_ROLES, regions: [], version: "1.0.0", contract },
      readLoad: () => machine.load,
      clock,
      random: {
        bytes: (length) => Uint8Array.from({ length }, () => random() * 256),
        uint32: () => random() * 2 ** 32,
        unit: random,
      },
      logger,
      watchProcesses: isWatching ? process.watch({ link: this.links.of(bucket), clock, logger }) : undefined,
      sharedOffsetMs: SHARED_OFFSET_MS,
      onJoined: (id) => {
        machine.joined.push(id);
        const { leaseEnd } = membership;
        const { life } = leaseEnd;
        machine.maySend = () => leaseEnd.isBefore(clock.now() + SHARED_OFFSET_MS, life);
      },
      onLost: (reason) => {
        // Nothing counts any more when the node is told.
        expect([membership.guard, machine.maySend()]).toEqual([undefined, false]);
        machine.lost.push(reason);
      },
      onMachines: () => machine.machinesCount++,
    });
    const maySend = (): boolean => false;
    const machine: BenchMachine = {
      ...{ membership, bucket, clock, process, maySend, load, warnings },
      ...{ joined: [], lost: [], machinesCount: 0 },
    };
    if (isStarted) membership.start();
    return machine;
  }

  /** Its process ends: it says nothing more, its connections are closed, and NATS knows nobody of its id. */
  kill(machine: BenchMachine): void {
    const { handlers } = this.links;
    for (const key of handlers.keys()) if (key.startsWith(`${idOf(machine)} `)) handlers.delete(key);
    machine.clock.kill();
    machine.bucket.cut();
    machine.process.end();
  }

  async pass(durationMs: number): Promise<void> {
    await untilSettled();
    for (let passedMs = 0; passedMs < durationMs; passedMs += STEP_MS) {
      this.clock.advance(STEP_MS);
      await untilSettled();
    }
  }
}

/** Empty while it is not joined. */
export function idOf({ membership }: BenchMachine): string {
  return membership.self?.id ?? "";
}
