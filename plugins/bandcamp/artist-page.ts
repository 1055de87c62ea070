// Reads the page of an artist: which releases there are. The first ones stand in the page as a grid of links, the rest
// as JSON in an attribute of the grid. Pure. Plugin thread.

import { listOf, membersOf, trimmedText } from "../reading/json.ts";
import { parseReleaseAddress } from "./links.ts";
import { attributeValues, readTokens } from "./page-reader.ts";

export interface ArtistPage {
  readonly name: string | undefined;
  /** Addresses of albums and single tracks, each once, as the page has them: newest first. */
  readonly releases: readonly string[];
}

/** Empty `releases` where the page names none. `url` is where it was found. */
export function readArtistPage(page: string, url: string): ArtistPage {
  const addresses = [...gridLinks(page), ...laterLinks(page)].flatMap((link) => parseReleaseAddress(link, url) ?? []);
  return { name: nameOf(page), releases: [...new Set(addresses)] };
}

/** The first link within each entry that has an item's id. */
function* gridLinks(page: string): Generator<string> {
  let isInItem = false;
  for (const token of readTokens(page)) {
    if (token.kind !== "open") continue;
    if (token.name === "li") isInItem = attributeValues(token.attributes, "data-item-id").length > 0;
    const [link] = token.name === "a" ? attributeValues(token.attributes, "href") : [];
    if (!isInItem || link === undefined) continue;
    isInItem = false;
    yield link;
  }
}

function laterLinks(page: string): string[] {
  const [text = "[]"] = attributeValues(page, "data-client-items");
  try {
    return listOf(JSON.parse(text)).flatMap((item) => trimmedText(membersOf(item).page_url) ?? []);
  } catch {
    // The grid alone is better than nothing.
    return [];
  }
}

function nameOf(page: string): string | undefined {
  for (const token of readTokens(page)) {
    if (token.kind !== "open" || token.name !== "meta") continue;
    if (attributeValues(token.attributes, "property")[0] === "og:title") {
      return trimmedText(attributeValues(token.attributes, "content")[0]);
    }
  }
  return undefined;
}
