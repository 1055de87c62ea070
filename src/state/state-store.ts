// What outlives the process: the interface of the store of what clients have asked for, its bounds, and the version of
// what is in it. Above it, src/control/state/ decides what is stored; below it, open-state.ts finds a folder for it.
// Main thread.

/**
 * The version of the stored state. Raise it with any change of the records' content that an older node would misread: a
 * node that finds a newer version puts it aside and starts empty. An older one must stay readable: `parseVersion` in
 * open-records.ts takes it for damaged until it is taught otherwise.
 */
export const STATE_VERSION = 1;

/** What a store holds at most. */
export interface StateLimits {
  readonly recordsMax: number;
  /** All records together, with their keys, as they are stored. */
  readonly bytesMax: number;
  /** The value of one record in UTF-8. */
  readonly valueBytesMax: number;
}

/** Several records for each player of the largest node. */
export const STATE_LIMITS: StateLimits = {
  recordsMax: 200_000,
  bytesMax: 512 * 1024 * 1024,
  valueBytesMax: 8 * 1024 * 1024,
};
/** A key has 1 to this many characters, from `!` to `~`. */
export const KEY_LENGTH_MAX = 500;
/** After this time a write that was acknowledged survives a loss of power, too. */
export const SYNC_DELAY_MS = 1000;
/** Closing waits no longer for a disk that hangs. */
export const CLOSE_MS_MAX = 2000;

/** A stored text by its key. Keys are not encrypted: they may hold ids, and no secrets. */
export interface StateRecord {
  readonly key: string;
  /** Any text, JSON as a rule. Encrypted on disk. */
  readonly value: string;
}

/** What a write makes of one key. */
export interface StateChange {
  readonly key: string;
  /** Undefined removes the record; it need not exist. */
  readonly value: string | undefined;
}

/**
 * A set of records on disk. Calls are carried out one after the other, and none waits on the main thread.
 *
 * A failed write does not close the store. The caller gives the same changes again with its next write, and the store
 * reopens its files then.
 */
export interface StateStore {
  /**
   * Every record, in the order of their keys' bytes.
   * @throws NodeError "state-damaged" when not all that was written is there, "state-unwritable" when the files cannot
   *   be opened
   */
  readAll(): Promise<readonly StateRecord[]>;
  /** Of the last successful call. */
  readonly recordCount: number;
  /**
   * Applies all of the changes or none; the last one for a key counts. When it resolves, the operating system has them:
   * they survive any end of the process, and a loss of power `SYNC_DELAY_MS` later.
   * @throws NodeError
   *   - "state-unwritable": nothing counts as written (a full or read-only disk). Give the changes again later.
   *   - "state-damaged": after an earlier failure not all that had been written was there. It is set aside, and the store
   *     is empty now and works: write everything again.
   *   - "state-full": the changes exceed a bound of the store. Nothing is written, and the store works.
   */
  write(changes: readonly StateChange[]): Promise<void>;
  /**
   * Syncs, and releases the folder, for at most `CLOSE_MS_MAX`: what a hanging disk has not done then goes on. Later calls
   * reject with "state-unwritable". May be called more than once; does not reject.
   */
  close(): Promise<void>;
}

/** Where the files of a set of records that could not be used are now, and why. */
export interface SetAside {
  readonly reason: SetAsideReason;
  /** Their folder. */
  readonly path: string;
}

/** Why records could not be used. */
export type SetAsideReason = "damaged" | "newer" | "other-key";

/** What `openStateStore` found. */
export type OpenedState =
  | {
      readonly kind: "open";
      readonly store: StateStore;
      /** Set when earlier records could not be used: the store is empty then. */
      readonly setAside: SetAside | undefined;
    }
  /** Nothing can be stored in the folder, for a reason to be read by the operator. */
  | { readonly kind: "off"; readonly reason: string };
