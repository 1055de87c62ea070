// Reads a URL without throwing. Used on both threads.

/**
 * The URL that `text` is, undefined when it is none. Stands in for `URL.canParse`, which in Node.js 20 and 22 refuses
 * hosts outside of ASCII once it has been called often enough to be optimised
 * (https://github.com/AikidoSec/firewall-node/pull/1086).
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    // Wrong text from clients and servers is nothing special.
    return undefined;
  }
}
