// The last id of this machine, in a folder that only one process can have open: the process that can open it knows that
// the one with that id has ended, whose sessions need not wait for its lease to run out. Main thread; at the start and
// with each new id.

import { join } from "node:path";
import type { NodeConfig } from "../../config/node-config.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Logger, silentLogger } from "../../log/log.ts";
import { openStateStore } from "../../state/open-state.ts";
import type { StateStore } from "../../state/state-store.ts";

/** Beside what a node without a cluster has stored, which stays. */
const FOLDER = "machine";
const KEY = "machine";

interface FormerLifeOptions {
  readonly settings: NodeConfig["state"];
  readonly clock: Clock;
  readonly logger: Logger;
}

export class FormerLife {
  /** Nothing is done any more under these ids. */
  readonly ids: readonly string[];
  readonly #store: StateStore | undefined;
  readonly #logger: Logger;
  #writing: Promise<void> = Promise.resolve();

  private constructor(store: StateStore | undefined, ids: readonly string[], logger: Logger) {
    this.#store = store;
    this.ids = ids;
    this.#logger = logger;
  }

  /**
   * A folder that cannot be used costs only time after a crash.
   * @throws NodeError "state-in-use" when another process has it
   */
  static async open({ settings, clock, logger }: FormerLifeOptions): Promise<FormerLife> {
    const path = join(settings.path, FOLDER);
    const opened = await openStateStore({ path, key: settings.key, clock, logger: silentLogger });
    if (opened.kind === "off") {
      logger.warn(
        `cluster: ${opened.reason}; after a crash the sessions of this machine wait for its lease to run out. ` +
          "Set tonearm.state.path to a folder that the node may write to",
        { path },
      );
      return new FormerLife(undefined, [], logger);
    }
    const { store } = opened;
    try {
      const records = await store.readAll();
      const ids = records.filter(({ key }) => key === KEY).map(({ value }) => value);
      return new FormerLife(store, ids, logger);
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return new FormerLife(store, [], logger);
    }
  }

  /** This process does what it does under that id from now on; undefined: under none. */
  remember(id: string | undefined): void {
    this.#writing = this.#writing.then(() => this.#write(id));
  }

  /** Never rejects. */
  async close(): Promise<void> {
    await this.#store?.close();
  }

  async #write(id: string | undefined): Promise<void> {
    try {
      await this.#store?.write([{ key: KEY, value: id }]);
    } catch (error) {
      this.#logger.debug("cluster: the id of this machine could not be stored", { error });
    }
  }
}
