// Says in words what went wrong between us and a web server, without secrets: queries and user names of addresses are
// left out, because they often carry tokens. Audio thread.

import { NodeError, rootCause } from "../../errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { describeUrl } from "../../lib/parse-url.ts";
import { BAN_STATUS } from "../../network/site-refusals.ts";

/** Request timeout, too early, too many requests. */
const PASSING_STATUSES = new Set([408, 425, 429]);
/** Connection trouble; and other addresses may be free again, or the main thread less busy. */
const PASSING_CODES = new Set([
  "input-interrupted",
  "input-site-busy",
  "input-unreachable",
  "routes-exhausted",
  "worker-timeout",
]);

/** Code of an answer that is not HTTP. */
export const UNREADABLE_CODE = "ERR_ANSWER_UNREADABLE";

/** Name of undici's parser errors, and what the one says that means a connection cut in the middle. */
const PARSER_ERROR = "HTTPParserError";
const CUT_MESSAGE = "Invalid EOF state";

/** Texts for error codes of node, undici or OpenSSL, completing "connecting to …: ". */
const CONNECTION_REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: "no such host; check the address and the node's DNS",
  EAI_AGAIN: "the host name could not be resolved; check the node's DNS",
  ECONNREFUSED: "connection refused: no server listens at that port",
  ECONNRESET: "the server dropped the connection",
  EHOSTUNREACH: "no route to that host",
  ENETUNREACH: "no route to that network",
  ETIMEDOUT: "the server did not answer in time",
  UND_ERR_CONNECT_TIMEOUT: "the server did not answer in time",
  UND_ERR_SOCKET: "the server dropped the connection",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; check the node's clock",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; give the node its CA with NODE_EXTRA_CA_CERTS",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate chain is self-signed; give the node its CA with NODE_EXTRA_CA_CERTS",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate chain is incomplete; the server should send the intermediate one",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the issuer of its certificate is unknown to this machine",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host name",
  ERR_SSL_WRONG_VERSION_NUMBER: "no TLS at that port; try http: instead of https:",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "no TLS at that port; try http: instead of https:",
  EPROTO: "the TLS handshake failed",
};

/** "input-unreachable" with the reason, unless it is a NodeError already (the guard's, for one). */
export function connectionError(url: URL, error: unknown): NodeError {
  const known = findNodeError(error);
  if (known !== undefined) return known;
  return new NodeError("input-unreachable", `connecting to ${describeUrl(url)}: ${reasonOf(error)}`, { cause: error });
}

/** "input-interrupted": the answer had started and then stopped. */
export function interruptedError(url: URL, error: unknown): NodeError {
  return new NodeError("input-interrupted", `receiving ${describeUrl(url)}: ${reasonOf(error)}`, { cause: error });
}

/** Codes of a connection that was closed instead of an answer, or with one that cannot be read. */
const HANG_UP_CODES: readonly string[] = ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE", UNREADABLE_CODE];

/** True when the server closed the connection instead of answering. Another request may be to its liking. */
export function isHangUp(error: unknown): boolean {
  const root = rootCause(error);
  return root instanceof Error && (HANG_UP_CODES.includes(codeOf(root)) || root.name === PARSER_ERROR);
}

/** True when undici's parser gave up on an answer: its head, or the framing of its body. */
export function isUnreadable(error: unknown): boolean {
  const root = rootCause(error);
  return root instanceof Error && root.name === PARSER_ERROR && !root.message.includes(CUT_MESSAGE);
}

/** An answer whose status means that there is no media. */
class HttpStatusError extends NodeError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(status === 404 || status === 410 ? "input-not-found" : "input-http-status", message);
    this.status = status;
  }
}

/** The error for an answer's status: "input-not-found" for 404 and 410, else "input-http-status". */
export function statusError(url: URL, status: number): NodeError {
  if (status === 404 || status === 410) {
    return new HttpStatusError(status, `loading ${describeUrl(url)}: nothing there (HTTP ${status})`);
  }
  const hint = status === 401 || status === 403 ? "; the link may have expired or need a login" : "";
  return new HttpStatusError(status, `loading ${describeUrl(url)}: the server answered HTTP ${status}${hint}`);
}

/** Statuses with which sites refuse a link that was good before, or never was. */
const REFUSAL_STATUSES: readonly number[] = [401, 403, 410];

/** True for a status that a new link may change. */
export function isRefusal(status: number): boolean {
  return REFUSAL_STATUSES.includes(status);
}

/** A link is good from one address only, and that is barred. */
class BarredError extends NodeError {}

/** True for an answer that says that the server failed (5xx). */
export function isServerError(error: unknown): boolean {
  return error instanceof HttpStatusError && error.status >= 500;
}

/** "link-refused": the site refuses the only address that the link is valid from, or that address is known to fail. */
export function barredError(url: URL): NodeError {
  const reason = "the address that its link is good from is barred";
  return new BarredError("link-refused", `loading from ${url.host}: ${reason}`);
}

/** The status with which a link was refused, where that is what went wrong. */
export function refusalStatusOf(error: unknown): number | undefined {
  if (error instanceof BarredError) return BAN_STATUS;
  return error instanceof HttpStatusError && isRefusal(error.status) ? error.status : undefined;
}

/** "link-refused": the site refused a link that had just been renewed. */
export function refusedAgainError(url: URL, status: number): NodeError {
  const hint = "the site may require a login, serve other regions only, or block this machine's address";
  const reason = `the site refused the link, and the renewed one too (HTTP ${status}); ${hint}`;
  return new NodeError("link-refused", `loading from ${url.host}: ${reason}`);
}

/** The server's answer is unusable: it contradicts itself or the request. */
export function answerError(url: URL, reason: string): NodeError {
  return new NodeError("input-answer-invalid", `loading ${describeUrl(url)}: ${reason}`);
}

/** True when the same request may well succeed a little later: connection trouble, and statuses that pass. */
export function isWorthRetrying(error: unknown): boolean {
  if (error instanceof HttpStatusError) return error.status >= 500 || PASSING_STATUSES.has(error.status);
  return error instanceof NodeError && PASSING_CODES.has(error.code);
}

function findNodeError(error: unknown): NodeError | undefined {
  if (error instanceof NodeError) return error;
  const root = rootCause(error);
  return root instanceof NodeError ? root : undefined;
}

function reasonOf(error: unknown): string {
  const root = error instanceof AggregateError ? error.errors[0] : rootCause(error);
  const code = codeOf(root);
  const known = CONNECTION_REASONS[code];
  if (known !== undefined) return known;
  const text = messageOf(root);
  return code === "" || text.includes(code) ? text : `${text} (${code})`;
}

/** Empty if it has none. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
