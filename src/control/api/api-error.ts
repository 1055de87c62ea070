// Failures of requests: which status and message a client gets for what went wrong, and the error object that carries
// them (protocol-v4.md sections 1.3 and 1.4). Main thread.

import { STATUS_CODES } from "node:http";
import { toWireError } from "../../bridge/wire-error.ts";
import { type ErrorCode, NodeError } from "../../errors.ts";
import { redactText } from "../../lib/redact-text.ts";
import type { ErrorJson } from "../protocol/error-json.ts";

/**
 * A request that is answered with an error object. `message` is sent as it stands: published texts begin upper-case.
 */
export class ApiError extends NodeError {
  readonly status: number;
  /** Whole seconds, for the header `Retry-After`, where waiting helps. */
  readonly retryAfterS: number | undefined;

  constructor(status: number, message: string, options: { cause?: unknown; retryAfterS?: number } = {}) {
    super("request-refused", message, options);
    this.status = status;
    this.retryAfterS = options.retryAfterS;
  }
}

/** The one message for everything that cannot be parsed; only `trace` holds the details. */
export function badRequest(detail: unknown): ApiError {
  return new ApiError(400, "Bad Request", { cause: detail });
}

/** Clients ask again at this pace until NATS is back, or another machine has the sessions of one that died. */
const CLUSTER_RETRY_S = 2;

/** Codes after which waiting helps, and for how long, in whole seconds. */
const RETRY_AFTER_S: Partial<Record<ErrorCode, number>> = {
  "cluster-away": CLUSTER_RETRY_S,
  "machine-gone": CLUSTER_RETRY_S,
};

/** The statuses and messages of the published server, by our code. */
const PUBLISHED: Partial<Record<ErrorCode, { readonly status: number; readonly message?: string }>> = {
  "load-no-matches": { status: 400, message: "No matches found for identifier" },
  "load-not-a-track": { status: 400, message: "Cannot play a playlist or search result" },
  "load-timeout": { status: 400 },
  "voice-connect-failed": { status: 500, message: "Failed to connect to voice server" },
  "memory-exhausted": { status: 400 },
  "key-forbidden": { status: 403 },
  "key-limit": { status: 429 },
  "player-destroyed": { status: 404, message: "Player not found" },
};

/** The error object for anything a handler has thrown. */
export function errorObject(
  error: unknown,
  request: { readonly path: string; readonly epochMs: number; readonly isTraced: boolean },
): ErrorJson {
  const { status, message } = describeFailure(error);
  return {
    timestamp: request.epochMs,
    status,
    error: STATUS_CODES[status] ?? "Unknown",
    ...(request.isTraced ? { trace: toWireError(error).causeStackTrace } : {}),
    message: redactText(message),
    path: request.path,
  };
}

/** Whole seconds, for the header `Retry-After`; undefined where waiting does not help. */
export function retryAfterOf(error: unknown): number | undefined {
  if (error instanceof ApiError) return error.retryAfterS;
  return error instanceof NodeError ? RETRY_AFTER_S[error.code] : undefined;
}

/** Status and message for anything a handler has thrown. */
function describeFailure(error: unknown): { status: number; message: string } {
  if (error instanceof ApiError) return { status: error.status, message: error.message };
  if (error instanceof NodeError) {
    const published = PUBLISHED[error.code];
    return { status: published?.status ?? statusOf(error), message: published?.message ?? error.message };
  }
  const status = frameworkStatus(error);
  if (status !== undefined) return { status, message: frameworkMessage(status) };
  return { status: 500, message: "an unexpected error inside the node; its log says more" };
}

function statusOf(error: NodeError): number {
  if (error.fault === "caller") return 400;
  return error.fault === "environment" ? 503 : 500;
}

function frameworkMessage(status: number): string {
  // It reads the header before we do, and takes all that can be read.
  if (status === 415) return "Could not parse Content-Type.";
  return STATUS_CODES[status] ?? "Bad Request";
}

/** The framework's own refusals carry a status below 500. */
function frameworkStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  const { statusCode } = error;
  return typeof statusCode === "number" && statusCode >= 400 && statusCode < 500 ? statusCode : undefined;
}
