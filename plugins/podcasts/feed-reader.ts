// Parses a podcast feed (RSS 2.0 and 1.0, Atom) as its text arrives, and stops once it has the requested episodes.
// Feeds are long, often not well-formed XML, and untrusted: depth, attributes, texts and episodes are bounded, and
// custom entities are never expanded. Plugin thread.

import sax from "sax";
import { type Episode, EpisodeDraft } from "./episode.ts";
import { FeedNames } from "./feed-names.ts";
import { plainTitle, webLink } from "./feed-text.ts";

/** In a text that is not quite XML, each `<br>` is a step down. */
const DEPTH_MAX = 200;
const ATTRIBUTES_MAX = 100;
const TEXT_LENGTH_MAX = 5000;
const ITEMS_MAX = 20_000;
const ROOTS = new Set(["rss", "rdf", "feed"]);
const CHANNEL_TEXTS = new Set(["title", "itunes:author", "author/name", "image/url", "logo", "icon", "link"]);
const ITEM_TEXTS = new Set([
  ...["title", "guid", "id", "link", "pubdate", "published", "updated", "dc:date"],
  ...["itunes:duration", "itunes:episode"],
]);

export interface Feed {
  readonly title: string | undefined;
  readonly author: string | undefined;
  readonly imageUrl: string | undefined;
  /** The show's own page. */
  readonly pageUrl: string | undefined;
  /** Newest first. */
  readonly episodes: readonly Episode[];
}

export interface FeedReaderOptions {
  /** Base address of relative links. */
  readonly url: string;
  readonly episodesMax: number;
  /** Requests only this episode. */
  readonly guid?: string | undefined;
}

/** A text that is being gathered. */
interface Capture {
  readonly depth: number;
  readonly path: string;
  readonly into: Map<string, string>;
  text: string;
}

export class FeedReader {
  readonly #options: FeedReaderOptions;
  readonly #parser = sax.parser(false, { lowercase: true, noscript: true });
  readonly #names = new FeedNames();
  /** Names of the elements that are open. */
  readonly #open: string[] = [];
  readonly #channel = new Map<string, string>();
  #item: { readonly draft: EpisodeDraft; readonly depth: number } | undefined;
  #capture: Capture | undefined;
  #episodes: Episode[] = [];
  #itemCount = 0;
  #attributeCount = 0;
  #isOldestFirst = false;
  #isFeed = false;
  #isDone = false;

  constructor(options: FeedReaderOptions) {
    this.#options = options;
    const parser = this.#parser;
    parser.onopentag = ({ name, attributes }) => this.#onOpen(name, attributes);
    parser.onclosetag = () => this.#onClose();
    parser.ontext = (text) => this.#onText(text);
    parser.oncdata = (text) => this.#onText(text);
    parser.onattribute = () => {
      this.#attributeCount += 1;
      if (this.#attributeCount > ATTRIBUTES_MAX) this.#isDone = true;
    };
    // The part read before is valid: many feeds break off, or contain a name that is too long.
    parser.onerror = () => {
      this.#isDone = true;
    };
  }

  /** True when no more input is needed. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** The next piece, some kilobytes: the parser checks between pieces whether to stop. */
  write(text: string): void {
    if (!this.#isDone) this.#parser.write(text);
  }

  /** Undefined: it was not a feed. */
  finish(): Feed | undefined {
    if (!this.#isFeed) return undefined;
    const { url, episodesMax } = this.#options;
    const text = (name: string): string | undefined => this.#channel.get(name);
    return {
      title: plainTitle(text("title")),
      author: plainTitle(text("itunes:author") ?? text("author/name")),
      imageUrl: webLink(text("itunes:image") ?? text("image/url") ?? text("logo") ?? text("icon"), url),
      pageUrl: webLink(text("link"), url),
      episodes: newestFirst(this.#episodes).slice(0, episodesMax),
    };
  }

  #onOpen(written: string, attributes: Readonly<Record<string, unknown>>): void {
    const name = this.#names.open(written, attributes);
    this.#open.push(name);
    this.#attributeCount = 0;
    const depth = this.#open.length;
    if (depth > DEPTH_MAX) this.#isDone = true;
    if (this.#isDone) return;
    if (depth === 1) {
      this.#isFeed = ROOTS.has(name);
      this.#isDone = !this.#isFeed;
    } else if (this.#item === undefined && depth <= 3 && (name === "item" || name === "entry")) {
      this.#item = { draft: new EpisodeDraft(), depth };
    } else if (this.#capture === undefined) this.#onMember(attributes);
  }

  /** An element of an episode or of the show. */
  #onMember(attributes: Readonly<Record<string, unknown>>): void {
    const depth = this.#open.length;
    const item = this.#item;
    const outer = item?.depth ?? (this.#open[0] === "feed" ? 1 : 2);
    if (depth <= outer || depth > outer + 2) return;
    if (item === undefined && outer === 2 && this.#open[1] !== "channel") return;
    const path = this.#open.slice(outer).join("/");
    const attribute = (name: string): string | undefined => {
      const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
      return typeof value === "string" ? value.slice(0, TEXT_LENGTH_MAX) : undefined;
    };
    if (item !== undefined) item.draft.addElement(path, attribute);
    else this.#addToChannel(path, attribute);
    const isNeeded = (item === undefined ? CHANNEL_TEXTS : ITEM_TEXTS).has(path);
    if (isNeeded) this.#capture = { depth, path, into: item?.draft.texts ?? this.#channel, text: "" };
  }

  #addToChannel(path: string, attribute: (name: string) => string | undefined): void {
    const href = attribute("href");
    if (href === undefined) return;
    if (path === "itunes:image") this.#channel.set(path, href);
    const isPage = path === "link" && (attribute("rel") ?? "alternate") === "alternate";
    if (isPage && !this.#channel.has(path)) this.#channel.set(path, href);
  }

  #onText(text: string): void {
    const capture = this.#capture;
    if (capture === undefined || this.#isDone) return;
    capture.text += text.slice(0, TEXT_LENGTH_MAX - capture.text.length);
  }

  #onClose(): void {
    const depth = this.#open.length;
    this.#open.pop();
    this.#names.close();
    if (this.#isDone) return;
    if (this.#capture?.depth === depth) {
      const { into, path, text } = this.#capture;
      if (!into.has(path) && text.trim() !== "") into.set(path, text);
      this.#capture = undefined;
    }
    if (this.#item?.depth === depth) {
      const { draft } = this.#item;
      this.#item = undefined;
      this.#onEpisode(draft.finish(this.#options.url));
    }
  }

  #onEpisode(episode: Episode | undefined): void {
    const { episodesMax, guid } = this.#options;
    this.#itemCount += 1;
    if (this.#itemCount >= ITEMS_MAX) this.#isDone = true;
    if (episode === undefined || (guid !== undefined && episode.guid !== guid)) return;
    this.#episodes.push(episode);
    if (guid !== undefined) this.#isDone = true;
    else if (this.#isOldestFirst && this.#episodes.length >= 2 * episodesMax) this.#forgetOldest();
    else if (!this.#isOldestFirst && this.#episodes.length === episodesMax) this.#detectOrder();
  }

  /**
   * Called when the requested number of episodes is there. Usually they are the newest; some shows list their first
   * episode first.
   */
  #detectOrder(): void {
    this.#isOldestFirst = isMostlyAscending(this.#episodes);
    this.#isDone = !this.#isOldestFirst;
  }

  #forgetOldest(): void {
    // Episodes without a date keep the order of the feed.
    this.#episodes = newestFirst(this.#episodes).slice(0, this.#options.episodesMax).reverse();
  }
}

function isMostlyAscending(episodes: readonly Episode[]): boolean {
  let ascending = 0;
  for (const [index, { publishedMs }] of episodes.entries()) {
    const before = episodes[index - 1]?.publishedMs;
    if (publishedMs !== undefined && before !== undefined) ascending += Math.sign(publishedMs - before);
  }
  // A single date does not show the order: read on.
  return ascending > 0 || episodes.length === 1;
}

/** One without a date is as old as the one before it. */
function newestFirst(episodes: readonly Episode[]): Episode[] {
  let lastMs = episodes.find(({ publishedMs }) => publishedMs !== undefined)?.publishedMs ?? 0;
  const dated = episodes.map((episode) => {
    lastMs = episode.publishedMs ?? lastMs;
    return { episode, timeMs: lastMs };
  });
  return dated.sort((one, other) => other.timeMs - one.timeMs).map(({ episode }) => episode);
}
