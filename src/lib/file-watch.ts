// Detects changed files by polling them every few seconds: that works where the system reports no changes, on network
// shares and behind the links that swap secrets in containers. Has no domain knowledge.

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
  /** Replaces the file system's `stat` in tests. */
  readonly stat?: (path: string) => Promise<Stats>;
}

/** Looks from its making on: make it before the files are read. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  /** The fingerprint that `onChange` was last called for. */
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

  /** Stops polling; `onChange` may be called once more for a poll that is under way. */
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
   * One file after the other: an unreachable network share can block each poll indefinitely, on one of the four threads
   * that the whole process has for file and name operations.
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

/**
 * The fingerprint of a file that does not exist or cannot be accessed; the code that reads the file reports the
 * problem.
 */
function absentFingerprint(): string {
  return "";
}

/** The last is another, too, when a file that could not be read may be read from now on. */
function fingerprintOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}
