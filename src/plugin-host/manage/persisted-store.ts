// The persisted values of all plugins, by plugin name. Main thread; one for the node.

import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { PersistedFile } from "./persisted-file.ts";
import { PersistedValues } from "./persisted-values.ts";

/** Names of plugins that are safe as file names. */
const NAME = /^[a-z][a-z0-9-]{0,39}$/;

interface PersistedStoreOptions {
  /** Absolute path; undefined: values are persisted in memory only. */
  readonly folder: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PersistedStore {
  readonly #options: PersistedStoreOptions;
  readonly #byName = new Map<string, { readonly values: PersistedValues; readonly read: Promise<void> }>();

  constructor(options: PersistedStoreOptions) {
    this.#options = options;
  }

  /** Undefined before `open`. */
  get(name: string): PersistedValues | undefined {
    return this.#byName.get(name)?.values;
  }

  /** Creates the values of a plugin, with those in its file. Never rejects. */
  async open(name: string): Promise<PersistedValues> {
    const known = this.#byName.get(name) ?? this.#create(name);
    await known.read;
    return known.values;
  }

  /** Writes pending values. */
  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map(({ values }) => values.close()));
  }

  #create(name: string): { readonly values: PersistedValues; readonly read: Promise<void> } {
    const { folder, clock, logger } = this.#options;
    const isOnDisk = folder !== undefined && NAME.test(name);
    const file = isOnDisk ? new PersistedFile({ path: join(folder, `${name}.json`), clock, logger }) : undefined;
    const values = new PersistedValues({ name, file, clock, logger });
    const created = { values, read: values.read() };
    this.#byName.set(name, created);
    return created;
  }
}
