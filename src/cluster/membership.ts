// The membership of this machine in its cluster: it joins, holds its lease, and joins again under a new id when it has
// lost it; it knows the other machines. What owns sessions is above, in src/control/cluster/. Main thread.

import { LeaseEnd } from "../bridge/lease-end.ts";
import type { Clock } from "../lib/clock.ts";
import { pause } from "../lib/pause.ts";
import type { Random } from "../lib/random.ts";
import type { Logger } from "../log/log.ts";
import { AwayProof } from "./away-proof.ts";
import type { Bucket, BucketGuard } from "./bucket.ts";
import { Lease, type LostReason } from "./lease.ts";
import { DEAD_MS, LEASE_MS, RENEW_MS } from "./lease-times.ts";
import type { Machine, MachineLoad } from "./machine.ts";
import type { LinkStatus, MachineLink } from "./machine-link.ts";
import { NatsTime } from "./nats-time.ts";
import { OtherMachines } from "./other-machines.ts";
import type { ProcessWatch, WatchProcesses } from "./process-watch.ts";

const ID_BYTES = 10;
/** Longest that leaving takes. */
const LEAVE_MS_MAX = 2000;
/** Ids that were never in use, or were lost, and whose records may still be there; others remove them in time, too. */
const FORMER_IDS_MAX = 16;

const LOST_REASONS: Record<LostReason, string> = {
  "cut-off":
    `this machine could not reach NATS for ${LEASE_MS / 1000} s, while others may have: check the network from here to ` +
    "all of tonearm.cluster.servers",
  "declared-dead":
    `the other machines had not heard of this one for ${DEAD_MS / 1000} s: check whether it stood still (a paused ` +
    "virtual machine, no CPU or memory left), and its network to tonearm.cluster.servers",
};

/** As `ClusterStatus` in src/control/cluster/cluster-status.ts, which explains the kinds. */
export type MembershipStatus =
  | { readonly kind: "joined" }
  | {
      readonly kind: "joining" | "away" | "cut-off";
      readonly reason: string;
      readonly sinceEpochMs: number;
    };

export interface MembershipOptions {
  readonly bucket: Bucket;
  readonly link: Pick<MachineLink, "status" | "onStatus" | "isQuorumRefused">;
  readonly self: Omit<Machine, "id">;
  /** How busy this machine is now; undefined: it does not say. Default: the same. */
  readonly readLoad?: (() => MachineLoad | undefined) | undefined;
  /** Ids of processes of this machine that have certainly ended: their sessions are taken over at once. Default: none. */
  readonly formerIds?: readonly string[] | undefined;
  /** Notices when processes of other machines end. Default: only their leases say that they are dead. */
  readonly watchProcesses?: WatchProcesses | undefined;
  readonly clock: Clock;
  /** Added to the clock, gives the clock that all threads share. Default: 0. */
  readonly sharedOffsetMs?: number;
  readonly random: Random;
  readonly logger: Logger;
  /** It has a new id, and its writes count from now on. */
  readonly onJoined: (id: string) => void;
  /**
   * Its id is void, and others may own its sessions. Called before anything else happens: nothing of them may go on.
   * The machine joins again by itself, under another id.
   */
  readonly onLost: (reason: LostReason) => void;
  /** Other machines have come or gone, drain or not, or all of them are known for the first time or again. */
  readonly onMachines: () => void;
}

/** One for the node. */
export class Membership {
  /** The end of the lease, for the pacer. */
  readonly leaseEnd = new LeaseEnd();
  /** The time by which calls between machines say when they were sent. */
  readonly natsTime: NatsTime;
  readonly #options: MembershipOptions;
  readonly #proof: AwayProof;
  readonly #others: OtherMachines;
  readonly #processes: ProcessWatch | undefined;
  #lease: Lease | undefined;
  #formerIds: readonly string[] = [];
  #lost: { readonly reason: string; readonly sinceEpochMs: number } | undefined;
  #startedEpochMs = 0;
  #lostCount = 0;
  #isLeft = false;
  #hasWarnedOfName = false;
  #unlisten: (() => void) | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { bucket, link, clock, logger, onMachines, watchProcesses, formerIds = [] } = options;
    this.#formerIds = formerIds.slice(-FORMER_IDS_MAX);
    this.#proof = new AwayProof({ link, clock, onLonger: () => this.#lease?.onLonger() });
    this.natsTime = new NatsTime(clock);
    this.#others = new OtherMachines({
      natsTime: this.natsTime,
      bucket,
      link,
      clock,
      logger,
      lease: () => this.#lease,
      onChanged: () => {
        this.#processes?.update(this.#others.list);
        onMachines();
      },
      onRenewed: (machine) => this.#onRenewed(machine),
    });
    this.#processes = watchProcesses?.({
      endpointOf: (id) => this.#others.endpointOf(id),
      onEnded: (id) => this.#others.onEnded(id),
    });
  }

  /** Joins, and keeps trying. */
  start(): void {
    const { clock, link } = this.#options;
    this.#startedEpochMs = clock.epochMs();
    this.#unlisten = link.onStatus((status) => this.#onLinkStatus(status));
    this.#proof.renewed(clock.now());
    this.#others.start();
    this.#processes?.start();
    this.#join();
  }

  /** What this machine does counts now: it is joined, and nobody can have taken it for dead. */
  get holdsLease(): boolean {
    return this.#lease?.isHeld === true;
  }

  /** This machine, while it holds its lease. */
  get self(): Machine | undefined {
    return this.holdsLease ? this.#lease?.machine : undefined;
  }

  /** Every write of this machine is to have it; undefined while it does not hold its lease. */
  get guard(): BucketGuard | undefined {
    return this.#lease?.guard;
  }

  /** All that are alive, this one among them while it is joined, of all contract versions; by name. */
  get machines(): readonly Machine[] {
    const { self } = this;
    const machines = [...this.#others.list, ...(self === undefined ? [] : [self])];
    return machines.toSorted((a, b) => compare(a.name, b.name) || compare(a.id, b.id));
  }

  /** Those of `machines` that take sessions of this one over, and the other way round. */
  peers(): readonly Machine[] {
    return this.machines.filter(({ contract }) => contract === this.#options.self.contract);
  }

  /**
   * Whether sessions of the machine with that id are to be left alone: it lives, or it cannot be known that it does not.
   * One of which nothing has been seen counts as dead some seconds after it was asked about first.
   */
  isAlive(id: string): boolean {
    return this.self?.id === id || this.#others.isAlive(id);
  }

  /** Another machine that counts as alive has not renewed its record for some seconds, in which it could have been seen. */
  isSilent(id: string): boolean {
    return this.#others.isSilent(id);
  }

  /** How busy a machine is: this one now, another one with its last renewal. Undefined: it does not say, or is gone. */
  loadOf(id: string): MachineLoad | undefined {
    return this.self?.id === id ? this.#options.readLoad?.() : this.#others.loadOf(id);
  }

  /** `machines` is complete. */
  get isCaughtUp(): boolean {
    return this.#others.isCaughtUp;
  }

  /** NATS is proven away for all: nobody can take anything over, and nothing can be written. */
  get isNatsAway(): boolean {
    return this.#proof.isProven;
  }

  /**
   * How much the clock of the NATS servers is ahead of this machine's, in milliseconds: times that are shared are told by
   * theirs. 0 until it is known.
   */
  get clockOffsetMs(): number {
    return this.#others.clockOffsetMs;
  }

  /** How often an id was lost, since the process started. */
  get lostCount(): number {
    return this.#lostCount;
  }

  get status(): MembershipStatus {
    const { clock, link } = this.#options;
    const lease = this.#lease;
    if (lease?.isHeld === true) {
      const silentMs = clock.now() - lease.renewedMs;
      if (link.status.kind === "disconnected") return { ...link.status, kind: "away" };
      if (silentMs <= 2 * RENEW_MS) return { kind: "joined" };
      const reason = lease.failure ?? "no answer from NATS";
      return { kind: "away", reason, sinceEpochMs: Math.round(clock.epochMs() - silentMs) };
    }
    if (this.#lost !== undefined) return { kind: "cut-off", ...this.#lost };
    const failure = lease?.failure ?? "NATS has not answered yet";
    const reason = link.status.kind === "disconnected" ? link.status.reason : failure;
    return { kind: "joining", reason, sinceEpochMs: this.#startedEpochMs };
  }

  /** A write has shown that the guard no longer counts. */
  onFenced(guard: BucketGuard): void {
    this.#lease?.fenced(guard);
  }

  /** What it says of itself has just changed. */
  renewSoon(): void {
    this.#lease?.hurry();
  }

  /** Gives its id up: others take its sessions over at once. Resolves within 2 s; never rejects. */
  async leave(): Promise<void> {
    if (this.#isLeft) return;
    this.#isLeft = true;
    const { clock } = this.#options;
    const lease = this.#lease;
    this.#lease = undefined;
    this.#unlisten?.();
    this.#proof.stop();
    this.#others.stop();
    await Promise.race([lease?.release(clock.now() + LEAVE_MS_MAX), pause(clock, LEAVE_MS_MAX)]);
    // Its lease is over: others may take the end of their connections for the end of the process.
    this.#processes?.close();
  }

  #join(): void {
    const { bucket, self, clock, sharedOffsetMs = 0, random, onJoined, logger } = this.#options;
    const id = Buffer.from(random.bytes(ID_BYTES)).toString("hex");
    const lease = new Lease({
      machine: { id, ...self },
      readLoad: () => this.#options.readLoad?.(),
      readEndpoint: () => this.#processes?.endpoint,
      formerIds: this.#formerIds,
      bucket,
      proof: this.#proof,
      clock,
      end: this.leaseEnd,
      sharedOffsetMs,
      onHeld: () => {
        this.#formerIds = [];
        this.#lost = undefined;
        this.#processes?.setId(id);
        this.#processes?.update(this.#others.list);
        logger.info("cluster: joined", { id, name: self.name });
        onJoined(id);
      },
      onOver: (reason) => this.#onOver(lease, reason),
    });
    this.#lease = lease;
    lease.start();
  }

  #onOver(lease: Lease, reason: LostReason): void {
    if (lease !== this.#lease) return;
    const { clock, logger, onLost } = this.#options;
    const { id } = lease.machine;
    this.#lease = undefined;
    this.#formerIds = [...this.#formerIds, id].slice(-FORMER_IDS_MAX);
    this.#others.disown(id);
    this.#processes?.setId(undefined);
    if (lease.hasBeenHeld) {
      this.#lostCount++;
      this.#lost = { reason: LOST_REASONS[reason], sinceEpochMs: clock.epochMs() };
      try {
        onLost(reason);
      } catch (error) {
        logger.error("cluster: not all of what this machine did could be ended; please report it", { error });
      }
      logger.warn(`cluster: ${LOST_REASONS[reason]}; it joins again`, { id });
    }
    clock.after(0, () => {
      if (!this.#isLeft) this.#join();
    });
  }

  #onLinkStatus(status: LinkStatus): void {
    this.#lease?.check();
    this.#others.interrupted();
    if (status.kind === "connected") this.#lease?.hurry();
  }

  /** A machine that was started again has the name of its past, which does not renew its record. */
  #onRenewed({ id, name }: Machine): void {
    const { self } = this;
    if (self === undefined || self.name !== name || this.#hasWarnedOfName) return;
    this.#hasWarnedOfName = true;
    const message = "cluster: two machines have one name: set tonearm.cluster.machine to a different one on each";
    this.#options.logger.warn(message, { name, ids: [self.id, id] });
  }
}

/** In the order of UTF-16 units, whatever the language of the machine. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
