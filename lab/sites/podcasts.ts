// Fake podcast servers: hosts with feeds, their audio, and Apple's directory of shows. Feeds are made up in the shapes
// of the sheet of sources, section 4.16 (RSS 2.0, Atom, the itunes elements); the directory's answers are from there,
// too, where they are marked as not checked. Runs in the process that starts it.

import { countedSong } from "../media-files/counted-song.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const APPLE_HOST = "itunes.apple.com";
const FEED_HOSTS = ["feeds.example", "old.example", "tracker.example"];
const SONG_SECONDS = 30;

/** The members of an item of a feed. */
export interface EpisodeEntry {
  readonly title: string;
  readonly guid?: string;
  /** As it is written into the feed. */
  readonly date?: string;
  readonly url: string;
  /** Further elements, as XML. */
  readonly more?: string;
}

/** A show as Apple's directory knows it. */
interface ListedShow {
  readonly id: number;
  readonly name: string;
  readonly feedUrl?: string;
  readonly episodes?: readonly { readonly id: number; readonly guid: string }[];
}

export class PodcastSites {
  readonly server: SiteServer;
  /** By host and path: `feeds.example/show.rss`. */
  readonly feeds = new Map<string, SiteAnswer>();
  readonly shows: ListedShow[] = [];

  static async start(): Promise<PodcastSites> {
    // The script runs with the first request, long after this has returned.
    const sites: { current?: PodcastSites } = {};
    const server = await SiteServer.start((request) => sites.current?.answer(request));
    sites.current = new PodcastSites(server);
    return sites.current;
  }

  private constructor(server: SiteServer) {
    this.server = server;
    server.addMedia("episode.ogg", { bytes: countedSong({ seconds: SONG_SECONDS }), mimeType: "audio/ogg" });
    const url = server.link("episode.ogg");
    const episodes = [3, 2, 1].map((day) => ({
      title: `Day ${day}`,
      guid: `day-${day}`,
      date: `Mon, 0${day} Jun 2026 06:00:00 GMT`,
      url,
    }));
    this.addFeed("feeds.example/show.rss", rssFeed(episodes));
    this.shows.push({
      id: 101,
      name: "The Made-up Show",
      feedUrl: "https://feeds.example/show.rss",
      episodes: [{ id: 2002, guid: "day-2" }],
    });
  }

  /** For the node's `hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(APPLE_HOST, ...FEED_HOSTS);
  }

  addFeed(at: string, text: string | Uint8Array, contentType = "application/rss+xml"): void {
    const headers = { "content-type": contentType };
    this.feeds.set(at, typeof text === "string" ? { headers, text } : { headers, bytes: text });
  }

  answer({ host, path, query }: SiteRequest): SiteAnswer | undefined {
    if (host !== APPLE_HOST) return this.feeds.get(`${host}${path}`);
    if (path === "/search") return results(this.#search(query.get("term") ?? ""));
    if (path === "/lookup") return results(this.#lookup(Number(query.get("id")), query.get("entity")));
    return undefined;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #search(term: string): unknown[] {
    const words = term.toLowerCase();
    return this.shows.filter(({ name }) => name.toLowerCase().includes(words)).map(showEntry);
  }

  #lookup(id: number, entity: string | null): unknown[] {
    const show = this.shows.find((candidate) => candidate.id === id);
    if (show === undefined) return [];
    if (entity !== "podcastEpisode") return [showEntry(show)];
    const episodes = (show.episodes ?? []).map(({ id: trackId, guid }) => ({
      wrapperType: "podcastEpisode",
      kind: "podcast-episode",
      trackId,
      collectionId: id,
      trackName: guid,
      episodeGuid: guid,
      feedUrl: show.feedUrl,
      episodeUrl: "https://feeds.example/x.mp3",
    }));
    return [showEntry(show), ...episodes];
  }
}

/** A feed in RSS 2.0, in the order of the episodes. */
export function rssFeed(episodes: readonly EpisodeEntry[], channel = "<title>The Made-up Show</title>"): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
${channel}
<link>https://show.example/</link><itunes:author>Ann Author</itunes:author>
<itunes:image href="https://show.example/cover.jpg"/>
${episodes.map(rssItem).join("\n")}
</channel></rss>`;
}

function rssItem({ title, guid, date, url, more = "" }: EpisodeEntry): string {
  return [
    `<item><title>${title}</title><enclosure url="${url.replaceAll("&", "&amp;")}" type="audio/mpeg" length="1"/>`,
    ...(guid === undefined ? [] : [`<guid isPermaLink="false">${guid}</guid>`]),
    ...(date === undefined ? [] : [`<pubDate>${date}</pubDate>`]),
    `${more}</item>`,
  ].join("");
}

function showEntry({ id, name, feedUrl }: ListedShow): unknown {
  return {
    wrapperType: "track",
    kind: "podcast",
    collectionId: id,
    trackId: id,
    collectionName: name,
    artistName: "Ann Author",
    ...(feedUrl !== undefined && { feedUrl }),
  };
}

function results(found: readonly unknown[]): SiteAnswer {
  // It says JavaScript where it means JSON.
  const headers = { "content-type": "text/javascript; charset=utf-8" };
  return { headers, text: JSON.stringify({ resultCount: found.length, results: found }) };
}
