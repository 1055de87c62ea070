// What address a stranger's text is, for all plugins that come with the node. Pure. Main and plugin threads.

/**
 * Undefined for what is none. In place of `URL.canParse`, which in Node.js 20 and 22 refuses hosts outside of ASCII
 * once it has been optimised.
 */
export function addressOf(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    // Sites and clients write all sorts of things.
    return undefined;
  }
}

/** The same, of `http` and `https` alone. */
export function webAddressIn(text: string, base?: string): URL | undefined {
  const url = addressOf(text, base);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}
