// Observes the records of all machines, and declares those dead that have not changed for long, or whose process is proven
// to have ended. Which machines it may declare dead, and when, is explained in lease-times.ts and watched-process.ts. Main
// thread.

import { NodeError } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Logger } from "../log/log.ts";
import type { Bucket, BucketEntry } from "./bucket.ts";
import type { Lease } from "./lease.ts";
import { ANSWER_MS_MAX, DEAD_MS, GAP_MS_MAX, SILENT_MS } from "./lease-times.ts";
import type { Endpoint, Machine, MachineLoad } from "./machine.ts";
import type { MachineLink } from "./machine-link.ts";
import {
  lifeKey,
  MACHINE_PATTERN,
  type MachineRecord,
  machineIdOf,
  machineKey,
  readMachineRecord,
} from "./machine-record.ts";
import type { NatsTime } from "./nats-time.ts";

/** A renewal that comes back within this time shows how the clocks differ. */
const QUICK_MS = 500;
const CLOCK_WARNING_MS = 5000;
const MACHINES_MAX = 1000;
/** Ids whose past is remembered: one that is forgotten counts as alive a little longer. */
const IDS_MAX = 10_000;
const CHECK_MS = 500;
/** In one check: of many dead ones, the others follow. */
const DECLARATIONS_MAX = 10;
/** From one try to declare a machine dead to the next. */
const TRY_MS = 2000;
/** One may be on its way when the process of its machine ends. */
const LATE_RENEWALS_MAX = 1;

interface Seen {
  /** Undefined: its record cannot be read. It is alive, and not listed. */
  readonly machine: Machine | undefined;
  /** Undefined: it does not say. */
  readonly load: MachineLoad | undefined;
  /** Undefined: nobody can connect to it. */
  readonly endpoint: Endpoint | undefined;
  readonly revision: number;
  /** When this revision was seen first; on the monotonic clock. */
  readonly changedMs: number;
}

interface OtherMachinesOptions {
  readonly bucket: Pick<Bucket, "write" | "get" | "watch">;
  readonly link: Pick<MachineLink, "status">;
  /** Told what renewals of this machine say of it. */
  readonly natsTime: Pick<NatsTime, "measured">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** That of this machine, held or not; undefined while it has none. */
  readonly lease: () => Lease | undefined;
  /** Machines have come or gone, or drain or not, since the watch caught up, or it has caught up. */
  readonly onChanged: () => void;
  /** The record of a machine that is alive has been renewed. */
  readonly onRenewed: (machine: Machine) => void;
}

/** One for the node, whatever id it has. */
export class OtherMachines {
  readonly #options: OtherMachinesOptions;
  readonly #seen = new Map<string, Seen>();
  readonly #triedMs = new BoundedMap<string, number>(MACHINES_MAX);
  /** Machines whose process is proven to have ended: the renewals seen since. All are in `#seen`. */
  readonly #ended = new Map<string, number>();
  /** Removed, or ids that this machine has had. */
  readonly #gone = new BoundedMap<string, "removed" | "former">(IDS_MAX);
  /** Ids that were never seen: when they were asked about first. */
  readonly #askedMs = new BoundedMap<string, number>(IDS_MAX);
  #isCaughtUp = false;
  /** Since then nothing that this machine has observed speaks against the watch, nor against NATS. */
  #unbrokenSinceMs = Number.POSITIVE_INFINITY;
  /** When the last renewal of this machine was sent that has come back through the watch. */
  #returnedMs = Number.NEGATIVE_INFINITY;
  /** There are records for which there was no room in the list. */
  #isOverfull = false;
  #hasWarnedOfUnreadable = false;
  #clockOffsetMs: number | undefined;
  #hasWarnedOfClock = false;
  #unwatch: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(options: OtherMachinesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unwatch = this.#options.bucket.watch({
      patterns: [MACHINE_PATTERN],
      onEntry: (entry) => this.#onEntry(entry),
      onCaughtUp: () => this.#onCaughtUp(),
    });
    this.#checkLater();
  }

  stop(): void {
    this.#unwatch?.();
    this.#timer?.cancel();
  }

  /** See `Membership.clockOffsetMs`. */
  get clockOffsetMs(): number {
    return this.#clockOffsetMs ?? 0;
  }

  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  /** All but this one. */
  get list(): readonly Machine[] {
    return Array.from(this.#seen.values(), ({ machine }) => machine).filter((machine) => machine !== undefined);
  }

  /** See `Membership.loadOf`; not for the id of this machine. */
  loadOf(id: string): MachineLoad | undefined {
    return this.#seen.get(id)?.load;
  }

  /** Where other machines can connect to it, as it says with each renewal. */
  endpointOf(id: string): Endpoint | undefined {
    return this.#seen.get(id)?.endpoint;
  }

  /** The process of that machine is proven to have ended: it is declared dead without waiting. */
  onEnded(id: string): void {
    if (!this.#seen.has(id)) return;
    this.#ended.set(id, 0);
    this.#check();
  }

  /** See `Membership.isAlive`; not for the id of this machine. */
  isAlive(id: string): boolean {
    if (this.#seen.has(id)) return true;
    if (this.#gone.get(id) !== undefined) return false;
    if (!this.#isCaughtUp || this.#isOverfull) return true;
    const nowMs = this.#options.clock.now();
    const askedMs = this.#askedMs.get(id) ?? nowMs;
    this.#askedMs.set(id, askedMs);
    return !this.#hasWaited(askedMs, nowMs);
  }

  /** See `Membership.isSilent`. */
  isSilent(id: string): boolean {
    const seen = this.#seen.get(id);
    return seen !== undefined && this.#hasWaited(seen.changedMs, this.#options.clock.now(), SILENT_MS);
  }

  /** It was the id of this machine, which does nothing under it any more. */
  disown(id: string): void {
    this.#seen.delete(id);
    this.#ended.delete(id);
    this.#gone.set(id, "former");
  }

  /** What was observed until now says nothing about the time from now on. */
  interrupted(): void {
    this.#unbrokenSinceMs = this.#options.clock.now();
  }

  #onCaughtUp(): void {
    this.#isCaughtUp = true;
    this.interrupted();
    this.#options.onChanged();
  }

  #onEntry({ key, value, revision, storedEpochMs }: BucketEntry): void {
    const id = machineIdOf(key);
    if (id === undefined) {
      this.#warnOfUnreadable(key);
      return;
    }
    if (this.#gone.get(id) === "former") return;
    const lease = this.#options.lease();
    const isOwn = lease?.machine.id === id;
    const record = value === undefined ? undefined : readMachineRecord(id, value);
    if (value !== undefined && record === undefined) this.#warnOfUnreadable(key);
    if (isOwn && value === undefined) lease.declaredDead();
    else if (isOwn) this.#onReturned(lease, record?.beat, storedEpochMs);
    else if (value === undefined) this.#remove(id);
    else this.#put(id, record, revision);
  }

  /** A renewal of this machine has come back. */
  #onReturned(lease: Lease, beat: number | undefined, storedEpochMs: number | undefined): void {
    const sentMs = beat === undefined ? undefined : lease.sentMs(beat);
    if (sentMs === undefined || sentMs < this.#returnedMs) return;
    if (storedEpochMs !== undefined) this.#onStored(sentMs, storedEpochMs);
    if (this.#options.clock.now() - this.#returnedMs > GAP_MS_MAX) this.interrupted();
    this.#returnedMs = sentMs;
  }

  /** What takes long to come back says little about the clocks. */
  #onStored(sentMs: number, storedEpochMs: number): void {
    const { clock, logger, natsTime } = this.#options;
    natsTime.measured(sentMs, storedEpochMs);
    const tookMs = clock.now() - sentMs;
    if (tookMs > QUICK_MS && this.#clockOffsetMs !== undefined) return;
    this.#clockOffsetMs = Math.round(storedEpochMs - (clock.epochMs() - tookMs / 2));
    if (Math.abs(this.#clockOffsetMs) < CLOCK_WARNING_MS || this.#hasWarnedOfClock) return;
    this.#hasWarnedOfClock = true;
    const message = "cluster: the clocks of this machine and of the NATS server differ: synchronise both, as with NTP";
    logger.warn(message, { aheadMs: -this.#clockOffsetMs });
  }

  #put(id: string, record: MachineRecord | undefined, revision: number): void {
    const { machine, load, endpoint } = record ?? {};
    const before = this.#seen.get(id);
    if (before !== undefined && revision <= before.revision) return;
    if (before === undefined && this.#seen.size >= MACHINES_MAX) {
      if (!this.#isOverfull)
        this.#options.logger.warn(`cluster: more than ${MACHINES_MAX} machines: others are ignored`);
      this.#isOverfull = true;
      return;
    }
    this.#seen.set(id, { machine, load, endpoint, revision, changedMs: this.#options.clock.now() });
    this.#onLateRenewal(id, machine);
    if (machine !== undefined && before !== undefined) this.#options.onRenewed(machine);
    const isNews = before === undefined || before.load?.isDraining !== load?.isDraining;
    if (isNews && this.#isCaughtUp) this.#options.onChanged();
  }

  /** A machine that goes on with its renewals may live, whatever spoke against it: then only its lease decides. */
  #onLateRenewal(id: string, machine: Machine | undefined): void {
    const before = this.#ended.get(id);
    if (before === undefined) return;
    this.#ended.set(id, before + 1);
    if (before < LATE_RENEWALS_MAX) return;
    this.#ended.delete(id);
    const message = "cluster: renewals of a machine whose process seemed to have ended: only its lease decides";
    this.#options.logger.warn(message, { id, name: machine?.name });
  }

  #remove(id: string): void {
    this.#ended.delete(id);
    this.#gone.set(id, "removed");
    if (this.#seen.delete(id) && this.#isCaughtUp) this.#options.onChanged();
  }

  #warnOfUnreadable(key: string): void {
    if (this.#hasWarnedOfUnreadable) return;
    this.#hasWarnedOfUnreadable = true;
    const message =
      "cluster: the record of a machine cannot be read and is ignored: update all machines to one version";
    this.#options.logger.warn(message, { key });
  }

  #checkLater(): void {
    this.#timer = this.#options.clock.after(CHECK_MS, () => {
      this.#check();
      this.#checkLater();
    });
  }

  #check(): void {
    const nowMs = this.#options.clock.now();
    const isDue = (id: string): boolean => {
      const everyMs = this.#ended.has(id) ? ANSWER_MS_MAX : TRY_MS;
      return nowMs - (this.#triedMs.get(id) ?? Number.NEGATIVE_INFINITY) >= everyMs;
    };
    const isDead = (id: string, changedMs: number): boolean => this.#ended.has(id) || this.#hasWaited(changedMs, nowMs);
    const due = [...this.#seen].filter(([id, { changedMs }]) => isDead(id, changedMs) && isDue(id));
    for (const [id, seen] of due.slice(0, DECLARATIONS_MAX)) {
      this.#triedMs.set(id, nowMs);
      void this.#declareDead(id, seen);
    }
  }

  /** Nothing has happened since then, for long enough, in the sight of a watch that was alive all the time. */
  #hasWaited(sinceMs: number, nowMs: number, waitMs = DEAD_MS): boolean {
    if (!this.#isCaughtUp || this.#options.link.status.kind !== "connected") return false;
    if (nowMs - this.#returnedMs > GAP_MS_MAX) return false;
    return nowMs - Math.max(sinceMs, this.#unbrokenSinceMs) >= waitMs;
  }

  async #declareDead(id: string, { machine, revision }: Seen): Promise<void> {
    const { bucket, logger, lease } = this.#options;
    const guard = lease()?.guard;
    if (guard === undefined) return;
    const changes = [
      { key: machineKey(id), value: undefined, expected: revision },
      { key: lifeKey(id), value: undefined },
    ];
    const why = this.#ended.has(id)
      ? "the process of a machine has ended: it"
      : "a machine has not renewed its lease and";
    try {
      await bucket.write(changes, { guard, timeoutMs: ANSWER_MS_MAX });
      logger.warn(`cluster: ${why} is declared dead`, { id, name: machine?.name });
      this.#remove(id);
    } catch (error) {
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-fenced") lease()?.fenced(guard);
      // It lives, or others were first: mostly the watch will say so, but not of what was removed while it was away.
      if (code === "cluster-conflict") await this.#lookAt(id);
    }
  }

  async #lookAt(id: string): Promise<void> {
    try {
      const entry = await this.#options.bucket.get(machineKey(id));
      if (entry === undefined) this.#remove(id);
      else if (entry.revision > (this.#seen.get(id)?.revision ?? 0)) this.#onEntry(entry);
    } catch {
      // The next try to declare it dead ends here again.
    }
  }
}
