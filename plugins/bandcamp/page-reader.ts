// Reads pages without a document tree: attributes by their names, and a page as a row of tags and texts. Tolerant of
// whatever a page may be, and linear in its length. Pure. Plugin thread.

import { decodeEntities } from "../reading/entities.ts";

export type PageToken =
  /** `attributes`: as they are written, with their entities. */
  | { readonly kind: "open"; readonly name: string; readonly attributes: string }
  | { readonly kind: "close"; readonly name: string }
  /** With its entities as characters. */
  | { readonly kind: "text"; readonly text: string };

/** Text inside these elements is not markup. */
const RAW_ELEMENTS = new Set(["script", "style", "textarea", "title"]);

/**
 * The values of all attributes of this name, wherever in the page, in their order. Only those within quotes, and at
 * most `countMax` (default 20).
 */
export function attributeValues(page: string, name: string, countMax = 20): string[] {
  const values: string[] = [];
  const marker = `${name}=`;
  for (let at = page.indexOf(marker); at >= 0 && values.length < countMax; at = page.indexOf(marker, at + 1)) {
    const quote = page.charAt(at + marker.length);
    const isName = at === 0 || /[\s"']/.test(page.charAt(at - 1));
    if (!isName || (quote !== '"' && quote !== "'")) continue;
    const start = at + marker.length + 1;
    const end = page.indexOf(quote, start);
    // No later quote will be found for later ones either.
    if (end < 0) break;
    values.push(decodeEntities(page.slice(start, end)));
    at = end;
  }
  return values;
}

/** The page as a row of tags and texts; comments and the insides of scripts are left out. */
export function* readTokens(page: string): Generator<PageToken> {
  let at = 0;
  while (at < page.length) {
    const open = page.indexOf("<", at);
    const textEnd = open < 0 ? page.length : open;
    if (textEnd > at) yield { kind: "text", text: decodeEntities(page.slice(at, textEnd)) };
    if (open < 0) return;
    const end = endOfTag(page, open);
    const token = tokenOf(page.slice(open, end));
    if (token !== undefined) yield token;
    at = token?.kind === "open" && RAW_ELEMENTS.has(token.name) ? endOfRaw(page, end, token.name) : end;
  }
}

/** The index behind the tag or comment that begins at `open`. */
function endOfTag(page: string, open: number): number {
  if (page.startsWith("<!--", open)) return behind(page.indexOf("-->", open + 4), 3, page);
  if (!/[a-zA-Z/!?]/.test(page.charAt(open + 1))) return open + 1;
  let quote = "";
  for (let at = open + 1; at < page.length; at++) {
    const character = page.charAt(at);
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === ">") return at + 1;
    // Elsewhere it is an apostrophe.
    else if ((character === '"' || character === "'") && page.charAt(at - 1) === "=") quote = character;
  }
  return page.length;
}

function endOfRaw(page: string, from: number, name: string): number {
  const closing = new RegExp(`</${name}`, "gi");
  closing.lastIndex = from;
  return closing.exec(page)?.index ?? page.length;
}

function behind(index: number, length: number, page: string): number {
  return index < 0 ? page.length : index + length;
}

function tokenOf(tag: string): PageToken | undefined {
  const [, slash, name] = /^<(\/?)([a-zA-Z][\w-]{0,40})/.exec(tag) ?? [];
  if (name === undefined) return undefined;
  const lower = name.toLowerCase();
  if (slash === "/") return { kind: "close", name: lower };
  return { kind: "open", name: lower, attributes: tag.slice(1 + name.length) };
}
