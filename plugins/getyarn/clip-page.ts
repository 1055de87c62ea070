// Reads the page of a clip: two of its meta tags. Pure. Plugin thread.

import { addressOf } from "../reading/address.ts";

/** Longer tags, or more of them, do not occur in real pages. */
const TAG_LENGTH_MAX = 4096;
const TAGS_MAX = 200;
const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&quot;": '"',
  "&#39;": "'",
  "&lt;": "<",
  "&gt;": ">",
};

interface ClipPage {
  readonly videoUrl: string | undefined;
  readonly title: string | undefined;
}

export function readClipPage(page: string): ClipPage {
  const contents = new Map<string, string>();
  let at = page.indexOf("<meta");
  for (let count = 0; at >= 0 && count < TAGS_MAX; count++) {
    const tag = page.slice(at, at + TAG_LENGTH_MAX);
    const property = attributeOf(tag, "property");
    const content = attributeOf(tag, "content");
    if (property !== undefined && content !== undefined && !contents.has(property)) contents.set(property, content);
    at = page.indexOf("<meta", at + 5);
  }
  const url = contents.get("og:video:secure_url") ?? "";
  const isUsable = /^https?:\/\//i.test(url) && addressOf(url) !== undefined;
  return { videoUrl: isUsable ? url : undefined, title: contents.get("og:title")?.trim() || undefined };
}

/** The attribute's value in the first tag of the text. */
function attributeOf(text: string, name: string): string | undefined {
  const tag = /^<meta\s(?:[^>"']|"[^"]*"|'[^']*')*/.exec(text)?.[0] ?? "";
  const [, double, single] = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag) ?? [];
  return (double ?? single)?.replace(/&(?:amp|quot|#39|lt|gt);/g, (entity) => ENTITIES[entity] ?? entity);
}
