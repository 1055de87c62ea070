// Links as people write them, taken apart by their letters: a scheme may be missing, and of equal names in a query the
// first one counts. And links of YouTube's own servers, looked at before they are handed on. Plugin thread.

interface ParsedLink {
  readonly host: string;
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
}

const LINK = /^(?:https?:\/\/)?([a-z0-9.-]+)(\/[^?#]*)?(\?[^#]*)?(?:#.*)?$/;

/** Undefined for what is no link to a host in lower case. */
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

/** Whether it leads to one of these hosts, or to one below them. */
export function isBelow(url: URL, hosts: readonly string[]): boolean {
  return hosts.some((host) => url.hostname === host || url.hostname.endsWith(`.${host}`));
}

/** Epoch milliseconds at which a link of googlevideo is refused; undefined where it says nothing. */
export function expiryOf(url: URL): number | undefined {
  const text = url.searchParams.get("expire") ?? /\/expire\/(\d{1,12})(?:\/|$)/.exec(url.pathname)?.[1];
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) * 1000 : undefined;
}
