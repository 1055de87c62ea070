// Notices that files have changed, by looking at them every few seconds: that works where a change is not told, on
// network shares and behind the links that containers' secrets are swapped by. A leaf without domain knowledge.

import { type Stats, statSync } from "node:fs";
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
  /** Another way to look at a file: for tests. */
  readonly stat?: (path: string) => Promise<Stats>;
}

/** Looks from its making on: make it before the files are read. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  /** What `onChange` was last called for. */
  #reported: string;
  #seen: string;
  #isChecking = false;
  #timer: Timer;

  constructor(options: FileWatchOptions) {
    this.#options = options;
    this.#reported = options.paths.map(readFingerprint).join("\n");
    this.#seen = this.#reported;
    this.#timer = this.#schedule();
  }

  /** Looks no more; `onChange` may be called once more for a look that is under way. */
  close(): void {
    this.#timer.cancel();
  }

  #schedule(): Timer {
    return this.#options.clock.after(INTERVAL_MS, () => {
      // Set at once, so that `close` ends it at any time.
      this.#timer = this.#schedule();
      if (!this.#isChecking) void this.#check();
    });
  }

  /**
   * One file after the other: a network share that is gone holds each look for as long as it likes, on one of the four
   * threads that all of the process has for files and names.
   */
  async #check(): Promise<void> {
    this.#isChecking = true;
    const { paths, stat: statOf = stat } = this.#options;
    const fingerprints: string[] = [];
    for (const path of paths) fingerprints.push(await statOf(path).then(fingerprintOf, absentFingerprint));
    this.#isChecking = false;
    const before = this.#seen;
    this.#seen = fingerprints.join("\n");
    if (this.#seen !== before || this.#seen === this.#reported) return;
    this.#reported = this.#seen;
    this.#options.onChange();
  }
}

function readFingerprint(path: string): string {
  try {
    return fingerprintOf(statSync(path));
  } catch {
    return absentFingerprint();
  }
}

/** Not there, or not ours to see: whoever reads it says so. */
function absentFingerprint(): string {
  return "";
}

/** The last is another, too, when a file that could not be read may be read from now on. */
function fingerprintOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}
