// Whether an identifier may be a source's, by what the source has said of itself: looked at on the main thread, in time
// that grows with the identifier's length alone, so that no plugin's thread is asked for what is another's. Main
// thread.

import type { Claims } from "../../plugin-api/plugin.ts";

/** As long as links get. */
const IDENTIFIER_LENGTH_MAX = 4096;
const WORD = /^[\w-]+$/;
/** Scheme, user and port around a host; without a scheme, a dot makes it one. */
const HOST = /^(?:https?:\/\/)?(?:[^/?#@]*@)?([a-z0-9.-]+)(?::\d+)?(?:[/?#]|$)/i;

/** False for certain; true may be turned down by the source itself. */
export function isClaimed(identifier: string, { prefixes = [], hosts = [], words = [] }: Claims): boolean {
  if (identifier.length > IDENTIFIER_LENGTH_MAX) return false;
  if (prefixes.some((prefix) => identifier.startsWith(prefix))) return true;
  const host = HOST.exec(identifier)?.[1]?.toLowerCase();
  if (host !== undefined && hosts.some((claimed) => isHost(host, claimed))) return true;
  return words.some(({ startsWith = "", length }) => {
    return (
      identifier.startsWith(startsWith) && (length ?? identifier.length) === identifier.length && WORD.test(identifier)
    );
  });
}

/** `*.example.org` is every name below `example.org`, and not that itself. */
function isHost(host: string, claimed: string): boolean {
  return claimed.startsWith("*.") ? host.endsWith(claimed.slice(1)) : host === claimed;
}
