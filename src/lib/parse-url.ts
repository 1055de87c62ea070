// Reads a URL without throwing, and names one without its secrets. Any thread.

const SHOWN_PATH_LENGTH_MAX = 120;

/**
 * The URL that `text` is, undefined when it is not a URL. Replaces `URL.canParse`, which in Node.js 20 and 22 refuses
 * hosts outside of ASCII once it has been called often enough to be optimised
 * (https://github.com/AikidoSec/firewall-node/pull/1086).
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    // Invalid text from clients and servers is expected, and no error.
    return undefined;
  }
}

/**
 * The server of an `http` or `https` address as `host:port`: in lower case, without brackets and the dot that ends a
 * full name.
 */
export function serverOf({ hostname, port, protocol }: Pick<URL, "hostname" | "port" | "protocol">): string {
  const host = hostname.replaceAll(/[[\]]/g, "").replace(/\.$/, "");
  return `${host}:${portOf({ port, protocol })}`;
}

/** The port of an `http` or `https` address, as a text or a number: the scheme's own where it names none. */
export function portOf({ port, protocol }: Pick<URL, "port" | "protocol">): string | number {
  return port || (protocol === "https:" ? 443 : 80);
}

/**
 * The address of a server, as operators write it: `http` or `https`, a host, perhaps a port and the beginning of all
 * paths; no user, query or fragment. Returned without a trailing slash; undefined when it is not such an address.
 */
export function parseBaseUrl(text: string): string | undefined {
  const url = parseUrl(text.trim());
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  const isPlain = url.username + url.password + url.search + url.hash === "";
  return isPlain ? url.href.replace(/\/+$/, "") : undefined;
}

/** The URL of an HTTP proxy, with or without credentials and nothing behind its port; undefined for anything else. */
export function parseProxyUrl(text: string): string | undefined {
  const url = parseUrl(text.trim());
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return url.pathname + url.search + url.hash === "/" ? url.href.replace(/\/$/, "") : undefined;
}

/**
 * Scheme, host and the beginning of the path: what follows may be a secret. In whole parts: half of a secret would not
 * be known as one.
 */
export function describeUrl({ origin, pathname }: Pick<URL, "origin" | "pathname">): string {
  const isLong = pathname.length > SHOWN_PATH_LENGTH_MAX;
  return `${origin}${isLong ? pathname.slice(0, pathname.lastIndexOf("/", SHOWN_PATH_LENGTH_MAX) + 1) : pathname}`;
}
