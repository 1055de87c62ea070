// Opens local files for reading, but only regular files below the allowed folders, after resolving links. The checked
// file is the opened one: swapping a folder or link in between is detected. Both threads.

import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { NodeError } from "../errors.ts";

/** Windows has neither flag; there they are undefined. NONBLOCK keeps a named pipe from hanging the open. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The longest path that is looked for; Linux has none longer. Others would fill errors with their text. */
export const PATH_LENGTH_MAX = 4096;

/** The identity of a file within the machine. */
interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** A set of folders below which files may be read. */
export class LocalJail {
  readonly #roots: readonly string[];

  /** @param roots absolute paths; those that do not exist allow nothing. Empty: nothing may be read. */
  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  /**
   * Opens `path` (relative ones count from the working directory). The caller closes the handle.
   * @throws NodeError "input-not-found" below a root when there is no such file, else "local-file-refused", which does
   * not reveal whether the file exists
   */
  async open(path: string): Promise<FileHandle> {
    if (path.length > PATH_LENGTH_MAX) throw tooLong(path);
    const roots = await this.#realRoots();
    const realPath = await this.#realPath(path, roots);
    const handle = await open(realPath, OPEN_FLAGS).catch((error) => {
      throw new NodeError("input-not-found", "opening a local file: it cannot be read", { cause: error });
    });
    try {
      await verifyOpened(handle, realPath, roots);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Real paths of the roots, resolved on every call: they may be mounted later or be links that change. */
  async #realRoots(): Promise<string[]> {
    const roots = await Promise.all(this.#roots.map((root) => realpath(root).catch(() => undefined)));
    return roots.filter((root) => root !== undefined);
  }

  async #realPath(path: string, realRoots: readonly string[]): Promise<string> {
    let realPath: string;
    try {
      realPath = await realpath(path);
    } catch (error) {
      // Missing, or unreadable. Outside of the roots the error does not reveal which.
      const resolved = path.includes("\0") ? "" : resolve(path);
      if (resolved === "" || !isBelow(resolved, [...this.#roots, ...realRoots])) throw refusal();
      throw new NodeError("input-not-found", "opening a local file: there is no such file", { cause: error });
    }
    if (!isBelow(realPath, realRoots)) throw refusal();
    return realPath;
  }
}

/** The handle must be a regular file, and the checked path must still name it. */
async function verifyOpened(handle: FileHandle, realPath: string, roots: readonly string[]): Promise<void> {
  const opened = await handle.stat({ bigint: true });
  if (!opened.isFile()) throw refusal();
  const pathNow = await realpath(realPath).catch(() => "");
  const named = pathNow === "" ? undefined : await stat(pathNow, { bigint: true }).catch(() => undefined);
  if (named === undefined || !isSameFile(named, opened) || pathNow !== realPath || !isBelow(pathNow, roots))
    throw refusal();
}

/**
 * Compares by volume and file number. Of the volume only 32 bits: on newer Windows some Node.js give 64 by name and the
 * lower 32 of them by handle (https://github.com/libuv/libuv/pull/4698); Linux and macOS have no more than 32.
 */
export function isSameFile(one: FileIdentity, other: FileIdentity): boolean {
  return BigInt.asUintN(32, one.dev) === BigInt.asUintN(32, other.dev) && one.ino === other.ino;
}

/**
 * Compares names only and follows no links: enough to hide whether files elsewhere exist, not enough to allow reading.
 */
export function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => {
    const rest = relative(root, path);
    return rest !== "" && rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
  });
}

function tooLong({ length }: string): NodeError {
  const found = `its path has ${length} characters, and at most ${PATH_LENGTH_MAX} are allowed`;
  return new NodeError("local-file-refused", `opening a local file: ${found}`);
}

function refusal(): NodeError {
  return new NodeError(
    "local-file-refused",
    "opening a local file: it is not a regular file below an allowed folder (tonearm.local.roots)",
  );
}
