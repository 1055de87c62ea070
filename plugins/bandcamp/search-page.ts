// Parses a search page into entries with kind, heading, subheading, address and picture. Pure. Plugin thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { parseTrackAddress } from "./links.ts";
import { attributeValues, type PageToken, readTokens } from "./page-reader.ts";

const RESULTS_MAX = 50;
const FIELDS = ["itemtype", "heading", "subhead", "itemurl", "art"] as const;
type Field = (typeof FIELDS)[number];

interface Result {
  readonly texts: Record<Field, string>;
  imageUrl: string | undefined;
}

/** The tracks among the results. How long they are is not said there. */
export function readSearchPage(page: string): SourceTrack[] {
  return readResults(page).flatMap((result) => trackOf(result) ?? []);
}

function readResults(page: string): Result[] {
  const results: Result[] = [];
  let field: { readonly name: Field; readonly element: string; depth: number } | undefined;
  for (const token of readTokens(page)) {
    const classes = token.kind === "open" ? classesOf(token) : [];
    if (classes.includes("searchresult")) {
      if (results.length === RESULTS_MAX) break;
      results.push({ texts: { itemtype: "", heading: "", subhead: "", itemurl: "", art: "" }, imageUrl: undefined });
      field = undefined;
    }
    const result = results.at(-1);
    if (result === undefined) continue;
    const name = FIELDS.find((candidate) => classes.includes(candidate));
    if (token.kind === "open" && name !== undefined) field = { name, element: token.name, depth: 0 };
    if (field === undefined) continue;
    if (token.kind === "text") result.texts[field.name] += token.text;
    else if (token.name === field.element) field.depth += token.kind === "open" ? 1 : -1;
    if (token.kind === "open" && token.name === "img" && field.name === "art") {
      result.imageUrl ??= attributeValues(token.attributes, "src")[0];
    }
    if (field.depth === 0 && token.kind === "close") field = undefined;
  }
  return results;
}

function classesOf({ attributes }: Extract<PageToken, { readonly kind: "open" }>): string[] {
  return (attributeValues(attributes, "class")[0] ?? "").split(/\s+/);
}

function trackOf({ texts, imageUrl }: Result): SourceTrack | undefined {
  const title = flat(texts.heading);
  const uri = parseTrackAddress(texts.itemurl.trim());
  if (flat(texts.itemtype).toLowerCase() !== "track" || title === "" || uri === undefined) return undefined;
  const isImage = imageUrl !== undefined && /^https:\/\//.test(imageUrl);
  return {
    identifier: uri,
    uri,
    title,
    isStream: false,
    artworkUrl: isImage ? imageUrl : null,
    author: artistOf(texts.subhead),
  };
}

/** `from ALBUM by ARTIST`, each on a separate line: a title may contain "by", too. */
function artistOf(text: string): string | undefined {
  const lines = text.split("\n").map(flat);
  const line = lines.findLast((candidate) => /^by\s/i.test(candidate));
  const pieces = flat(text).split(/\bby\s/i);
  return line?.slice(3) ?? (pieces.length > 1 ? pieces.at(-1) : undefined);
}

function flat(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
