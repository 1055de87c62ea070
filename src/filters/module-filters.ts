// What players and requests know of filters of plugins: whether one can be set, and why one was removed from its player.
// All threads; plugin-host/manage/plugin-filters.ts has them.

import type { ObjectFilter } from "./filter-entry.ts";

/**
 * The longest that importing the modules of a plugin's filters may take, milliseconds of CPU time: audio workers do it
 * between frames, which are made 100 ms ahead.
 */
export const FILTER_IMPORT_MS_MAX = 50;

/** Why a filter was removed, and what its client is told. */
export const FILTER_FAULTS = {
  failed: "the filter failed with an error, which is in the node's log",
  invalidSamples: "the filter output samples that are no audio: NaN, infinity, or far too loud",
  tooSlow: "the filter takes more time than the node can spare",
  workerLost: "the filter did not return, or ended its audio worker",
} as const;

type FilterFaultReason = keyof typeof FILTER_FAULTS;
/** As a worker reports it that is not lost. */
export type WorkerFaultReason = Exclude<FilterFaultReason, "workerLost">;

export interface FilterFaultReport {
  readonly filter: string;
  readonly reason: FilterFaultReason;
  /** For the operator. */
  readonly message: string;
  readonly guildId: string;
}

/** A filter of a plugin. */
export interface ModuleFilter {
  readonly plugin: string;
  readonly entry: ObjectFilter;
  /** Why it cannot be set at the moment. */
  readonly trouble: string | undefined;
}

/** The filters of plugins by name. */
export interface ModuleFilters {
  /** Undefined: no plugin has it. */
  find(name: string): ModuleFilter | undefined;
  /** A client has set one that cannot be set: it is left out. */
  onLeftOut(name: string): void;
}
