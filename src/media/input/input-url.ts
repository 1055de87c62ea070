// Checks which addresses may be loaded. Separate from the HTTP client, which is large and loaded on demand. Audio and
// probe threads.

import { NodeError } from "../../errors.ts";
import { parseUrl } from "../../lib/parse-url.ts";

/**
 * Parses the address of an input; `icy:` is another name for `http:`.
 * @throws NodeError "input-url-invalid"
 */
export function parseInputUrl(text: string, base?: URL): URL {
  const withScheme = text.trim().replace(/^icy:/i, "http:");
  const url = parseUrl(withScheme, base?.href);
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "") {
    const reason = url === undefined ? "not an address" : `scheme ${url.protocol} cannot be loaded`;
    throw new NodeError("input-url-invalid", `reading the address of an input: ${reason}; use http:, https: or icy:`);
  }
  return url;
}
