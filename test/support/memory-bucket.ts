// A bucket in memory that several test machines share, with what can go wrong between it and each of them: a cut that is
// noticed or not, servers that are away for all, answers that are lost, and delays. Times are those of a fake clock.

import type {
  Bucket,
  BucketChange,
  BucketEntry,
  BucketGuard,
  BucketWatch,
  WriteOptions,
} from "../../src/cluster/bucket.ts";
import type { LinkStatus, MachineLink } from "../../src/cluster/machine-link.ts";
import { NodeError } from "../../src/errors.ts";
import type { Clock } from "../../src/lib/clock.ts";

const READ_MS_MAX = 3000;

/** What all machines lack while the servers are away for all. */
interface Absence {
  /** Clients stay connected to a server that has no quorum. */
  readonly isConnected: boolean;
  /** Requests that arrive meanwhile are carried out on its end. */
  readonly keepsRequests: boolean;
}

interface Transit {
  /** Of requests, on their way to the servers. */
  readonly requestMs: number;
  readonly answerMs: number;
  /** Of what is watched. Default: as answers, and in order with them. */
  readonly watchMs?: number;
}

/** The servers. */
export class MemoryNats {
  readonly clock: Clock;
  /** Removed ones, too. */
  readonly records = new Map<string, BucketEntry>();
  /** What each record was before its last change. */
  readonly before = new Map<string, BucketEntry>();
  readonly buckets: MemoryBucket[] = [];
  /** After each write, within it. */
  onWritten: (changes: readonly BucketChange[], by: MemoryBucket) => void = () => undefined;
  revision = 0;
  /** Writes fail with "state-full". */
  isFull = false;
  #absence: Absence | undefined;
  #kept: (() => void)[] = [];

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get isAway(): boolean {
    return this.#absence !== undefined;
  }

  /** `clock` is that of the machine. */
  connect(clock = this.clock): MemoryBucket {
    const bucket = new MemoryBucket(this, clock);
    this.buckets.push(bucket);
    return bucket;
  }

  goAway(absence: Absence = { isConnected: false, keepsRequests: false }): void {
    this.#absence = absence;
    if (!absence.isConnected) for (const bucket of this.buckets) bucket.disconnect();
  }

  comeBack(): void {
    this.#absence = undefined;
    for (const apply of this.#kept.splice(0)) apply();
    for (const bucket of this.buckets) if (bucket.status.kind === "disconnected") bucket.connect();
  }

  /** Removed records are forgotten, as after a minute. */
  forgetRemoved(): void {
    for (const [key, { value }] of this.records) if (value === undefined) this.records.delete(key);
  }

  /** The existing value. */
  value(key: string): string | undefined {
    return this.records.get(key)?.value;
  }

  /** A request has arrived. */
  receive(apply: () => void): void {
    if (this.#absence === undefined) apply();
    else if (this.#absence.keepsRequests) this.#kept.push(apply);
  }

  /** @throws NodeError as `Bucket.write` */
  write(changes: readonly BucketChange[], guard: BucketGuard | undefined, by: MemoryBucket): readonly number[] {
    if (guard !== undefined && this.records.get(guard.key)?.revision !== guard.revision) {
      throw new NodeError("cluster-fenced", `no: ${guard.key}`);
    }
    for (const { key, expected } of changes) {
      const record = this.records.get(key);
      const revision = expected === 0 && record?.value === undefined ? 0 : (record?.revision ?? 0);
      if (expected !== undefined && revision !== expected) throw new NodeError("cluster-conflict", `no: ${key}`);
    }
    if (this.isFull) throw new NodeError("state-full", "no: full");
    const storedEpochMs = this.clock.epochMs();
    const entries = changes.map(({ key, value }) => ({ key, value, revision: ++this.revision, storedEpochMs }));
    for (const entry of entries) {
      const before = this.records.get(entry.key);
      if (before !== undefined) this.before.set(entry.key, before);
      this.records.set(entry.key, entry);
    }
    this.onWritten(changes, by);
    for (const bucket of this.buckets) bucket.publish(entries);
    return entries.map(({ revision }) => revision);
  }

  matching(patterns: readonly string[]): readonly BucketEntry[] {
    const isMatch = (key: string): boolean => patterns.some((pattern) => matches(pattern, key));
    return [...this.records.values()].filter(({ key }) => isMatch(key)).toSorted((a, b) => a.revision - b.revision);
  }
}

/** The client of one machine: its bucket, and what it needs of the link. */
export class MemoryBucket implements Bucket, Pick<MachineLink, "status" | "onStatus" | "isQuorumRefused"> {
  readonly #nats: MemoryNats;
  readonly clock: Clock;
  readonly #listeners = new Set<(status: LinkStatus) => void>();
  readonly #watches = new Set<BucketWatch>();
  /** Drawn for each message; those of one direction arrive in order. */
  transit: () => Transit = () => ({ requestMs: 0, answerMs: 0 });
  /** The next answers to writes that do not arrive. */
  answersToLose = 0;
  /** `get` finds each record as it was before its last change. */
  isBehind = false;
  /** What `isQuorumRefused` was asked. */
  questionCount = 0;
  writeCount = 0;
  status: LinkStatus = { kind: "connected", server: "memory:1" };
  #isCut = false;
  #canAsk = true;
  /** Answers to earlier connections do not arrive. */
  #connection = 0;
  #lastRequestMs = 0;
  #lastAnswerMs = 0;
  #lastSaidMs = 0;
  #lastHeardMs = 0;

  constructor(nats: MemoryNats, clock: Clock) {
    this.#nats = nats;
    this.clock = clock;
  }

  /**
   * Nothing reaches the servers, nor comes from them; what is on its way to them arrives. `canAsk`: it can still see
   * whether the servers refuse connections.
   */
  cut({ isNoticed = true, canAsk = false } = {}): void {
    this.#isCut = true;
    this.#canAsk = canAsk;
    this.#connection++;
    if (isNoticed) this.disconnect();
  }

  restore(): void {
    this.#isCut = false;
    this.connect();
  }

  disconnect(): void {
    this.#connection++;
    if (this.status.kind === "connected") {
      this.#setStatus({ kind: "disconnected", reason: "no server answers", sinceEpochMs: this.clock.epochMs() });
    }
  }

  connect(): void {
    if (this.#isCut || (this.#nats.isAway && this.status.kind === "disconnected")) return;
    this.#connection++;
    this.#setStatus({ kind: "connected", server: "memory:1" });
    for (const watch of this.#watches) this.#begin(watch);
  }

  onStatus(listener: (status: LinkStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async isQuorumRefused(): Promise<boolean> {
    this.questionCount++;
    return await this.#ask(() => this.#nats.isAway && (!this.#isCut || this.#canAsk), { isAlwaysReceived: true });
  }

  async write(changes: readonly BucketChange[], { guard, timeoutMs }: WriteOptions): Promise<readonly number[]> {
    this.writeCount++;
    return await this.#within(timeoutMs, () => this.#nats.write(changes, guard, this), { isWrite: true });
  }

  async get(key: string): Promise<BucketEntry | undefined> {
    return await this.#within(READ_MS_MAX, () => {
      const record = this.#nats.records.get(key);
      return this.isBehind ? (this.#nats.before.get(key) ?? record) : record;
    });
  }

  async read(patterns: readonly string[]): Promise<readonly BucketEntry[]> {
    return await this.#within(READ_MS_MAX, () =>
      this.#nats.matching(patterns).filter(({ value }) => value !== undefined),
    );
  }

  async list(patterns: readonly string[], onKey: (key: string) => void): Promise<void> {
    for (const { key } of await this.read(patterns)) onKey(key);
  }

  watch(watch: BucketWatch): () => void {
    this.#watches.add(watch);
    if (this.status.kind === "connected" && !this.#isCut) this.#begin(watch);
    return () => this.#watches.delete(watch);
  }

  /** What is sent by way of the servers arrives there after some time, in order, unless there is no way to them. */
  say(arrive: () => void): void {
    if (this.#isCut) return;
    const now = this.#nats.clock.now();
    this.#lastSaidMs = Math.max(this.#lastSaidMs, now + this.transit().requestMs);
    this.#after(this.#lastSaidMs - now, arrive, this.#nats.clock);
  }

  /** What the servers pass on arrives here after some time, in order, unless there is no way from them. */
  hear(arrive: () => void): void {
    if (this.#isCut || this.#nats.isAway) return;
    const now = this.clock.now();
    this.#lastHeardMs = Math.max(this.#lastHeardMs, now + this.transit().answerMs);
    this.#after(this.#lastHeardMs - now, arrive);
  }

  /** Of the servers: records have changed. */
  publish(entries: readonly BucketEntry[]): void {
    for (const watch of this.#watches) {
      const changed = entries.filter(({ key }) => watch.patterns.some((pattern) => matches(pattern, key)));
      if (changed.length > 0) this.#deliver(watch, () => changed.forEach(watch.onEntry));
    }
  }

  #begin(watch: BucketWatch): void {
    const entries = this.#nats.matching(watch.patterns);
    this.#deliver(watch, () => {
      entries.forEach(watch.onEntry);
      watch.onCaughtUp();
    });
  }

  #deliver(watch: BucketWatch, deliver: () => void): void {
    const arrive = (): void => {
      if (this.#watches.has(watch)) deliver();
    };
    const { watchMs } = this.transit();
    if (watchMs === undefined) this.#answer(arrive);
    else if (!this.#isCut) this.#after(watchMs, arrive);
  }

  #setStatus(status: LinkStatus): void {
    this.status = status;
    for (const listener of this.#listeners) listener(status);
  }

  async #within<T>(timeoutMs: number, apply: () => T, { isWrite = false } = {}): Promise<T> {
    if (this.status.kind === "disconnected") throw new NodeError("cluster-away", this.status.reason);
    return await new Promise<T>((resolve, reject) => {
      const timer = this.clock.after(timeoutMs, () => reject(new NodeError("cluster-away", "no answer")));
      const request = async (): Promise<void> => {
        try {
          resolve(await this.#ask(apply, { isWrite }));
        } catch (error) {
          reject(error);
        }
        timer.cancel();
      };
      void request();
    });
  }

  /** Settles when the answer arrives; never, when something is lost. */
  #ask<T>(apply: () => T, { isWrite = false, isAlwaysReceived = false } = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isCut && !isAlwaysReceived) return;
      const carryOut = (): void => {
        const outcome = outcomeOf(apply);
        if (isWrite && this.answersToLose > 0) this.answersToLose--;
        else if (isAlwaysReceived) this.#after(this.transit().answerMs, () => settle(outcome, resolve, reject));
        else this.#answer(() => settle(outcome, resolve, reject));
      };
      const now = this.clock.now();
      this.#lastRequestMs = Math.max(this.#lastRequestMs, now + this.transit().requestMs);
      const arrive = (): void => (isAlwaysReceived ? carryOut() : this.#nats.receive(carryOut));
      if (this.#lastRequestMs <= now) arrive();
      // The machine may stand still meanwhile; the request does not.
      else this.#nats.clock.after(this.#lastRequestMs - now, arrive);
    });
  }

  #answer(arrive: () => void): void {
    if (this.#isCut) return;
    const connection = this.#connection;
    const now = this.clock.now();
    this.#lastAnswerMs = Math.max(this.#lastAnswerMs, now + this.transit().answerMs);
    this.#after(this.#lastAnswerMs - now, () => {
      if (connection === this.#connection) arrive();
    });
  }

  #after(delayMs: number, arrive: () => void, clock = this.clock): void {
    if (delayMs <= 0) void Promise.resolve().then(arrive);
    else clock.after(delayMs, arrive);
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

function outcomeOf<T>(apply: () => T): Outcome<T> {
  try {
    return { value: apply() };
  } catch (error) {
    return { error };
  }
}

function settle<T>(outcome: Outcome<T>, resolve: (value: T) => void, reject: (error: unknown) => void): void {
  if ("error" in outcome) reject(outcome.error);
  else resolve(outcome.value);
}

function matches(pattern: string, key: string): boolean {
  const parts = pattern.split("/");
  const keyParts = key.split("/");
  const isOpen = parts.at(-1) === ">";
  if (isOpen ? keyParts.length < parts.length : keyParts.length !== parts.length) return false;
  return parts.every((part, index) => part === "*" || part === ">" || part === keyParts[index]);
}
