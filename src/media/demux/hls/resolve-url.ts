// Addresses inside HLS playlists. Audio thread.

import { parseUrl } from "../../../lib/parse-url.ts";

/** http and https only; the address guard checks the host at connect time. */
export function resolveUrl(address: string, base: URL): URL | undefined {
  const url = address === "" ? undefined : parseUrl(address, base.href);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined;
}
