// The database below the store: LevelDB through the optional package classic-level, in the few calls that the store
// needs. All of them run on libuv's threads. Errors are sorted here into those of the disk and those of the content.

import type { ClassicLevel } from "classic-level";
import { rootCause } from "../errors.ts";
import { messageOf } from "../lib/message-of.ts";

/** A change of one key; undefined removes it. */
export interface Operation {
  readonly key: string;
  readonly value: Uint8Array | undefined;
}

/** An open database, which holds the lock of its folder. */
export interface Database {
  /** All entries in the order of their keys' bytes, some at a time. Throws a `DatabaseError`. */
  entries(): AsyncIterable<readonly (readonly [string, Uint8Array])[]>;
  /** All or none. `isSynced`: resolves when the disk has it; later writes wait for that. Throws as `entries` does. */
  write(operations: readonly Operation[], options: { readonly isSynced: boolean }): Promise<void>;
  /** Releases the folder. Does not reject. */
  close(): Promise<void>;
}

/** Opens or creates the database in an existing folder. Throws a `DatabaseError`. */
export type OpenDatabase = (folder: string) => Promise<Database>;

/**
 * `missing`: the package is not installed, or has no binary for this system. `locked`: another process has the folder. `damaged`: the content is wrong.
 * `disk`: anything else that the operating system answered.
 */
export type DatabaseErrorKind = "missing" | "locked" | "damaged" | "disk";

export class DatabaseError extends Error {
  readonly kind: DatabaseErrorKind;

  constructor(kind: DatabaseErrorKind, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.kind = kind;
  }
}

/** Few MB of memory: what is written is small, and read once at start. */
const OPTIONS = {
  keyEncoding: "utf8",
  valueEncoding: "view",
  compression: false, // encrypted values cannot be compressed
  writeBufferSize: 1024 * 1024,
  cacheSize: 256 * 1024,
  maxOpenFiles: 64,
} as const;
/** How much is read at a time. */
const READ_BYTES = 1024 * 1024;
const READ_ENTRIES = 1000;

/** LevelDB. */
export const openLevel: OpenDatabase = async (folder) => {
  const { ClassicLevel: Level } = await loadPackage();
  const level = new Level<string, Uint8Array>(folder, OPTIONS);
  await sorted(() => level.open());
  return new LevelDatabase(level);
};

async function loadPackage(): Promise<typeof import("classic-level")> {
  try {
    return await import("classic-level");
  } catch (error) {
    throw missing(error);
  }
}

/** The error of a package that does not load, with what to do where something can be done. */
export function missing(cause: unknown): DatabaseError {
  const { code, message } = Object(cause);
  const reason =
    code === "ERR_MODULE_NOT_FOUND"
      ? "is not installed (`npm install classic-level` in the node's folder)"
      : `cannot be loaded: ${String(message).split("\n", 1)[0]}`;
  return new DatabaseError("missing", `the optional package classic-level ${reason}`, { cause });
}

class LevelDatabase implements Database {
  readonly #level: ClassicLevel<string, Uint8Array>;

  constructor(level: ClassicLevel<string, Uint8Array>) {
    this.#level = level;
  }

  async *entries(): AsyncIterable<readonly (readonly [string, Uint8Array])[]> {
    const iterator = this.#level.iterator({ highWaterMarkBytes: READ_BYTES, fillCache: false });
    try {
      for (;;) {
        const entries = await sorted(() => iterator.nextv(READ_ENTRIES));
        if (entries.length === 0) return;
        yield entries;
      }
    } finally {
      await iterator.close();
    }
  }

  write(operations: readonly Operation[], { isSynced }: { readonly isSynced: boolean }): Promise<void> {
    const batch = operations.map(({ key, value }) =>
      value === undefined ? { type: "del" as const, key } : { type: "put" as const, key, value },
    );
    return sorted(() => this.#level.batch(batch, { sync: isSynced }));
  }

  async close(): Promise<void> {
    // It fails only for calls that are still running, and the lock is released then, too.
    await this.#level.close().catch(() => undefined);
  }
}

async function sorted<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw databaseError(error);
  }
}

/** LevelDB's answers by their class and, within "IO error", the system's words. */
function databaseError(error: unknown): DatabaseError {
  const root = rootCause(error);
  const message = messageOf(root);
  const code = root instanceof Error && "code" in root ? String(root.code) : "";
  return new DatabaseError(kindOf(code, message), message.replace(/^IO error: /, ""), { cause: error });
}

function kindOf(code: string, message: string): DatabaseErrorKind {
  // A file system without locks answers here, too.
  if (code === "LEVEL_LOCKED") return /locks available|not implemented|not supported/.test(message) ? "disk" : "locked";
  // A file that is missing or too short is the content's fault.
  if (code === "LEVEL_IO_ERROR") return /No such file|Invalid argument/.test(message) ? "damaged" : "disk";
  return /^E[A-Z]+$/.test(code) || code === "LEVEL_DATABASE_NOT_OPEN" ? "disk" : "damaged";
}
