// Notices that files have changed, by looking at them every few seconds: that works where a change is not told, on
// network shares and behind the links that containers' secrets are swapped by. A leaf without domain knowledge.

import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock, Timer } from "./clock.ts";

const INTERVAL_MS = 2000;

/** Which files, and what to do then. */
export interface FileWatchOptions {
  /** Absolute; a file that is not there yet may come. */
  readonly paths: readonly string[];
  readonly clock: Clock;
  /** Called when one of them is another than at the last call, and has been the same for two looks. */
  readonly onChange: () => void;
}

/** Looks from its making on: make it before the files are read. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  /** What `onChange` was last called for. */
  #told: string;
  #seen: string;
  #timer: Timer;

  constructor(options: FileWatchOptions) {
    this.#options = options;
    this.#told = options.paths.map(lookNow).join("\n");
    this.#seen = this.#told;
    this.#timer = this.#schedule();
  }

  /** Looks no more; `onChange` may be called once more for a look that is under way. */
  close(): void {
    this.#timer.cancel();
  }

  #schedule(): Timer {
    return this.#options.clock.after(INTERVAL_MS, () => {
      // Set at once, so that `close` ends it at any time; a look that takes longer than that is overtaken.
      this.#timer = this.#schedule();
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    const looks = await Promise.all(this.#options.paths.map(look));
    const before = this.#seen;
    this.#seen = looks.join("\n");
    if (this.#seen !== before || this.#seen === this.#told) return;
    this.#told = this.#seen;
    this.#options.onChange();
  }
}

function lookNow(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "" : looksOf(stats);
}

async function look(path: string): Promise<string> {
  try {
    return looksOf(await stat(path));
  } catch {
    // Not there, or not ours to see: whoever reads it says so.
    return "";
  }
}

function looksOf({ ino, size, mtimeMs }: { ino: number; size: number; mtimeMs: number }): string {
  return `${ino} ${size} ${mtimeMs}`;
}
