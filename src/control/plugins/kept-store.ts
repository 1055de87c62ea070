// What all plugins keep, each under its name. Main thread; one for the node.

import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import { KeptFile } from "./kept-file.ts";
import { KeptValues } from "./kept-values.ts";

/** What is a plugin's name is one of a file as well, and leads nowhere else. */
const NAME = /^[a-z][a-z0-9-]{0,39}$/;

export interface KeptStoreOptions {
  /** Absolute; undefined: memory is all there is. */
  readonly folder: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class KeptStore {
  readonly #options: KeptStoreOptions;
  readonly #byName = new Map<string, { readonly values: KeptValues; readonly read: Promise<void> }>();

  constructor(options: KeptStoreOptions) {
    this.#options = options;
  }

  /** As far as it is known. */
  get(name: string): KeptValues | undefined {
    return this.#byName.get(name)?.values;
  }

  /** With what the file of that plugin holds. Never rejects. */
  async open(name: string): Promise<KeptValues> {
    const known = this.#byName.get(name) ?? this.#create(name);
    await known.read;
    return known.values;
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map(({ values }) => values.close()));
  }

  #create(name: string): { readonly values: KeptValues; readonly read: Promise<void> } {
    const { folder, clock, logger } = this.#options;
    const isOnDisk = folder !== undefined && NAME.test(name);
    const file = isOnDisk ? new KeptFile({ path: join(folder, `${name}.json`), clock, logger }) : undefined;
    const values = new KeptValues({ name, file, clock, logger });
    const created = { values, read: values.read() };
    this.#byName.set(name, created);
    return created;
  }
}
