// Follows HTTP redirects, and decides what of a request may go to the next address. The rules are the same for inputs
// and for plugins; docs/reference/outbound-guard.md states them. Audio, probe and plugin threads.

import { isSecretName } from "../lib/secret-names.ts";
import { type HttpHeaders, headerOf } from "./header-value.ts";

/** protocol-v4.md section 2.3. */
const REDIRECTS_MAX = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

export interface Hop {
  /** User name and password in it belong to its site. */
  readonly url: URL;
  readonly method: "GET" | "HEAD" | "POST";
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

interface Redirectable {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: { cancel(): void };
}

interface FollowOptions<Answer extends Redirectable> {
  /** Default: 5. */
  readonly redirectsMax?: number | undefined;
  readonly send: (hop: Hop) => Promise<Answer>;
  /** Throws for an address that is invalid, or of neither `http:` nor `https:`. */
  readonly parseTarget: (location: string, from: URL) => URL;
  readonly tooMany: (redirectsMax: number) => Error;
}

/**
 * Sends a request, and up to `redirectsMax` more as redirects demand. Resolves with the first answer that is not a
 * redirect and with the request that it answers; the bodies of the others are cancelled.
 */
export async function followRedirects<Answer extends Redirectable>(
  first: Hop,
  { redirectsMax = REDIRECTS_MAX, send, parseTarget, tooMany }: FollowOptions<Answer>,
): Promise<{ readonly answer: Answer; readonly hop: Hop }> {
  let hop = first;
  for (let count = 0; count <= redirectsMax; count++) {
    const answer = await send(hop);
    const location = locationOf(answer);
    if (location === undefined) return { answer, hop };
    answer.body.cancel();
    hop = nextHop(hop, answer.status, parseTarget(location, hop.url));
  }
  throw tooMany(redirectsMax);
}

/** The same host and port, and no step from `https:` to `http:`. */
export function isSameSite(from: URL, to: URL): boolean {
  return from.host === to.host && (from.protocol === to.protocol || to.protocol === "https:");
}

/** The headers of a request to `from` that may be sent to `to`: without secrets if it is another site. */
export function headersFor(headers: Hop["headers"], { from, to }: Record<"from" | "to", URL>): Hop["headers"] {
  if (isSameSite(from, to)) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isSecretName(name)));
}

/** After a POST the target is requested with GET unless the status says otherwise, as in browsers. */
function nextHop({ url: from, method, headers, body }: Hop, status: number, target: URL): Hop {
  const url = withUserOf(from, target);
  const kept = headersFor(headers, { from, to: url });
  if (status === 307 || status === 308 || method === "HEAD") return { url, method, headers: kept, body };
  const { "content-type": _type, ...plain } = kept;
  return { url, method: "GET", headers: plain };
}

/** A site keeps the user name and password that it was asked with; those that a redirect names are not used. */
function withUserOf(from: URL, target: URL): URL {
  const isKept = isSameSite(from, target);
  const url = new URL(target);
  url.username = isKept ? from.username : "";
  url.password = isKept ? from.password : "";
  return url;
}

function locationOf({ status, headers }: Redirectable): string | undefined {
  if (!REDIRECT_STATUSES.has(status)) return undefined;
  const location = headerOf(headers, "location");
  // HTTP parsers return bytes beyond ASCII as Latin-1: encoded here, or they would be encoded as letters.
  return location?.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}
