// Checks identifiers against the sources' claims: on the main thread, in time linear in the identifier's length, so
// that only the right plugin's thread is asked. Main thread.

import type { Claims } from "../../plugin-api/plugin.ts";

/** Longest identifier, chosen for links. */
const IDENTIFIER_LENGTH_MAX = 4096;
const WORD = /^[\w-]+$/;
/** Scheme, user and port around a host; without a scheme, a dot makes it one. */
const HOST = /^(?:https?:\/\/)?(?:[^/?#@]*@)?([a-z0-9.-]+)(?::\d+)?(?:[/?#]|$)/i;

/** The path of a link, up to its query. */
const PATH = /^https?:\/\/[^/?#]+(\/[^?#]*)/i;

/** False for certain; true may be turned down by the source itself. */
export function isClaimed(identifier: string, claims: Claims): boolean {
  const { prefixes = [], hosts = [], endings = [], words = [] } = claims;
  if (identifier.length > IDENTIFIER_LENGTH_MAX) return false;
  if (prefixes.some((prefix) => identifier.startsWith(prefix))) return true;
  const host = HOST.exec(identifier)?.[1]?.toLowerCase();
  if (host !== undefined && hosts.some((claimed) => isHost(host, claimed))) return true;
  if (endings.length > 0) {
    const path = PATH.exec(identifier)?.[1]?.toLowerCase();
    if (path !== undefined && endings.some((ending) => path.endsWith(ending))) return true;
  }
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
