// Whether a browser sent a request on behalf of the dashboard's own page, and not of another site's. Main thread.

import type { IncomingHttpHeaders } from "node:http";
import { parseUrl } from "../../lib/parse-url.ts";

/**
 * By what browsers say of it: `Sec-Fetch-Site` where they send it (to HTTPS and to this machine), which a reverse proxy
 * that changes `Host` does not spoil; else by `Origin`, which must name the same host. Whoever sends neither is no
 * browser.
 */
export function isSameSite(headers: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" || site === "none";
  const { origin, host } = headers;
  return origin === undefined || parseUrl(origin)?.host === host;
}
