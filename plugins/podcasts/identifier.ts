// Parses podcast identifiers: a feed, one episode of it, a show in Apple's directory, or search words. Plugin thread.

import { addressOf } from "../reading/address.ts";
import { webLink } from "./feed-text.ts";

type PodcastIdentifier =
  | { readonly kind: "feed"; readonly url: string }
  | { readonly kind: "episode"; readonly url: string; readonly guid: string }
  | { readonly kind: "apple"; readonly showId: string; readonly episodeId: string | undefined }
  | { readonly kind: "words"; readonly words: string }
  /** A prefix of ours, and nothing behind it that can be looked for. */
  | { readonly kind: "nothing" };

const EPISODE_PREFIX = "podcast:";
/** Podcast programs put these in front of links to feeds: `feed://example.org/a` and `feed:https://example.org/a`. */
const PROGRAM_SCHEME = /^(?:feed|podcast|pcast|itpc):(?:\/\/)?/i;
const APPLE_HOSTS = new Set(["podcasts.apple.com", "itunes.apple.com"]);
const WORDS_LENGTH_MAX = 200;

/** Undefined: it is another source's. */
export function readPodcastIdentifier(identifier: string): PodcastIdentifier | undefined {
  const [, prefix, rest = ""] = /^(podcast|rss):(.*)$/s.exec(identifier) ?? [];
  if (prefix === undefined) return readLink(identifier);
  const text = rest.trim();
  const link = linkOf(text, { isHostEnough: prefix === "rss" });
  if (link !== undefined) return readPrefixed(link);
  return prefix === "podcast" && text !== ""
    ? { kind: "words", words: text.slice(0, WORDS_LENGTH_MAX) }
    : { kind: "nothing" };
}

/** The permanent identifier of an episode: its feed and its guid there. */
export function episodeIdentifier(feedUrl: string, guid: string): string {
  return `${EPISODE_PREFIX}${feedUrl}#${encodeURIComponent(guid)}`;
}

/** A link behind one of our prefixes. */
function readPrefixed(link: string): PodcastIdentifier {
  const apple = readAppleLink(link);
  if (apple !== undefined) return apple;
  const url = webLink(link);
  if (url === undefined) return { kind: "nothing" };
  const hash = link.indexOf("#");
  const guid = hash === -1 ? "" : decoded(link.slice(hash + 1));
  return guid === "" ? { kind: "feed", url } : { kind: "episode", url, guid };
}

/** A link without prefix: only one that looks like a podcast. */
function readLink(identifier: string): PodcastIdentifier | undefined {
  const link = linkOf(identifier.trim(), { isHostEnough: true });
  if (link === undefined) return undefined;
  const apple = readAppleLink(link);
  if (apple !== undefined) return apple;
  const url = webLink(link);
  return url !== undefined && /\.rss$/i.test(new URL(url).pathname) ? { kind: "feed", url } : undefined;
}

/** `https://podcasts.apple.com/us/podcast/a-show/id123?i=456`. */
function readAppleLink(link: string): PodcastIdentifier | undefined {
  const { hostname = "", pathname = "", searchParams } = addressOf(link) ?? {};
  if (!APPLE_HOSTS.has(hostname)) return undefined;
  const showId = /\/podcast\/(?:[^/]+\/)?id(\d{1,15})\/?$/.exec(pathname)?.[1];
  if (showId === undefined) return undefined;
  const episodeId = /^\d{1,18}$/.exec(searchParams?.get("i") ?? "")?.[0];
  return { kind: "apple", showId, episodeId };
}

/** The link with its scheme; undefined if it is not a link. `isHostEnough`: accepts `example.org/feed`, too. */
function linkOf(text: string, { isHostEnough }: { readonly isHostEnough: boolean }): string | undefined {
  if (/^https?:\/\//i.test(text)) return text;
  const bare = text.replace(PROGRAM_SCHEME, "");
  if (/^https?:\/\//i.test(bare)) return bare;
  const isLink = bare !== text || isHostEnough || /^[^\s/]+\.[a-z]{2,}(?::\d+)?\/\S*$/i.test(bare);
  return isLink && /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?(?:[/?#]\S*)?$/i.test(bare) ? `https://${bare}` : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Written by another program: taken as it is.
    return text;
  }
}
