// Checks whether a plugin's link leads to a server that the operator has configured for that plugin: its audio may then
// come from a private network. Main thread, which knows the configuration.

import { parseUrl, serverOf } from "../../lib/parse-url.ts";

/** `servers`: `host:port`, as a plugin's manifest has them. */
export function isOnOwnServer(address: string, servers: readonly string[]): boolean {
  const url = parseUrl(address);
  return url !== undefined && /^https?:$/.test(url.protocol) && servers.includes(serverOf(url));
}
