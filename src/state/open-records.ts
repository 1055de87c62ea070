// Opens the database of the state and reads all of it: either every record that was written is there, or none is used
// and the files are set aside. Used at start, and again after a failed write. Main thread.

import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { type Database, DatabaseError, type OpenDatabase, type Operation } from "./database.ts";
import { hasHolder, removeHolder, writeHolder } from "./holder.ts";
import { Ledger, type Total } from "./ledger.ts";
import type { SyncLogs } from "./log-sync.ts";
import { markOf, SEAL_BYTES, Sealing } from "./sealing.ts";
import { makeStateKey, readStateKey, type StateKeyOptions } from "./state-key.ts";
import {
  type SetAside,
  type SetAsideReason,
  STATE_VERSION,
  type StateLimits,
  type StateRecord,
} from "./state-store.ts";

const RECORDS = "records";
const SALT_BYTES = 16;
/** Sets of files that could not be used; older ones are removed. */
const SET_ASIDE_MAX = 3;
/** No copy that the operator has made. */
const SET_ASIDE_NAME = /^records-(damaged|newer|other-key)-\d{4}-/;

/** Entries of the database that are not records; they sort before those. */
const VERSION = "!version";
const TOTAL = "!total";
/** Before the key of a record. */
const PREFIX = "r";

export interface RecordsOptions extends StateKeyOptions {
  readonly clock: Clock;
  readonly openDatabase: OpenDatabase;
  readonly syncLogs: SyncLogs;
  readonly limits: StateLimits;
}

/** A database all of whose records are there. */
export interface OpenRecords {
  readonly database: Database;
  readonly sealing: Sealing;
  readonly ledger: Ledger;
  /** In the order of the keys' bytes. */
  readonly records: readonly StateRecord[];
  /** Set when earlier records could not be used. */
  readonly setAside: SetAside | undefined;
}

/** The database's folder within the state's. */
export function recordsFolder(path: string): string {
  return join(path, RECORDS);
}

/**
 * Opens the records below the state's folder, which is created if needed. `expected`: what their total may be, when it is
 * known; anything else counts as damaged.
 * @throws DatabaseError "missing", "locked", "disk"; what the file system throws
 */
export async function openRecords(options: RecordsOptions, expected?: readonly Total[]): Promise<OpenRecords> {
  const folder = recordsFolder(options.path);
  await makeFolder(folder);
  try {
    return await openWhole(folder, options, expected);
  } catch (error) {
    const reason = unusableReason(error);
    if (reason === undefined) throw error;
    const setAside = { reason, path: await moveAside(folder, { reason, options }) };
    await mkdir(folder, { mode: 0o700 });
    return { ...(await openWhole(folder, options)), setAside };
  }
}

/** Node.js's own recursive call hides why it fails, and never ends below some folders. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = Object(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await mkdir(folder, { mode: 0o700 });
  }
}

/** The operations of a write with the total after it. */
export function withTotal(sealing: Sealing, total: Total, operations: readonly Operation[]): readonly Operation[] {
  return [
    ...operations.map(({ key, value }) => ({ key: `${PREFIX}${key}`, value })),
    { key: TOTAL, value: sealing.seal(TOTAL, JSON.stringify(total)) },
  ];
}

/** Content that cannot be used. */
class Unusable extends Error {
  readonly reason: SetAsideReason;

  constructor(reason: SetAsideReason) {
    super(reason);
    this.reason = reason;
  }
}

function unusableReason(error: unknown): SetAsideReason | undefined {
  if (error instanceof Unusable) return error.reason;
  return error instanceof DatabaseError && error.kind === "damaged" ? "damaged" : undefined;
}

async function openWhole(folder: string, options: RecordsOptions, expected?: readonly Total[]): Promise<OpenRecords> {
  const names = await readdir(folder);
  // Operators empty the folder to start without state.
  const isExpected = expected !== undefined || (names.length > 0 && (await hasHolder(options.path)));
  if (isExpected) checkFiles(names);
  const database = await options.openDatabase(folder);
  try {
    const stored = await readStored(database, options);
    if (stored === undefined && isExpected) throw new Unusable("damaged");
    const { sealing, ledger, records } = stored ?? (await createIn(database, options));
    if (expected?.every((total) => !isSame(total, ledger.total))) throw new Unusable("damaged");
    await writeHolder(options.path, options.clock);
    return { database, sealing, ledger, records, setAside: undefined };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** LevelDB takes a folder without one of these for a new database, and removes the rest. */
function checkFiles(names: readonly string[]): void {
  if (!names.includes("CURRENT") || !names.some((name) => name.endsWith(".log"))) throw new Unusable("damaged");
}

/** What one database holds. */
type Stored = Pick<OpenRecords, "sealing" | "ledger" | "records">;

/**
 * Undefined for a new database. Decrypts some records at a time, as they are read: other work of the thread goes on in
 * between.
 */
async function readStored(database: Database, options: RecordsOptions): Promise<Stored | undefined> {
  const { recordsMax, bytesMax, valueBytesMax } = options.limits;
  const ledger = new Ledger();
  const records: StateRecord[] = [];
  let sealing: Sealing | undefined;
  let total: Uint8Array | undefined;
  let sizeBytes = 0;
  for await (const entries of database.entries()) {
    for (const [name, bytes] of entries) {
      if (name === VERSION) sealing = await sealingOf(parseVersion(bytes), options);
      else if (name === TOTAL) total = bytes;
      if (!name.startsWith(PREFIX)) continue;
      const key = name.slice(PREFIX.length);
      sizeBytes += key.length + bytes.length;
      // The store writes no more than this.
      const isTooMuch = records.length === recordsMax || sizeBytes > bytesMax;
      const value = isTooMuch || bytes.length > valueBytesMax + SEAL_BYTES ? undefined : sealing?.open(key, bytes);
      if (value === undefined) throw new Unusable("damaged");
      ledger.set(key, { mark: markOf(bytes), sizeBytes: key.length + bytes.length });
      records.push({ key, value });
    }
  }
  if (sealing === undefined && total === undefined) return undefined;
  const stored = total && sealing?.open(TOTAL, total);
  if (sealing === undefined || stored === undefined || !isSame(parsed(stored), ledger.total)) {
    throw new Unusable("damaged");
  }
  return { sealing, ledger, records };
}

interface Version {
  readonly salt: Uint8Array;
  readonly check: string;
}

async function createIn(database: Database, options: RecordsOptions): Promise<Stored> {
  const salt = options.random.bytes(SALT_BYTES);
  const sealing = new Sealing(await makeStateKey(options, salt), salt, options.random);
  const ledger = new Ledger();
  const version = { version: STATE_VERSION, salt: Buffer.from(salt).toString("hex"), check: sealing.check };
  const operations = [
    { key: VERSION, value: Buffer.from(JSON.stringify(version)) },
    { key: TOTAL, value: sealing.seal(TOTAL, JSON.stringify(ledger.total)) },
  ];
  await database.write(operations, { isSynced: true });
  return { sealing, ledger, records: [] };
}

function parseVersion(entry: Uint8Array): Version {
  const { version, salt, check } = parsed(Buffer.from(entry).toString("utf8"));
  if (typeof version === "number" && version > STATE_VERSION) throw new Unusable("newer");
  if (version !== STATE_VERSION || typeof salt !== "string" || typeof check !== "string") throw new Unusable("damaged");
  return { salt: Buffer.from(salt, "hex"), check };
}

async function sealingOf({ salt, check }: Version, options: RecordsOptions): Promise<Sealing> {
  const master = await readStateKey(options, salt);
  const sealing = master && new Sealing(master, salt, options.random);
  if (sealing === undefined || !sealing.isCheck(check)) throw new Unusable("other-key");
  return sealing;
}

function isSame(one: Partial<Record<keyof Total, unknown>>, other: Total): boolean {
  return one.count === other.count && one.sum === other.sum;
}

/** Whatever it is, it has members or none. */
function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw new Unusable("damaged");
  }
}

/** Renames the folder, and returns its path then. */
async function moveAside(
  folder: string,
  { reason, options }: { readonly reason: SetAsideReason; readonly options: RecordsOptions },
): Promise<string> {
  const earlier = (await readdir(options.path)).filter((name) => SET_ASIDE_NAME.test(name));
  const timeOf = (name: string): string => name.slice(name.search(/\d{4}-/));
  const oldest = earlier.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b))).slice(0, 1 - SET_ASIDE_MAX);
  for (const name of oldest) await rm(join(options.path, name), { recursive: true, force: true });
  // Without characters that a file system refuses.
  const time = new Date(options.clock.epochMs()).toISOString().replaceAll(":", "-");
  let path = `${folder}-${reason}-${time}`;
  while (earlier.includes(basename(path))) path += "x";
  await rename(folder, path);
  await removeHolder(options.path);
  return path;
}
