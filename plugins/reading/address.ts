// Parses addresses in untrusted text, for all built-in plugins. Pure. Main and plugin threads.

/**
 * Undefined if the text is not a URL. Replaces `URL.canParse`, which in Node.js 20 and 22 refuses non-ASCII hosts once
 * it has been optimised.
 */
export function addressOf(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    // Sites and clients write all sorts of things.
    return undefined;
  }
}

/** Like `addressOf`, for `http` and `https` only. */
export function webAddressIn(text: string, base?: string): URL | undefined {
  const url = addressOf(text, base);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}
