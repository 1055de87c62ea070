// The local source: files of this machine, below the configured folders and nowhere else. Main thread; the worker that
// reads the file checks the folders once more.

import { lstat } from "node:fs/promises";
import { resolve } from "node:path";
import type { PlayableInput } from "../../../bridge/playable-input.ts";
import { NodeError } from "../../../errors.ts";
import { isBelow, LocalJail, PATH_LENGTH_MAX } from "../../../lib/local-jail.ts";
import type { Track } from "../../../track/track.ts";
import { answerOfProbe, containerOf } from "../probed-track.ts";
import type { Prober, Source, SourceAnswer, SourceRequest } from "../source.ts";

/** Paths, relative ones from the working directory. Without `roots` there is nothing to be found. */
export class LocalSource implements Source {
  readonly name = "local";
  readonly #probe: Prober;
  readonly #roots: readonly string[];
  readonly #jail: LocalJail;

  /** `roots` are absolute real paths. */
  constructor(options: { probe: Prober; roots: readonly string[] }) {
    this.#probe = options.probe;
    this.#roots = options.roots;
    this.#jail = new LocalJail(options.roots);
  }

  isClaimed(identifier: string): boolean {
    return !isOfAnotherSource(identifier) && isPathLike(identifier);
  }

  async load({ identifier, title, owner, signal }: SourceRequest): Promise<SourceAnswer | undefined> {
    if (isOfAnotherSource(identifier)) return undefined;
    const path = pathOf(identifier);
    if (!(await this.#isFile(path, identifier))) return undefined;
    const result = await this.#probe({ kind: "local", path, container: undefined }, { owner, signal });
    return answerOfProbe(result, { sourceName: this.name, identifier, title });
  }

  playableInput(track: Track): PlayableInput {
    return { kind: "local", path: pathOf(track.info.identifier), container: containerOf(track) };
  }

  /** Throws `local-file-refused` for a path outside the roots, whether it exists or not. */
  async #isFile(path: string, identifier: string): Promise<boolean> {
    try {
      const handle = await this.#jail.open(path);
      await handle.close();
      return true;
    } catch (error) {
      if (error instanceof NodeError && error.code === "input-not-found") return false;
      // A search word, or a folder that may be read: no reason for a warning.
      if (!isPathLike(identifier) || (this.#isVisible(path) && (await isFolder(path)))) return false;
      throw error;
    }
  }

  #isVisible(path: string): boolean {
    return this.#roots.includes(path) || isBelow(path, this.#roots);
  }
}

/** A longer one is refused as it is when it is opened. */
function pathOf(identifier: string): string {
  return identifier.length > PATH_LENGTH_MAX ? identifier : resolve(identifier);
}

/** Anything with a scheme or a search prefix: no file is looked for under such a name. */
function isOfAnotherSource(identifier: string): boolean {
  return identifier.trim() === "" || identifier.includes("\0") || /^[a-z][a-z0-9+.-]+:/.test(identifier);
}

/** True for a text that can only be meant as a path, not as a search word. */
function isPathLike(identifier: string): boolean {
  return /^(\.{0,2}[/\\]|[A-Za-z]:[/\\])/.test(identifier);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch {
    // Deleted in the meantime.
    return false;
  }
}
