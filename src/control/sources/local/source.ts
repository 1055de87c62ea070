// The local source: files of this machine, below the configured folders and nowhere else. Main thread; the worker that
// opens the file checks the folders once more.

import { realpath, stat } from "node:fs/promises";
import { resolve, sep } from "node:path";
import type { PlayableInput } from "../../../bridge/playable-input.ts";
import { NodeError } from "../../../errors.ts";
import { answerOfProbe, containerOf } from "../probed-track.ts";
import type { Prober, Source, SourceAnswer, SourceRequest } from "../source.ts";
import type { Track } from "../track.ts";

export class LocalSource implements Source {
  readonly name = "local";
  readonly #probe: Prober;
  readonly #roots: readonly string[];

  /** `roots` are absolute real paths. */
  constructor(options: { probe: Prober; roots: readonly string[] }) {
    this.#probe = options.probe;
    this.#roots = options.roots;
  }

  async load({ identifier, title }: SourceRequest): Promise<SourceAnswer | undefined> {
    const path = await this.#findFile(identifier);
    if (path === undefined) return undefined;
    const result = await this.#probe({ kind: "local", path, container: undefined });
    return answerOfProbe(result, { sourceName: this.name, identifier, title });
  }

  playableInput(track: Track): PlayableInput {
    const path = resolve(track.info.identifier);
    this.#refuseOutside(path);
    return { kind: "local", path, container: containerOf(track) };
  }

  /** The absolute path of an existing file, or undefined when the identifier names none. */
  async #findFile(identifier: string): Promise<string | undefined> {
    // Anything with a scheme or a search prefix belongs to another source; no file is looked for under such a name.
    if (identifier.trim() === "" || identifier.includes("\0") || /^[a-z][a-z0-9+.-]+:/.test(identifier))
      return undefined;
    const path = resolve(identifier);
    // Before the disk is touched: what lies outside must not even be known to exist.
    if (!this.#isInside(path)) {
      if (isPathLike(identifier)) this.#refuseOutside(path);
      return undefined;
    }
    try {
      const realPath = await realpath(path);
      this.#refuseOutside(realPath);
      return (await stat(realPath)).isFile() ? path : undefined;
    } catch (error) {
      if (error instanceof NodeError) throw error;
      // No such file, or not ours to read: no track of this source.
      return undefined;
    }
  }

  #isInside(path: string): boolean {
    return this.#roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
  }

  #refuseOutside(path: string): void {
    if (this.#isInside(path)) return;
    throw new NodeError("local-path-refused", "a local file lies outside the folders of tonearm.local.roots");
  }
}

/** True for what can only be meant as a path, as against a word somebody searches for. */
function isPathLike(identifier: string): boolean {
  return /^(\.{0,2}[/\\]|[A-Za-z]:[/\\])/.test(identifier);
}
