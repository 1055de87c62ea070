// How the state that outlives the process is doing, for health, metrics and the dashboard. Main thread.

/**
 * - `disabled`: by the configuration;
 * - `off`: it could not be opened at the start;
 * - `working`: all that is to be stored is;
 * - `failing`: writing fails; what has changed since would be lost with the process.
 */
export type StateStatus =
  | { readonly kind: "disabled" }
  | { readonly kind: "off"; readonly reason: string }
  | { readonly kind: "working" }
  | { readonly kind: "failing"; readonly reason: string; readonly sinceEpochMs: number };

/** Counters begin with the process. */
export interface StateReport {
  readonly status: StateStatus;
  /** Sessions that are stored: those that may resume. */
  readonly sessions: number;
  /** Records of all of them: sessions, players, tracks, messages, values of plugins. */
  readonly records: number;
  /** Batches that were written, and tries that failed. */
  readonly writes: number;
  readonly failedWrites: number;
  /** Of all records that were written, before encryption. */
  readonly writtenBytes: number;
  /** What was restored at the start. */
  readonly restored: RestoredCounts;
  /** Where the state of an earlier process was moved that could not be used; undefined: there was none. */
  readonly setAside: string | undefined;
}

export interface RestoredCounts {
  readonly sessions: number;
  readonly players: number;
}
