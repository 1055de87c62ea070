// The one error class of the node and the list of its codes. A leaf without domain knowledge, on all threads.
// Every code is explained in docs/reference/errors.md (a test keeps the two equal).

/** The party that has to act: decides HTTP status, retry and log level. */
type Fault = "caller" | "remote" | "environment" | "ourselves";

/** Every code a `NodeError` can carry, with the party at fault. Codes are stable: users search for them. */
export const ERROR_FAULTS = {
  "address-refused": "caller",
  "cluster-away": "environment",
  "cluster-conflict": "ourselves",
  "cluster-fenced": "ourselves",
  "cluster-unusable": "environment",
  "codec-unavailable": "environment",
  "config-invalid": "environment",
  "config-unreadable": "environment",
  "hls-playlist-invalid": "remote",
  "hls-unsupported": "remote",
  "input-answer-invalid": "remote",
  "input-changed": "remote",
  "input-closed": "ourselves",
  "input-http-status": "remote",
  "input-interrupted": "remote",
  "input-not-found": "caller",
  "input-not-seekable": "remote",
  "input-read-too-large": "remote",
  "input-redirects": "remote",
  "input-site-busy": "environment",
  "input-unreachable": "remote",
  "input-url-invalid": "caller",
  internal: "ourselves",
  "key-forbidden": "caller",
  "key-limit": "caller",
  "keys-invalid": "environment",
  "link-invalid": "ourselves",
  "link-refused": "remote",
  "listen-failed": "environment",
  "load-busy": "environment",
  "load-failed": "caller",
  "load-no-matches": "caller",
  "load-not-a-track": "caller",
  "load-timeout": "remote",
  "local-file-refused": "caller",
  "probe-crashed": "ourselves",
  "machine-gone": "environment",
  "media-damaged": "remote",
  "media-decode-failed": "remote",
  "media-feed": "caller",
  "media-no-audio": "caller",
  "media-not-seekable": "caller",
  "media-unknown-format": "caller",
  "media-unsupported-codec": "caller",
  "memory-exhausted": "remote",
  "mirror-needed": "caller",
  "mirror-not-found": "caller",
  "network-allow-invalid": "environment",
  "node-draining": "environment",
  "node-overloaded": "environment",
  "player-busy": "caller",
  "player-destroyed": "caller",
  "players-exhausted": "caller",
  "playlist-empty": "remote",
  "plugin-failed": "ourselves",
  "plugin-lost": "ourselves",
  "plugin-off": "environment",
  "plugin-options-wrong": "caller",
  "request-refused": "caller",
  "requests-busy": "environment",
  "routes-exhausted": "environment",
  "site-busy": "remote",
  "site-changed": "remote",
  "site-unavailable": "caller",
  "site-unreachable": "remote",
  "source-unavailable": "caller",
  "state-damaged": "environment",
  "state-full": "environment",
  "state-in-use": "environment",
  "state-unwritable": "environment",
  "tls-invalid": "environment",
  "track-crashes-worker": "ourselves",
  "track-too-costly": "remote",
  "track-undecodable": "caller",
  "voice-connect-failed": "remote",
  "voice-limit-exceeded": "remote",
  "worker-busy": "ourselves",
  "worker-lost": "ourselves",
  "worker-timeout": "ourselves",
} as const satisfies Record<string, Fault>;

/** An error code. It crosses the bridge unchanged (bridge/wire-error.ts). */
export type ErrorCode = keyof typeof ERROR_FAULTS;

/**
 * An error the node expects and can explain: `message` says what was attempted, starts lower-case, holds no secrets.
 */
export class NodeError extends Error {
  override readonly name = "NodeError";
  readonly code: ErrorCode;
  readonly fault: Fault;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
    this.fault = ERROR_FAULTS[code];
  }
}

/** The innermost error of a `cause` chain (bounded at 16 links, so a cycle cannot hang it). */
export function rootCause(error: unknown): unknown {
  let current = error;
  for (let depth = 0; depth < 16 && current instanceof Error && current.cause !== undefined; depth++) {
    current = current.cause;
  }
  return current;
}
