// Detects changes of a plugin's module on disk, if the operator wants plugins reloaded then
// (`tonearm.pluginReloadOnChange`). Main thread.

import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";

/** A file is written in several steps, or replaced by another. */
const SETTLED_MS = 300;

interface ModuleWatchOptions {
  /** A file URL. Its folder is watched: files are replaced as often as written. */
  readonly module: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once for each change, when it has settled. */
  readonly onChange: () => void;
}

export class ModuleWatch {
  readonly #watcher: FSWatcher | undefined;
  #timer: Timer | undefined;

  constructor({ module, clock, logger, onChange }: ModuleWatchOptions) {
    const path = fileURLToPath(module);
    try {
      this.#watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
        if (name !== null && name !== basename(path)) return;
        this.#timer?.cancel();
        this.#timer = clock.after(SETTLED_MS, onChange);
      });
      this.#watcher.on("error", (error) =>
        logger.warn("watching a plugin's folder failed: the plugin is no longer reloaded when it changes", { error }),
      );
    } catch (error) {
      logger.warn("a plugin's folder cannot be watched: the plugin will not be reloaded when it changes", { error });
    }
  }

  close(): void {
    this.#timer?.cancel();
    this.#watcher?.close();
  }
}
