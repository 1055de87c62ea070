// One life of this machine in the cluster, under one id: its records are made, renewed, and removed. Each renewal expects
// the revision of the last one, so that none gets in after others have declared the machine dead. Main thread.

import type { LeaseEnd } from "../bridge/lease-end.ts";
import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { pause } from "../lib/pause.ts";
import type { AwayProof } from "./away-proof.ts";
import type { Bucket, BucketChange, BucketEntry, BucketGuard } from "./bucket.ts";
import { ANSWER_MS_MAX, RENEW_MS, RETRY_MS } from "./lease-times.ts";
import type { Endpoint, Machine, MachineLoad } from "./machine.ts";
import { lifeKey, machineKey, readMachineRecord, writeMachineRecord } from "./machine-record.ts";

/** Attempts whose fate is still of interest; older ones would give no lease any more. */
const ATTEMPTS_MAX = 32;

/** Why a machine has lost its id: its lease has run out, or others have removed its records. */
export type LostReason = "cut-off" | "declared-dead";

interface LeaseOptions {
  readonly machine: Machine;
  /** Asked with each attempt; undefined: nothing is said of it. */
  readonly readLoad: () => MachineLoad | undefined;
  /** Asked with each attempt; undefined: nobody can connect to it. */
  readonly readEndpoint: () => Endpoint | undefined;
  /** Ids that this machine has had: their records are removed with the making of the new ones. */
  readonly formerIds: readonly string[];
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly proof: AwayProof;
  readonly clock: Clock;
  /** Told until when the lease is held, on the clock that all threads share. */
  readonly end: Pick<LeaseEnd, "extend" | "end">;
  /** Added to the clock, gives that one. */
  readonly sharedOffsetMs: number;
  /** It holds the lease, from now on. */
  readonly onHeld: () => void;
  /** It is over; the last call. Also when the lease has never been held: others have removed its records by then. */
  readonly onOver: (reason: LostReason) => void;
}

/** The revisions of both records. */
interface Written {
  readonly machineRevision: number;
  readonly lifeRevision: number;
}

export class Lease {
  readonly machine: Machine;
  readonly #options: LeaseOptions;
  /** By beat, ascending: when the attempt was sent. */
  readonly #sentMs = new Map<number, number>();
  #beat = 0;
  #written: Written | undefined;
  /** When the last renewal was sent that is known to be written. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  #hasBeenHeld = false;
  #isOver = false;
  #expiry: Timer | undefined;
  #wake: (() => void) | undefined;
  #isHurried = false;
  #running: Promise<void> = Promise.resolve();
  #failure: string | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.machine = options.machine;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** What this machine does under its id counts, at this moment. */
  get isHeld(): boolean {
    return this.#hasBeenHeld && !this.#isOver && this.#options.clock.now() < this.#heldUntilMs;
  }

  /** It has been held, at any time. */
  get hasBeenHeld(): boolean {
    return this.#hasBeenHeld;
  }

  /** The record that all writes under this id depend on; undefined while the lease is not held. */
  get guard(): BucketGuard | undefined {
    if (!this.isHeld || this.#written === undefined) return undefined;
    return { key: lifeKey(this.machine.id), revision: this.#written.lifeRevision };
  }

  /** When the last renewal was sent that is known to be written; on the monotonic clock. */
  get renewedMs(): number {
    return this.#renewedMs;
  }

  /** Why the last attempt has failed. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** When the attempt with that number was sent; undefined: not by this machine, or long ago. */
  sentMs(beat: number): number | undefined {
    return this.#sentMs.get(beat);
  }

  /** Tries at once, or once more after the try that is under way: NATS may be there again, or there is news to tell. */
  hurry(): void {
    if (this.#wake === undefined) this.#isHurried = true;
    else this.#wake();
  }

  /** Others have removed its records. */
  declaredDead(): void {
    this.#end("declared-dead");
  }

  /** A write with that guard was refused because of it. */
  fenced({ key }: BucketGuard): void {
    if (key === lifeKey(this.machine.id)) this.#end("declared-dead");
  }

  /** Its end may have become later. */
  onLonger(): void {
    this.check();
    if (!this.#hasBeenHeld || this.#isOver) return;
    this.#options.end.extend(this.#heldUntilMs + this.#options.sharedOffsetMs);
  }

  /** Ends it when its time has run out. */
  check(): void {
    if (this.#hasBeenHeld && !this.#isOver && !this.isHeld) this.#end("cut-off");
  }

  /** Removes its records, so that others need not wait. Resolves when that is done, or at that time; never rejects. */
  async release(untilMs: number): Promise<void> {
    const { bucket, clock, formerIds } = this.#options;
    this.#stop();
    // It might write the records again.
    await this.#running;
    while (clock.now() < untilMs) {
      try {
        await bucket.write(removalsOf([...formerIds, this.machine.id]), { timeoutMs: ANSWER_MS_MAX });
        return;
      } catch {
        // Others find out by themselves, only later.
        await pause(clock, RETRY_MS);
      }
    }
  }

  get #heldUntilMs(): number {
    return this.#options.proof.heldUntilMs(this.#renewedMs);
  }

  async #run(): Promise<void> {
    for (;;) {
      // After a time in which the process stood still, this may run before the timer.
      this.check();
      if (this.#isOver) return;
      const startedMs = this.#options.clock.now();
      const isDone = this.#written === undefined ? await this.#create() : await this.#renew(this.#written);
      const delayMs = isDone ? startedMs + RENEW_MS - this.#options.clock.now() : RETRY_MS;
      if (!this.#isOver) await this.#wait(Math.max(0, delayMs));
    }
  }

  async #create(): Promise<boolean> {
    const { id } = this.machine;
    const [machineRevision, lifeRevision] = await this.#attempt((value) => [
      { key: machineKey(id), value, expected: 0 },
      { key: lifeKey(id), value: JSON.stringify({ id }), expected: 0 },
      ...removalsOf(this.#options.formerIds),
    ]);
    if (machineRevision === undefined || lifeRevision === undefined) return false;
    this.#written = { machineRevision, lifeRevision };
    this.#onRenewed(this.#beat);
    return true;
  }

  async #renew({ machineRevision, lifeRevision }: Written): Promise<boolean> {
    const { id } = this.machine;
    const guard = { key: lifeKey(id), revision: lifeRevision };
    const [revision] = await this.#attempt(
      (value) => [{ key: machineKey(id), value, expected: machineRevision }],
      guard,
    );
    if (revision === undefined) return false;
    this.#written = { machineRevision: revision, lifeRevision };
    this.#onRenewed(this.#beat);
    return true;
  }

  /** Resolves with no revisions when it is not known to be written. */
  async #attempt(
    changesWith: (value: string) => readonly BucketChange[],
    guard?: BucketGuard,
  ): Promise<readonly number[]> {
    const { bucket, clock, readLoad, readEndpoint } = this.#options;
    const beat = ++this.#beat;
    this.#sentMs.set(beat, clock.now());
    this.#sentMs.delete(beat - ATTEMPTS_MAX);
    const record = { machine: this.machine, beat, load: readLoad(), endpoint: readEndpoint() };
    const changes = changesWith(writeMachineRecord(record));
    try {
      const revisions = await bucket.write(changes, { guard, timeoutMs: ANSWER_MS_MAX });
      this.#failure = undefined;
      return revisions;
    } catch (error) {
      this.#failure = messageOf(error);
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-fenced") this.#end("declared-dead");
      if (code === "cluster-conflict") await this.#findOut();
      return [];
    }
  }

  /** The record is another one than was expected: an earlier attempt was written without an answer, or others removed it. */
  async #findOut(): Promise<void> {
    const { id } = this.machine;
    const machine = await this.#read(machineKey(id));
    if (machine === "away" || this.#isOver) return;
    if (machine?.value === undefined) {
      this.#end("declared-dead");
      return;
    }
    const lifeRevision = this.#written?.lifeRevision ?? (await this.#readLifeRevision());
    if (lifeRevision === undefined || this.#isOver) return;
    // From a replica that is behind, it is refused again, and looked for again.
    this.#written = { machineRevision: machine.revision, lifeRevision };
    const beat = readMachineRecord(id, machine.value)?.beat;
    // It may be long ago: a lease that has never been held begins with the next renewal.
    if (beat !== undefined && this.#hasBeenHeld) this.#onRenewed(beat);
  }

  async #readLifeRevision(): Promise<number | undefined> {
    const life = await this.#read(lifeKey(this.machine.id));
    return life === "away" || life?.value === undefined ? undefined : life.revision;
  }

  async #read(key: string): Promise<BucketEntry | undefined | "away"> {
    const { bucket, clock } = this.#options;
    try {
      return await Promise.race([bucket.get(key), pause(clock, ANSWER_MS_MAX).then(() => "away" as const)]);
    } catch {
      // The next attempt fails in the same way, and asks again.
      return "away";
    }
  }

  /** The attempt with that number has been written. */
  #onRenewed(beat: number): void {
    const sentMs = this.#sentMs.get(beat);
    if (this.#isOver || sentMs === undefined || sentMs < this.#renewedMs) return;
    this.#renewedMs = sentMs;
    this.#options.proof.renewed(sentMs);
    if (this.#hasBeenHeld) {
      this.onLonger();
      return;
    }
    if (this.#options.clock.now() >= this.#heldUntilMs) return;
    this.#hasBeenHeld = true;
    this.onLonger();
    this.#expireLater();
    this.#options.onHeld();
  }

  #expireLater(): void {
    const { clock } = this.#options;
    this.#expiry = clock.after(Math.max(0, this.#heldUntilMs - clock.now()), () => {
      this.check();
      // It has been renewed since, or NATS is away.
      if (!this.#isOver) this.#expireLater();
    });
  }

  async #wait(delayMs: number): Promise<void> {
    if (this.#isHurried) {
      this.#isHurried = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(delayMs, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = undefined;
  }

  #end(reason: LostReason): void {
    if (this.#isOver) return;
    this.#stop();
    this.#options.onOver(reason);
  }

  #stop(): void {
    this.#isOver = true;
    this.#options.end.end();
    this.#expiry?.cancel();
    this.#wake?.();
  }
}

function removalsOf(ids: readonly string[]): readonly BucketChange[] {
  return ids.flatMap((id) => [lifeKey(id), machineKey(id)].map((key) => ({ key, value: undefined })));
}
