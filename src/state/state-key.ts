// The key of the state's encryption: from the configuration, or from a file of mode 600 in the state's folder, made
// with the first database. Main thread; waits for no disk.

import { scrypt } from "node:crypto";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Secret } from "../config/keys/secret.ts";
import type { Random } from "../lib/random.ts";

const KEY_BYTES = 32;
/** Some 50 ms once: a configured text may be easier to guess than random bytes. */
const SCRYPT_COST = 2 ** 15;
const SCRYPT_MEMORY_MAX_BYTES = 64 * 1024 * 1024;

/** Where the key is if none is configured. */
export function keyFile(path: string): string {
  return join(path, "key");
}

export interface StateKeyOptions {
  /** The state's folder. */
  readonly path: string;
  /** The configured key; undefined: that of the file. */
  readonly key: Secret | undefined;
  readonly random: Random;
}

/** The key of an existing database with that salt; undefined when there is none. Throws what the file system throws. */
export async function readStateKey({ path, key }: StateKeyOptions, salt: Uint8Array): Promise<Uint8Array | undefined> {
  if (key !== undefined) return await derivedKey(key, salt);
  return await readKeyFile(keyFile(path));
}

/** The key for a new database. Throws what the file system throws. */
export async function makeStateKey(options: StateKeyOptions, salt: Uint8Array): Promise<Uint8Array> {
  const existing = await readStateKey(options, salt);
  if (existing !== undefined) return existing;
  const file = keyFile(options.path);
  // A file that holds no key may be a damaged one, and stays for the operator.
  await rename(file, `${file}.broken`).catch(() => undefined);
  const made = options.random.bytes(KEY_BYTES);
  await writeFile(file, made, { mode: 0o600, flag: "wx", flush: true });
  return made;
}

async function readKeyFile(file: string): Promise<Uint8Array | undefined> {
  try {
    const { size } = await stat(file);
    return size === KEY_BYTES ? await readFile(file) : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** 32 bytes from a configured key; takes some 50 ms on another thread. */
export function derivedKey(key: Secret, salt: Uint8Array): Promise<Uint8Array> {
  const options = { cost: SCRYPT_COST, maxmem: SCRYPT_MEMORY_MAX_BYTES };
  return new Promise((resolve, reject) => {
    scrypt(key.reveal(), salt, KEY_BYTES, options, (error, derived) => (error ? reject(error) : resolve(derived)));
  });
}
