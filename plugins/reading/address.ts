// Parses addresses in untrusted text, for all built-in plugins. Pure. Main and plugin threads.

import { trimmedText } from "./json.ts";

const LINK_LENGTH_MAX = 2048;

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

/**
 * A link in the JSON of a site: as it is written there, or resolved against `base`, to which it may be relative. Null
 * unless it is an `http` or `https` address.
 */
export function webLinkOf(value: unknown, base?: string): string | null {
  const text = trimmedText(value) ?? "";
  const url = text === "" || text.length > LINK_LENGTH_MAX ? undefined : webAddressIn(text, base);
  if (url === undefined) return null;
  return base === undefined ? text : url.href;
}

/** Parses the link of a page, whose scheme may be missing. Undefined also for one with a user or a port. */
export function pageAddressIn(text: string): URL | undefined {
  const url = webAddressIn(/^https?:\/\//i.test(text) ? text : `https://${text}`);
  return url === undefined || `${url.username}${url.password}${url.port}` !== "" ? undefined : url;
}
