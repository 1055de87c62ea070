// Validates a source's link before it is requested: a plugin's answer is trusted as little as a site's. Pure. Audio and
// probe threads.

import { type Egress, type RangeStep, rangeStepTrouble, type SiteLink } from "../../bridge/playable-link.ts";
import { NodeError } from "../../errors.ts";
import { serverOf } from "../../lib/parse-url.ts";
import { parseInputUrl } from "./input-url.ts";

const HEADERS_MAX = 64;
const HEADERS_LENGTH_MAX = 16 * 1024;
const VARIANT_LENGTH_MAX = 1024;
/** RFC 9110 section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** RFC 9110 section 5.5, without bytes beyond Latin-1. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that belong to the connection. */
const REFUSED_HEADERS: readonly string[] = [
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** Headers that the inputs set themselves. */
const OWN_HEADERS: readonly string[] = [
  "accept-encoding",
  "icy-metadata",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "range",
];

/** Where requests go, and what they carry. */
export interface RequestDestination {
  readonly url: URL;
  /** Names in lower case. Secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly variant?: string | undefined;
  readonly rangeStep?: RangeStep | undefined;
  /** See HttpRequest. */
  readonly ownServer?: string | undefined;
  readonly egress?: Egress | undefined;
}

/** @throws NodeError "link-invalid" */
export function destinationOfLink({ url: text, headers, isOwnServer, ...link }: SiteLink): RequestDestination {
  const { variant, rangeStep, egress } = link;
  if (variant !== undefined && variant.length > VARIANT_LENGTH_MAX) throw invalid("its variant's name is too long");
  const stepTrouble = rangeStep === undefined ? undefined : rangeStepTrouble(rangeStep);
  if (stepTrouble !== undefined) throw invalid(stepTrouble);
  const url = urlOf(text);
  const ownServer = isOwnServer ? serverOf(url) : undefined;
  return { url, headers: checkedHeaders(headers), variant, rangeStep, ownServer, egress };
}

function urlOf(text: string): URL {
  try {
    return parseInputUrl(text);
  } catch (error) {
    throw invalid("its address is not http: or https:", error);
  }
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const length = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (entries.length > HEADERS_MAX || length > HEADERS_LENGTH_MAX) throw invalid("it sets too many headers");
  for (const [name, value] of entries) {
    // The name may be anything here, and the value a secret.
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw invalid("it sets an invalid header");
    if (REFUSED_HEADERS.includes(name)) throw invalid(`it sets the header ${name}, which plugins may not set`);
  }
  return Object.fromEntries(entries.filter(([name]) => !OWN_HEADERS.includes(name)));
}

function invalid(reason: string, cause?: unknown): NodeError {
  return new NodeError("link-invalid", `reading a link that a source has named: ${reason}`, { cause });
}
