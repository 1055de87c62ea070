// What caches of a plugin pass on to outlast its thread, and what an earlier thread has left to them: the main thread
// keeps it. Plugin thread; one for each life of a plugin.

import type { KeptValue, PluginEvent } from "../../bridge/plugin-messages.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CacheKeeper } from "./memory-cache.ts";

export interface KeptCachesOptions {
  /** What the thread before has left. */
  readonly values: readonly KeptValue[];
  readonly clock: Clock;
  readonly send: (event: Extract<PluginEvent, { readonly type: "keep" | "forget" }>) => void;
}

/** One for each life of a plugin. */
export class KeptCaches {
  readonly #options: KeptCachesOptions;

  constructor(options: KeptCachesOptions) {
    this.#options = options;
  }

  /** For the cache of that name. What it is given to keep has to be JSON; its `keep` throws where it is not. */
  keeperOf(cache: string): CacheKeeper {
    const { values, clock, send } = this.#options;
    const own = values.filter((value) => value.cache === cache);
    return {
      left: own.map(({ key, json, untilMs }) => {
        return { key, value: JSON.parse(json) as unknown, ttlMs: untilMs - clock.epochMs() };
      }),
      keep: (key, value, ttlMs) => {
        // Functions and the like have no text.
        const json: string | undefined = JSON.stringify(value);
        if (json === undefined) throw new TypeError(`the cache ${cache} is kept, so that its values have to be JSON`);
        send({ type: "keep", value: { cache, key, json, untilMs: clock.epochMs() + ttlMs } });
      },
      forget: (key) => send({ type: "forget", cache, key }),
    };
  }
}
