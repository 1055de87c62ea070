// One episode of a show, put together from the elements of its feed. An item without audio is not an episode. Plugin
// thread.

import { dateMsOf, durationMsOf, plainTitle, webLink } from "./feed-text.ts";

export interface Episode {
  /** The feed's id for the episode, at most 500 characters; the address of its audio if the feed has no id. */
  readonly guid: string;
  readonly title: string;
  readonly enclosureUrl: string;
  readonly enclosureType: string | undefined;
  readonly lengthMs: number | undefined;
  /** Epoch milliseconds. */
  readonly publishedMs: number | undefined;
  readonly imageUrl: string | undefined;
  /** The episode's own page. */
  readonly pageUrl: string | undefined;
  /** Episode number within the show. */
  readonly number: number | undefined;
}

interface Enclosure {
  readonly url: string;
  readonly type: string | undefined;
  /** Undefined: something else, or the feed does not say. */
  readonly medium: "audio" | "video" | undefined;
}

/** How long a file is, as written: in seconds. Only Media RSS has it. */
interface Duration {
  readonly url: string;
  readonly duration: string;
}

/** Of each kind that are kept. */
const ELEMENTS_MAX = 20;
const GUID_LENGTH_MAX = 500;
const TYPE_LENGTH_MAX = 100;
const AUDIO_FILE = /\.(?:mp3|m4a|m4b|mp4|aac|ogg|oga|opus|flac|wav|webm)$/i;

/** Collects the feed's data on an episode. */
export class EpisodeDraft {
  /** Texts of elements, by path. */
  readonly texts = new Map<string, string>();
  readonly #enclosures: Enclosure[] = [];
  readonly #durations: Duration[] = [];

  /** An element that says something in its attributes. */
  addElement(path: string, attribute: (name: string) => string | undefined): void {
    const href = attribute("href");
    const url = attribute("url") ?? attribute("rdf:resource") ?? attribute("resource");
    const type = attribute("type") ?? attribute("enc:type");
    const medium = mediumOf(type, attribute("medium"));
    const details = { type, medium };
    const duration = attribute("duration");
    if (url !== undefined && duration !== undefined && this.#durations.length < ELEMENTS_MAX)
      this.#durations.push({ url, duration });
    if (/^(?:enc:)?enclosure$/.test(path) && url !== undefined) this.#add({ url, ...details });
    else if (path === "link" && attribute("rel") === "enclosure" && href !== undefined)
      this.#add({ url: href, ...details });
    else if (path === "link" && href !== undefined && (attribute("rel") ?? "alternate") === "alternate")
      this.#set(path, href);
    else if (path === "itunes:image" && href !== undefined) this.#set(path, href);
    // Only where its type or medium says so: pictures stand there, too.
    else if (/^(media:group\/)?media:content$/.test(path) && url !== undefined && medium !== undefined)
      this.#add({ url, ...details });
  }

  /** Undefined if the episode has no audio. */
  finish(feedUrl: string): Episode | undefined {
    const text = (...paths: readonly string[]): string | undefined => {
      return paths.map((path) => this.texts.get(path)).find((value) => value !== undefined);
    };
    const enclosure = this.#enclosure(feedUrl);
    if (enclosure === undefined) return undefined;
    // Beside an enclosure, Media RSS may describe the same file.
    const same = this.#durations.find(({ url }) => webLink(url, feedUrl) === enclosure.url);
    const guid = text("guid", "id")?.trim();
    const number = /^\s*\d{1,6}\s*$/.exec(text("itunes:episode") ?? "")?.[0];
    return {
      guid: guid === undefined || guid === "" || guid.length > GUID_LENGTH_MAX ? enclosure.url : guid,
      title: plainTitle(text("title")) ?? "Unknown title",
      enclosureUrl: enclosure.url,
      enclosureType: enclosure.type?.trim().slice(0, TYPE_LENGTH_MAX),
      lengthMs: durationMsOf(text("itunes:duration")) ?? durationMsOf(same?.duration),
      publishedMs: dateMsOf(text("pubdate", "published", "dc:date", "updated")),
      imageUrl: webLink(text("itunes:image"), feedUrl),
      pageUrl: webLink(text("link"), feedUrl),
      number: number === undefined ? undefined : Number(number),
    };
  }

  #add(enclosure: Enclosure): void {
    if (this.#enclosures.length < ELEMENTS_MAX) this.#enclosures.push(enclosure);
  }

  #set(path: string, value: string): void {
    if (!this.texts.has(path)) this.texts.set(path, value);
  }

  /** The first enclosure that is audio; else the first that may be audio. */
  #enclosure(feedUrl: string): Enclosure | undefined {
    const playable = this.#enclosures.flatMap((enclosure) => {
      const url = webLink(enclosure.url, feedUrl);
      const isPlayable = url !== undefined && (enclosure.medium !== undefined || isAudioFile(url, enclosure.type));
      return isPlayable ? [{ ...enclosure, url }] : [];
    });
    return playable.find(({ medium }) => medium === "audio") ?? playable[0];
  }
}

/** By type, else by medium. */
function mediumOf(type = "", medium = ""): Enclosure["medium"] {
  if (/^\s*(?:audio\/|application\/ogg)/i.test(type)) return "audio";
  if (/^\s*video\//i.test(type)) return "video";
  if (/^\s*(?:image|text)\//i.test(type)) return undefined;
  const said = medium.trim().toLowerCase();
  return said === "audio" || said === "video" ? said : undefined;
}

/** Decides by the file name if there is no type; with no telling name, an unknown type is taken for audio. */
function isAudioFile(url: string, type: string | undefined): boolean {
  const said = type?.trim().toLowerCase() ?? "";
  return AUDIO_FILE.test(new URL(url).pathname) ? !/^(?:image|text)\//.test(said) : said === "";
}
