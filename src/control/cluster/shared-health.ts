// Which backends of sources are refused on which machines: each writes the names of its open circuit breakers, and says in
// its log whether the site refuses all machines or this one alone, whose address is then to blame. No breaker opens
// for what happens elsewhere. Main thread; one for the node.

import { z } from "zod";
import type { Bucket, BucketEntry } from "../../cluster/bucket.ts";
import type { Membership } from "../../cluster/membership.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { SourceJson } from "../protocol/sources-json.ts";
import { readJson } from "./read-json.ts";

const CHECK_MS = 10_000;
const RENEW_MS = 30_000;
const RECORD_MS = 90_000;
/** Others have found out by then, and so has this machine what they have. */
const JUDGED_AFTER_MS = 20_000;
const WRITE_TIMEOUT_MS = 3000;
const BACKENDS_MAX = 64;
const NAME_LENGTH_MAX = 200;
const MACHINES_MAX = 1000;

const healthRecord = z.looseObject({ open: z.array(z.string().max(NAME_LENGTH_MAX)).max(BACKENDS_MAX) });

interface SharedHealthOptions {
  readonly bucket: Pick<Bucket, "write" | "watch">;
  readonly membership: Pick<Membership, "self" | "guard" | "machines" | "onFenced">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `plugin/backend` of each whose circuit breaker is not closed. */
export function openBackends(sources: readonly Pick<SourceJson, "plugin" | "backends">[]): readonly string[] {
  const open = sources.flatMap(({ plugin, backends }) =>
    backends.filter(({ state }) => state !== "closed").map(({ name }) => `${plugin}/${name}`),
  );
  return [...new Set(open)].toSorted();
}

export class SharedHealth {
  readonly #options: SharedHealthOptions;
  /** Names of open breakers by machine id. */
  readonly #open = new Map<string, ReadonlySet<string>>();
  /** Since when each is open here; undefined: the log has it. */
  readonly #sinceMs = new Map<string, number | undefined>();
  #written = { text: "[]", atMs: Number.NEGATIVE_INFINITY };
  #timer: Timer | undefined;
  #stopWatching: (() => void) | undefined;

  constructor(options: SharedHealthOptions) {
    this.#options = options;
  }

  /** `readOpen`: the names of the breakers that are open here now. */
  start(readOpen: () => readonly string[]): void {
    this.#stopWatching = this.#options.bucket.watch({
      patterns: ["health/*"],
      onEntry: (entry) => this.#onEntry(entry),
      onCaughtUp: () => undefined,
    });
    this.#checkLater(readOpen);
  }

  close(): void {
    this.#timer?.cancel();
    this.#stopWatching?.();
  }

  #checkLater(readOpen: () => readonly string[]): void {
    this.#timer = this.#options.clock.after(CHECK_MS, () => {
      const open = readOpen()
        .filter(({ length }) => length <= NAME_LENGTH_MAX)
        .slice(0, BACKENDS_MAX);
      this.#judge(open);
      void this.#tell(open);
      this.#checkLater(readOpen);
    });
  }

  #onEntry({ key, value }: BucketEntry): void {
    const id = key.slice("health/".length);
    const { open = [] } = healthRecord.safeParse(value === undefined ? undefined : readJson(value)).data ?? {};
    this.#open.delete(id);
    if (open.length > 0 && this.#open.size < MACHINES_MAX) this.#open.set(id, new Set(open));
  }

  #judge(open: readonly string[]): void {
    const { clock, logger, membership } = this.#options;
    const { self, machines } = membership;
    for (const backend of this.#sinceMs.keys()) if (!open.includes(backend)) this.#sinceMs.delete(backend);
    const others = machines.filter(({ id }) => id !== self?.id);
    if (self === undefined || others.length === 0) return;
    for (const backend of open) {
      if (!this.#sinceMs.has(backend)) this.#sinceMs.set(backend, clock.now());
      const sinceMs = this.#sinceMs.get(backend);
      if (sinceMs === undefined || clock.now() - sinceMs < JUDGED_AFTER_MS) continue;
      this.#sinceMs.set(backend, undefined);
      const names = others.filter(({ id }) => this.#open.get(id)?.has(backend)).map(({ name }) => name);
      if (names.length === 0) {
        logger.warn(`${backend} fails on this machine only: its site may refuse this machine's address`);
      } else if (names.length === others.length) {
        logger.warn(`${backend} fails on all machines: it is not the address of one`, { machines: names });
      } else logger.warn(`${backend} fails on other machines, too`, { machines: names });
    }
  }

  /** Never rejects. What is not written now is, at the next check. */
  async #tell(open: readonly string[]): Promise<void> {
    const { bucket, membership, clock } = this.#options;
    const { guard, self } = membership;
    const text = JSON.stringify(open);
    const isOld = open.length > 0 && clock.now() - this.#written.atMs >= RENEW_MS;
    if (guard === undefined || self === undefined || (text === this.#written.text && !isOld)) return;
    const change = { key: `health/${self.id}`, value: JSON.stringify({ open }), ttlMs: RECORD_MS };
    try {
      await bucket.write([change], { guard, timeoutMs: WRITE_TIMEOUT_MS });
      this.#written = { text, atMs: clock.now() };
    } catch {
      // As documented.
    }
  }
}
