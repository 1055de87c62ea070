// The file of client keys: read when the node starts, and again whenever it changes. Main thread.
//
// It holds plain SHA-256 hashes: a key has 256 random bits, so a slow hash would only cost every request. It is polled,
// because network shares and orchestrators that swap links send no change events. An invalid or missing file changes
// nothing, as editors cause both for a moment; an empty one removes all keys.

import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { FileWatch } from "../../lib/file-watch.ts";
import type { Logger } from "../../log/log.ts";
import { type ClientKey, readKeyFile } from "./client-key.ts";
import type { KeyRing } from "./key-ring.ts";

const SIZE_MAX_BYTES = 1024 * 1024;

interface KeyFileOptions {
  /** Absolute. */
  readonly path: string;
  readonly ring: Pick<KeyRing, "replace">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Fills the key ring from its construction on. */
export class KeyFile {
  /** Called when the keys in the ring have been replaced. */
  onReplaced: () => void = () => undefined;
  readonly #options: KeyFileOptions;
  readonly #watch: FileWatch;

  /**
   * A file that is not there has no keys, and may come.
   * @throws NodeError "keys-invalid" for one that cannot be read or has mistakes
   */
  constructor(options: KeyFileOptions) {
    this.#options = options;
    const { path, clock, ring, logger } = options;
    this.#watch = new FileWatch({ paths: [path], clock, onChange: () => this.#reread() });
    try {
      const keys = readKeys(path);
      if (keys === undefined)
        logger.warn("client key file does not exist yet: `tonearm keys add NAME` creates it", { path });
      ring.replace(keys ?? []);
    } catch (error) {
      this.#watch.close();
      throw error;
    }
  }

  close(): void {
    this.#watch.close();
  }

  /** An invalid file changes nothing: clients that play continue. */
  #reread(): void {
    const { path, ring, logger } = this.#options;
    let keys: readonly ClientKey[] | undefined;
    try {
      keys = readKeys(path);
    } catch (error) {
      logger.error("client key file is invalid: the keys in force stay", { path, error });
      return;
    }
    if (keys === undefined) {
      logger.error("client key file is missing: the keys in force stay; write an empty file to remove all keys", {
        path,
      });
      return;
    }
    ring.replace(keys);
    logger.info("client keys changed", { keys: keys.map(({ name }) => name).join(", ") || "none" });
    this.onReplaced();
  }
}

/**
 * Undefined where there is no such file.
 * @throws NodeError "keys-invalid"
 */
export function readKeys(path: string): readonly ClientKey[] | undefined {
  let text: string;
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (stats.size > SIZE_MAX_BYTES) throw new Error(`it has more than ${SIZE_MAX_BYTES} bytes`);
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new NodeError("keys-invalid", `the file of client keys could not be read: ${path}`, { cause: error });
  }
  return readKeyFile(text, basename(path));
}
