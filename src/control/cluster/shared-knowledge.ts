// What plugins have found out that is right on every machine of the cluster, such as a client id that a site gives to
// everybody: a value that one machine gets serves all, one that a site refuses is dropped by all. It is kept in memory, so
// that reading costs nothing and goes on without NATS; writes are few, or stay on this machine. A machine whose requests a
// site refuses whatever it sends can take a value from the others four times, then once in ten minutes. Main thread; one
// for the node, between the plugins and the bucket.

import { createHmac } from "node:crypto";
import type { Learnt, PersistedValue, Portable } from "../../bridge/plugin-messages.ts";
import type { Bucket, BucketEntry } from "../../cluster/bucket.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Logger } from "../../log/log.ts";
import type { SharedValues } from "../../plugin-host/manage/plugin-values.ts";
import { VERSION } from "../../version.ts";
import { digestOf, readShared, type SharedRecord, sizeOf, VALUE_BYTES_MAX } from "./shared-record.ts";

const VALUES_OF_PLUGIN_MAX = 32;
const VALUES_MAX = 256;
/** Also of values without an end: machines use theirs on, but new ones do not get it. */
const LIFE_MS_MAX = 30 * 24 * 60 * 60_000;
/** A shorter rest is not worth a message. */
const LIFE_MS_MIN = 5000;
/** A machine that is away for longer finds out itself. */
const REFUSED_MS = 60 * 60_000;
/** Writes of one plugin, and of one of its values. */
const OF_PLUGIN = { burst: 8, perSecond: 1 / 10 };
const OF_VALUE = { burst: 4, perSecond: 1 / 600 };
const WRITE_TIMEOUT_MS = 3000;
const RETRY_MS = 5000;
/** The same value is written again once its record lasts for less than this part of its life. */
const RENEW_SHARE = 0.5;

interface SharedKnowledgeOptions {
  readonly bucket: Pick<Bucket, "write" | "watch">;
  readonly membership: Pick<Membership, "self" | "guard" | "onFenced" | "clockOffsetMs">;
  /** 32 secret bytes that all machines have, from which names are made that say nothing. */
  readonly nameKey: Uint8Array;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface KnownValue extends Portable {
  readonly cache: string;
  readonly key: string;
  readonly json: string;
  /** Unix epoch milliseconds. */
  readonly untilMs: number;
  /** `untilMs` is by the clock of the NATS servers, which may not be known yet; else by that of this machine. */
  readonly isServersTime: boolean;
}

/** One record, as far as it is known. */
interface Known {
  readonly plugin: string;
  /** Of its last change that was seen; 0: none. */
  revision: number;
  value: KnownValue | undefined;
  readonly writes: TokenBucket;
}

/** A change that waits to be written. */
interface Pending {
  readonly recordKey: string;
  /** Made when it is written: the times and the machine are known then. */
  readonly make: (written: { readonly by: string; readonly untilEpochMs: number }) => SharedRecord;
  readonly expected: number | undefined;
  /** By the clock of this machine. */
  readonly untilMs: number;
}

export class SharedKnowledge implements SharedValues {
  readonly #options: SharedKnowledgeOptions;
  /** By the key of the record; the one that changed last is the last. */
  readonly #known = new Map<string, Known>();
  readonly #pending = new Map<string, Pending>();
  readonly #writesOf = new Map<string, TokenBucket>();
  readonly #over = new AbortController();
  readonly #warned = new Set<string>();
  #isWriting = false;
  #stopWatching: (() => void) | undefined;
  /** Another machine has found something out about a value of that plugin. */
  onLearnt = (_plugin: string, _learnt: Learnt): void => undefined;

  constructor(options: SharedKnowledgeOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopWatching = this.#options.bucket.watch({
      patterns: ["shared/*/*"],
      onEntry: (entry) => this.#onEntry(entry),
      onCaughtUp: () => undefined,
    });
  }

  close(): void {
    this.#stopWatching?.();
    this.#over.abort();
    this.#pending.clear();
  }

  /** Machines share values of a plugin under the same scope only: its options and the version of the node are the same. */
  scopeOf(plugin: string, ...options: readonly unknown[]): string {
    return this.#nameOf(VERSION, plugin, JSON.stringify(options, inOrder));
  }

  /** What is known for a plugin under that scope, the oldest first. */
  valuesOf(plugin: string, scope: string): readonly PersistedValue[] {
    const nowMs = this.#options.clock.epochMs();
    return [...this.#known.values()]
      .filter((known) => known.plugin === plugin && known.value?.scope === scope)
      .flatMap(({ value }) => (value === undefined ? [] : [this.#persisted(value)]))
      .filter(({ untilMs }) => untilMs > nowMs);
  }

  /** A plugin of this machine has a new value. */
  set(plugin: string, { scope, isPersisted }: Portable, value: PersistedValue): void {
    const nowMs = this.#options.clock.epochMs();
    const { cache, key, json } = value;
    const lifeMs = Math.min(value.untilMs - nowMs, LIFE_MS_MAX);
    if (sizeOf(value) > VALUE_BYTES_MAX || lifeMs < LIFE_MS_MIN) return;
    const recordKey = this.#keyOf(plugin, scope, value);
    const known = this.#make(recordKey, plugin);
    if (known === undefined) return;
    const before = known.value;
    const restMs = before === undefined ? 0 : this.#untilMs(before) - nowMs;
    if (before?.json === json && known.revision > 0 && restMs > lifeMs * RENEW_SHARE) return;
    const untilMs = nowMs + lifeMs;
    known.value = { scope, isPersisted, cache, key, json, untilMs, isServersTime: false };
    this.#write(known, {
      make: (written) => ({ kind: "value", scope, isPersisted, cache, key, json, ...written }),
      ...{ recordKey, expected: undefined, untilMs },
    });
  }

  /** A plugin of this machine has deleted a value, as its site refuses it. */
  refuse(plugin: string, scope: string, { cache, key, json }: Record<"cache" | "key" | "json", string>): void {
    const recordKey = this.#keyOf(plugin, scope, { cache, key });
    const known = this.#known.get(recordKey);
    if (known?.value?.json !== json) return;
    known.value = undefined;
    const wasPending = this.#pending.delete(recordKey);
    if (known.revision === 0 && !wasPending) return;
    const digest = digestOf(json);
    this.#write(known, {
      make: ({ by }) => ({ kind: "refused", scope, cache, key, by, digest }),
      // A newer value of another machine stays. One that may be on its way from here does not.
      expected: wasPending ? undefined : known.revision,
      ...{ recordKey, untilMs: this.#options.clock.epochMs() + REFUSED_MS },
    });
  }

  // Records of all machines

  #onEntry({ key: recordKey, value: text, revision }: BucketEntry): void {
    const known = this.#known.get(recordKey);
    if (known !== undefined && known.revision > revision) return;
    const record = text === undefined ? undefined : readShared(text);
    if (record === undefined) {
      // Its time is over, or the bucket is another one: that says nothing about the value.
      if (known !== undefined) known.revision = 0;
      return;
    }
    const [, plugin = ""] = recordKey.split("/");
    const entry = known ?? this.#make(recordKey, plugin);
    if (entry === undefined || entry.revision === revision) return;
    entry.revision = revision;
    // What was written here before is older than what waits.
    if (this.#pending.has(recordKey) && record.by === this.#options.membership.self?.id) return;
    if (record.kind === "value") this.#onValue(recordKey, entry, record);
    else this.#onRefused(recordKey, entry, record);
  }

  #onValue(recordKey: string, entry: Known, record: Extract<SharedRecord, { kind: "value" }>): void {
    const { scope, isPersisted, cache, key, json, untilEpochMs: untilMs } = record;
    const before = entry.value;
    const value = { scope, isPersisted, cache, key, json, untilMs, isServersTime: true };
    this.#pending.delete(recordKey);
    this.#known.delete(recordKey);
    this.#known.set(recordKey, entry);
    entry.value = value;
    const isKnown = before?.json === json && this.#untilMs(value) - this.#untilMs(before) < LIFE_MS_MIN;
    if (isKnown || this.#untilMs(value) <= this.#options.clock.epochMs()) return;
    this.onLearnt(entry.plugin, { kind: "value", scope, isPersisted, value: this.#persisted(value) });
  }

  #onRefused(recordKey: string, entry: Known, record: Extract<SharedRecord, { kind: "refused" }>): void {
    const { scope, cache, key, digest } = record;
    const json = entry.value?.json;
    if (json === undefined || digestOf(json) !== digest) return;
    this.#pending.delete(recordKey);
    entry.value = undefined;
    this.onLearnt(entry.plugin, { kind: "refused", scope, cache, key, json });
  }

  /** By the clock of this machine. */
  #untilMs({ untilMs, isServersTime }: KnownValue): number {
    return isServersTime ? untilMs - this.#options.membership.clockOffsetMs : untilMs;
  }

  #persisted(value: KnownValue): PersistedValue {
    const { cache, key, json } = value;
    return { cache, key, json, untilMs: this.#untilMs(value) };
  }

  // What is written

  #write(known: Known, pending: Pending): void {
    const { clock, logger } = this.#options;
    const { plugin } = known;
    const ofPlugin = this.#writesOf.get(plugin) ?? new TokenBucket({ clock, ...OF_PLUGIN });
    this.#writesOf.set(plugin, ofPlugin);
    if (known.writes.take(1) && ofPlugin.take(1)) {
      this.#pending.set(pending.recordKey, pending);
      void this.#writePending();
      return;
    }
    this.#pending.delete(pending.recordKey);
    if (this.#warned.has(plugin)) return;
    this.#warned.add(plugin);
    const message =
      "values of a plugin change too often to be shared with the cluster: its site may refuse this machine's address";
    logger.warn(message, { plugin });
  }

  /** One after the other. Never rejects. */
  async #writePending(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    for (let [pending] = this.#pending.values(); pending !== undefined; [pending] = this.#pending.values()) {
      const isDone = await this.#isWritten(pending);
      if (isDone && this.#pending.get(pending.recordKey) === pending) this.#pending.delete(pending.recordKey);
      if (!isDone) await pause(this.#options.clock, RETRY_MS, this.#over.signal);
    }
    this.#isWriting = false;
  }

  /** False: it is to be tried again. */
  async #isWritten({ recordKey: key, make, expected, untilMs }: Pending): Promise<boolean> {
    const { bucket, membership, clock, logger } = this.#options;
    const { guard, self, clockOffsetMs } = membership;
    if (guard === undefined || self === undefined) return false;
    const ttlMs = untilMs - clock.epochMs();
    if (ttlMs < LIFE_MS_MIN) return true;
    const value = JSON.stringify(make({ by: self.id, untilEpochMs: untilMs + clockOffsetMs }));
    try {
      await bucket.write([{ key, value, expected, ttlMs }], { guard, timeoutMs: WRITE_TIMEOUT_MS });
      return true;
    } catch (error) {
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-fenced") membership.onFenced(guard);
      if (code === "cluster-away" || code === "cluster-fenced") return false;
      // Another machine was quicker, or there is no room: the value serves this machine.
      logger.debug("value of a plugin could not be shared", { error });
      return true;
    }
  }

  /** Undefined: there are too many. */
  #make(recordKey: string, plugin: string): Known | undefined {
    const existing = this.#known.get(recordKey);
    if (existing !== undefined) return existing;
    const { clock } = this.#options;
    if (!this.#hasRoomFor(plugin)) this.#forgetUseless();
    if (!this.#hasRoomFor(plugin)) return undefined;
    const known: Known = { plugin, revision: 0, value: undefined, writes: new TokenBucket({ clock, ...OF_VALUE }) };
    this.#known.set(recordKey, known);
    return known;
  }

  #hasRoomFor(plugin: string): boolean {
    const count = [...this.#known.values()].filter((known) => known.plugin === plugin).length;
    return count < VALUES_OF_PLUGIN_MAX && this.#known.size < VALUES_MAX;
  }

  #forgetUseless(): void {
    const nowMs = this.#options.clock.epochMs();
    for (const [recordKey, { value }] of this.#known) {
      if (value === undefined || this.#untilMs(value) <= nowMs) this.#known.delete(recordKey);
    }
  }

  #keyOf(plugin: string, scope: string, { cache, key }: Pick<PersistedValue, "cache" | "key">): string {
    return `shared/${plugin}/${this.#nameOf(scope, cache, key)}`;
  }

  /** The names of records are not sealed, and the keys of a cache may be secrets. */
  #nameOf(...parts: readonly string[]): string {
    return createHmac("sha256", this.#options.nameKey).update(JSON.stringify(parts)).digest("base64url").slice(0, 32);
  }
}

/** Members in the order of their names: files may have them in any. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
