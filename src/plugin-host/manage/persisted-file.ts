// The file with the persisted values of a plugin: JSON, one file per plugin, readable by its owner only, replaced
// atomically. Problems with it are logged once and cost the values, never the plugin. Main thread; waits for no disk.

import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { PersistedValue } from "../../bridge/plugin-messages.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";

const FORMAT = 1;
/** More than the values may take, as JSON escapes them and people may format the file. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
/** A plugin does not wait longer for a disk. */
const READ_TIMEOUT_MS = 2000;

interface PersistedFileOptions {
  /** Absolute. Its folder is created with the first write. */
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PersistedFile {
  readonly #options: PersistedFileOptions;
  #isFailing = false;

  constructor(options: PersistedFileOptions) {
    this.#options = options;
  }

  /** The values; none if the file is missing or invalid. An invalid file is renamed to `*.broken`. Never rejects. */
  async read(): Promise<readonly PersistedValue[]> {
    const { path, clock, logger } = this.#options;
    const over = new AbortController();
    const late = pause(clock, READ_TIMEOUT_MS, over.signal);
    try {
      const text = await Promise.race([readText(path), late]);
      if (typeof text === "string") return text === "" ? [] : valuesOf(text);
      logger.warn("reading persisted plugin values timed out: continuing without them", { path });
      return [];
    } catch (error) {
      logger.warn("persisted values of a plugin are invalid, file renamed to *.broken", { path, error });
      // Where that fails, too, it is written over.
      await rename(path, `${path}.broken`).catch(() => undefined);
      return [];
    } finally {
      over.abort();
    }
  }

  /** Replaces it, all or nothing. Never rejects. */
  async write(values: readonly PersistedValue[]): Promise<void> {
    const { path, logger } = this.#options;
    const fresh = `${path}.new`;
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // A file created beforehand by another user would stay readable to them.
      await rm(fresh, { force: true });
      await writeFile(fresh, textOf(values), { mode: 0o600, flag: "wx", flush: true });
      await rename(fresh, path);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) logger.warn("persisted values of a plugin could not be written to disk", { path, error });
      this.#isFailing = true;
    }
  }
}

/** Empty if the file does not exist. */
async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > FILE_BYTES_MAX) throw new Error(`it has more than ${FILE_BYTES_MAX} bytes`);
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

/** Throws where it is of another form. */
function valuesOf(text: string): readonly PersistedValue[] {
  const { format, values } = parsed(text);
  if (format !== FORMAT || !Array.isArray(values)) throw new Error("it is not a file of this node");
  return values.map((entry: Readonly<Record<string, unknown>>) => {
    const { cache, key, value, untilMs, isLarge } = entry;
    const isWhole = typeof cache === "string" && typeof key === "string" && value !== undefined;
    if (!isWhole || !(untilMs === null || typeof untilMs === "number")) throw new Error("a value in it is not whole");
    return {
      cache,
      key,
      json: JSON.stringify(value),
      untilMs: untilMs ?? Number.POSITIVE_INFINITY,
      ...(isLarge === true && { isLarge }),
    };
  });
}

function parsed(text: string): { readonly format?: unknown; readonly values?: unknown } {
  try {
    return Object(JSON.parse(text)); // whatever it is, it has members or none
  } catch {
    // The engine's own words quote the text, and there are secrets in it.
    throw new Error("it is no JSON");
  }
}

/** Infinity, which JSON does not have, becomes null. */
function textOf(values: readonly PersistedValue[]): string {
  const lines = values.map(({ json, ...rest }) => `${JSON.stringify(rest).slice(0, -1)},"value":${json}}`);
  return `{"format":${FORMAT},"values":[\n${lines.join(",\n")}\n]}\n`;
}
