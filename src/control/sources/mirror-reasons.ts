// Which failures are those of the source or the media, so that another source may do better. Main thread; used by
// mirrors.ts and mirror-search.ts.

import type { ErrorCode } from "../../errors.ts";

/**
 * Errors that say that a track cannot be played from its source. The others are about its client (a key that may not
 * use the source, a share that is used up), the node, or an attack, and another source would not change them.
 */
const SOURCE_FAILURES: ReadonlySet<string> = new Set<ErrorCode>([
  "hls-playlist-invalid",
  "hls-unsupported",
  "input-answer-invalid",
  "input-http-status",
  "input-interrupted",
  "input-not-found",
  "input-redirects",
  "input-unreachable",
  "link-invalid",
  "link-refused",
  "load-timeout",
  "media-damaged",
  "media-decode-failed",
  "media-no-audio",
  "media-unknown-format",
  "media-unsupported-codec",
  "mirror-needed",
  "plugin-failed",
  "plugin-lost",
  "plugin-off",
  "routes-exhausted",
  "site-busy",
  "site-changed",
  "site-unavailable",
  "site-unreachable",
  "source-unavailable",
  "worker-timeout",
]);
/** Those of a mirror for which its client, its player or the node is to blame, or that are an attack. */
const OTHER_FAILURES: ReadonlySet<string> = new Set<ErrorCode>([
  "address-refused",
  "internal",
  "key-forbidden",
  "key-limit",
  "load-busy",
  "memory-exhausted",
  "node-draining",
  "node-overloaded",
  "player-busy",
  "player-destroyed",
  "players-exhausted",
  "requests-busy",
  "worker-busy",
  "worker-lost",
  "worker-timeout",
]);

/** Whether it is the source that failed, for everybody. */
export function isSourceFailure(code: string): boolean {
  return SOURCE_FAILURES.has(code);
}

/** Whether another mirror may do better than the one that failed: also where its media is not what a player can use. */
export function isMirrorFailure(code: string): boolean {
  return !OTHER_FAILURES.has(code);
}
