// Parses links as people write them: the scheme may be missing, and of duplicate names in a query the first one counts.
// Also checks links of YouTube's own servers before they are passed on. Plugin thread.

interface ParsedLink {
  readonly host: string;
  readonly path: string;
  /** Includes the question mark, or is empty. */
  readonly query: string;
}

const LINK = /^(?:https?:\/\/)?([a-z0-9.-]+)(\/[^?#]*)?(\?[^#]*)?(?:#.*)?$/;

/** Undefined if it is not a link to a lower-case host. */
export function parsedLink(text: string): ParsedLink | undefined {
  const [, host, path = "/", query = ""] = LINK.exec(text) ?? [];
  return host === undefined ? undefined : { host, path, query };
}

/** Names without value do not count. */
export function queryOf(text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (value !== "" && !query.has(name)) query.set(name, value);
  }
  return query;
}

/** Whether the URL's host is one of these, or a subdomain of one. */
export function isBelow(url: URL, hosts: readonly string[]): boolean {
  return hosts.some((host) => url.hostname === host || url.hostname.endsWith(`.${host}`));
}

/** Epoch milliseconds at which a link of googlevideo is refused; undefined where it says nothing. */
export function expiryOf(url: URL): number | undefined {
  const text = url.searchParams.get("expire") ?? /\/expire\/(\d{1,12})(?:\/|$)/.exec(url.pathname)?.[1];
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) * 1000 : undefined;
}
