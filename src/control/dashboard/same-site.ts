// Whether a browser sent a request on behalf of the dashboard's own page, and not of another site's. Main thread.

import type { IncomingHttpHeaders } from "node:http";
import { parseUrl } from "../../lib/parse-url.ts";

/**
 * Whether a request comes from the same site, by its browser headers: `Sec-Fetch-Site` where browsers send it (to HTTPS
 * and to this machine), which works behind a reverse proxy that changes `Host`; otherwise by `Origin`, which must name
 * the same host. Clients that send neither are not browsers.
 */
export function isSameSite(headers: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" || site === "none";
  const { origin, host } = headers;
  return origin === undefined || parseUrl(origin)?.host === host;
}
