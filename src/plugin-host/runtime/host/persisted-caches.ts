// Connects the persisted caches of a plugin to the main thread, which stores their values: sends new values, and hands
// out those that an earlier thread has stored. Plugin thread.

import type { PersistedValue, PluginEvent } from "../../../bridge/plugin-messages.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { CachePersistence } from "./memory-cache.ts";

interface PersistedCachesOptions {
  /** The values that the previous thread has left. */
  readonly values: readonly PersistedValue[];
  readonly clock: Clock;
  readonly send: (event: Extract<PluginEvent, { readonly type: "persist" | "forget" }>) => void;
}

/** One for each life of a plugin. */
export class PersistedCaches {
  readonly #options: PersistedCachesOptions;

  constructor(options: PersistedCachesOptions) {
    this.#options = options;
  }

  /** The persistence of the cache of that name. Its `persist` throws a TypeError if a value is not JSON. */
  persistenceOf(cache: string, { isLarge } = { isLarge: false }): CachePersistence {
    const { values, clock, send } = this.#options;
    const own = values.filter((value) => value.cache === cache);
    return {
      left: own.map(({ key, json, untilMs }) => {
        return { key, value: JSON.parse(json) as unknown, ttlMs: untilMs - clock.epochMs() };
      }),
      persist: (key, value, ttlMs) => {
        // Functions and the like have no text.
        const json: string | undefined = JSON.stringify(value);
        if (json === undefined) throw new TypeError(`the cache ${cache} is persisted, so its values must be JSON`);
        send({
          type: "persist",
          value: { cache, key, json, untilMs: clock.epochMs() + ttlMs, ...(isLarge && { isLarge }) },
        });
      },
      forget: (key) => send({ type: "forget", cache, key }),
    };
  }
}
