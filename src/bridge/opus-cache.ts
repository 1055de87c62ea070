// What audio workers and the main thread say to each other about the Opus cache: the main thread has the list of its
// entries, workers read and write them. In full: docs/internals/opus-cache.md. All threads.

/** An entry's name: SHA-256 of what its audio depends on, 64 hexadecimal digits. */
export type OpusCacheKey = string;

/** A worker is about to play a track. */
export interface OpusCacheRequest {
  readonly key: OpusCacheKey;
  /** The most that an entry for it takes. 0: none is to be written. */
  readonly reservedBytes: number;
}

export type OpusCacheAnswer =
  /** There is an entry at this path. It may be gone by the time it is opened. */
  | { readonly kind: "entry"; readonly path: string }
  /** The worker may write one to this path, which does not exist, and reports the result with `opusCacheWritten`. */
  | { readonly kind: "write"; readonly path: string }
  /** No entry, and none is to be written. */
  | { readonly kind: "none" };

/** Results of what was answered. */
export type OpusCacheEvent =
  /** `sizeBytes` undefined: the entry was given up; `failure`: because the disk refused it. */
  | {
      readonly type: "opusCacheWritten";
      readonly path: string;
      readonly sizeBytes: number | undefined;
      readonly failure?: string | undefined;
    }
  /** The file at an entry's path is not what was written there. */
  | { readonly type: "opusCacheDamaged"; readonly key: OpusCacheKey; readonly reason: string };
