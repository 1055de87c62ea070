// Connects the caches of a plugin that outlast its thread to the main thread, which stores their values: sends new values,
// hands out those that an earlier thread or another machine has left, and what other machines find out. Plugin thread.

import type { Learnt, PersistedValue, PluginEvent } from "../../../bridge/plugin-messages.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { CacheOptions } from "../../../plugin-api/plugin.ts";
import type { CacheListener, CachePersistence } from "./memory-cache.ts";

interface PersistedCachesOptions {
  /** The values that the previous thread has left. */
  readonly values: readonly PersistedValue[];
  /** As in GivenOptions. */
  readonly shared?: { readonly scope: string; readonly values: readonly PersistedValue[] } | undefined;
  readonly clock: Clock;
  readonly send: (event: Extract<PluginEvent, { readonly type: "persist" | "forget" }>) => void;
}

/** One for each life of a plugin. */
export class PersistedCaches {
  readonly #options: PersistedCachesOptions;
  /** Of other machines, by cache and key: also for caches that are created later. */
  readonly #shared: Map<string, PersistedValue>;
  readonly #listeners = new Map<string, CacheListener>();

  constructor(options: PersistedCachesOptions) {
    this.#options = options;
    this.#shared = new Map((options.shared?.values ?? []).map((value) => [idOf(value), value]));
  }

  /**
   * The persistence of the cache of that name; undefined: nobody is to be told of its values. Its `persist` throws a
   * TypeError if a value is not JSON.
   */
  persistenceOf(
    cache: string,
    { persist = false, isPortable = false }: Pick<CacheOptions, "persist" | "isPortable">,
  ): CachePersistence | undefined {
    const { values, shared, clock, send } = this.#options;
    const isPersisted = persist !== false;
    const isLarge = persist === "large";
    const scope = isPortable ? shared?.scope : undefined;
    if (!isPersisted && scope === undefined) return undefined;
    const left = isPersisted ? values : [];
    const portable = scope === undefined ? undefined : { scope, isPersisted };
    const own = [...left, ...(portable === undefined ? [] : this.#shared.values())].filter(
      (value) => value.cache === cache,
    );
    return {
      left: own.map(({ key, json, untilMs }) => {
        return { key, value: JSON.parse(json) as unknown, ttlMs: untilMs - clock.epochMs() };
      }),
      persist: (key, value, ttlMs) => {
        const json = textOf(value);
        if (json === undefined) throw new TypeError(`the cache ${cache} is persisted, so its values must be JSON`);
        const persisted = { cache, key, json, untilMs: clock.epochMs() + ttlMs, ...(isLarge && { isLarge }) };
        send({ type: "persist", value: persisted, ...(portable && { portable }) });
      },
      forget: (key, deleted) => {
        const json = deleted === undefined ? undefined : textOf(deleted.value);
        const refused = scope === undefined || json === undefined ? undefined : { scope, json };
        send({ type: "forget", cache, key, ...(refused && { refused }) });
      },
      listen: portable && ((listener) => this.#listeners.set(cache, listener)),
    };
  }

  /** Another machine has found something out. What is for a plugin with other options is ignored. */
  learn(learnt: Learnt): void {
    const { shared, clock } = this.#options;
    if (learnt.scope !== shared?.scope) return;
    if (learnt.kind === "value") {
      const { value } = learnt;
      this.#shared.set(idOf(value), value);
      this.#listeners.get(value.cache)?.put(value.key, JSON.parse(value.json), value.untilMs - clock.epochMs());
      return;
    }
    const { cache, key, json } = learnt;
    if (this.#shared.get(idOf(learnt))?.json === json) this.#shared.delete(idOf(learnt));
    this.#listeners.get(cache)?.remove(key, (value) => textOf(value) === json);
  }
}

function idOf({ cache, key }: Pick<PersistedValue, "cache" | "key">): string {
  return JSON.stringify([cache, key]);
}

/** Undefined for functions and the like. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(value);
}
