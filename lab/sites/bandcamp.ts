// A fake Bandcamp: an artist with albums and single tracks, a search, and MP3 behind links that expire. Shapes: fact
// sheet of the sources, section 4.3 (lavaplayer 32e8fed, yt-dlp 81ecd58: `data-tralbum`, `data-embed`, search results);
// the search's API, and the bot wall before the search page (at times before artist pages too): sites-2026-11, F5;
// the grid of an artist's page with `data-item-id` and `data-client-items` as several readers of it describe it in
// public. All names are made up. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

/** Its artist's host, one on another domain, and the site itself. */
const HOSTS = [
  "bandcamp.com",
  "stand-in.bandcamp.com",
  "single.bandcamp.com",
  "nobody.bandcamp.com",
  "music.stand-in.example",
];
const SEARCH_API = "/api/bcsearch_public_api/1/autocomplete_elastic";
/** Some 26 s. */
const SONG_FRAMES = 1000;

interface StandInTrack {
  readonly title: string;
  readonly slug: string;
  readonly seconds?: number;
  readonly isrc?: string;
  /** Default: it can be played. */
  readonly isSoldOnly?: boolean;
  readonly artist?: string;
}

interface StandInRelease {
  readonly kind: "album" | "track";
  readonly title: string;
  readonly slug: string;
  readonly tracks: readonly StandInTrack[];
}

const FIRST_ALBUM: StandInRelease = {
  kind: "album",
  title: `Rooms & "Doors"`,
  slug: "rooms",
  tracks: [
    { title: "Hall", slug: "hall", seconds: 201.5 },
    { title: "Attic", slug: "attic", isSoldOnly: true },
    { title: "Cellar & Stairs", slug: "cellar", seconds: 90, artist: "A Guest" },
  ],
};
const SINGLE: StandInRelease = {
  kind: "track",
  title: "Garden",
  slug: "garden",
  tracks: [{ title: "Garden", slug: "garden", seconds: 61.25, isrc: "XX0000000001" }],
};
const SOLD_ONLY: StandInRelease = {
  kind: "track",
  title: "Attic",
  slug: "attic",
  tracks: [{ title: "Attic", slug: "attic", isSoldOnly: true }],
};

export class BandcampSite {
  readonly site: SiteServer;
  readonly releases = new Map<string, StandInRelease>();
  /** The bot wall also stands before pages of artists. */
  areArtistsWalled = false;

  static async start(): Promise<BandcampSite> {
    // Not called before the constructor has finished.
    const box: { self?: BandcampSite } = {};
    const site = await SiteServer.start((request) => box.self?.answer(request));
    box.self = new BandcampSite(site);
    return box.self;
  }

  private constructor(site: SiteServer) {
    this.site = site;
    site.addMedia("song.mp3", { bytes: repeat(mp3Frame(), SONG_FRAMES), mimeType: "audio/mpeg" });
    const hall: StandInRelease = { kind: "track", title: "Hall", slug: "hall", tracks: FIRST_ALBUM.tracks.slice(0, 1) };
    for (const release of [FIRST_ALBUM, SINGLE, SOLD_ONLY, hall]) this.add(release);
  }

  /** For `tonearm.hosts`. */
  get hosts(): Record<string, string> {
    return this.site.hosts(...HOSTS);
  }

  add(release: StandInRelease): void {
    this.releases.set(`/${release.kind}/${release.slug}`, release);
  }

  answer({ host, path, query, headers, body }: SiteRequest): SiteAnswer | undefined {
    if (host === "bandcamp.com" && path === SEARCH_API) return searchAnswer(body);
    // No value is needed, and nobody knows why.
    const isWalled = path === "/search" || (path === "/music" && this.areArtistsWalled);
    if (isWalled && !/\bidentity\b/.test(headers.cookie ?? "")) return page(WALL_PAGE);
    if (host === "bandcamp.com" && path === "/search") return page(searchPage(query.get("q") ?? ""));
    if (host === "bandcamp.com" && path === "/signup") return page("<title>Sign up</title>");
    if (host === "nobody.bandcamp.com") {
      return { status: 303, headers: { location: "https://bandcamp.com/signup?new_domain=nobody" } };
    }
    if (host === "single.bandcamp.com" && path === "/music") return page(this.#releasePage(FIRST_ALBUM, host));
    if (host === "bandcamp.com") return undefined;
    if (path === "/music") return page(artistPage());
    const release = this.releases.get(path);
    return release === undefined ? { status: 404, text: "<h1>not here</h1>" } : page(this.#releasePage(release, host));
  }

  #releasePage({ kind, title, slug, tracks }: StandInRelease, host: string): string {
    const tralbum = {
      artist: "Stand In",
      art_id: 12345,
      url: `https://${host}/${kind}/${slug}`,
      current: { title, isrc: tracks[0]?.isrc ?? null, publish_date: "01 Jan 2026 00:00:00 GMT" },
      trackinfo: tracks.map((track, index) => this.#trackInfo(track, index)),
    };
    const embed = { album_title: kind === "album" ? title : null };
    return [
      `<!DOCTYPE html><html><head><title>${escaped(title)} | Stand In</title>`,
      `<meta property="og:title" content="${escaped(title)}, by Stand In">`,
      `<script type="text/javascript" data-embed="${escaped(JSON.stringify(embed))}"`,
      ` data-tralbum="${escaped(JSON.stringify(tralbum))}" src="/x.js"></script></head><body></body></html>`,
    ].join("");
  }

  #trackInfo({ title, slug, seconds = 0, isSoldOnly = false, artist = "" }: StandInTrack, index: number): unknown {
    const file = isSoldOnly ? null : { "mp3-128": this.site.link("song.mp3") };
    const link = { title_link: `/track/${slug}`, artist: artist === "" ? null : artist };
    return { track_id: 900 + index, title, ...link, duration: seconds, file };
  }

  close(): Promise<void> {
    return this.site.close();
  }
}

/** The page for visitors that look like programs. */
export const WALL_PAGE = [
  '<!DOCTYPE html><html lang="en"><head><title>Client Challenge</title><script src="/_fs-ch-x/script.js"></script>',
  "</head><body><div>JavaScript is disabled in your browser.</div></body></html>",
].join("");

/** Fields that the site has and nobody needs are left out. */
function searchAnswer(body: string): SiteAnswer {
  const { search_text: words = "", search_filter: filter } = JSON.parse(body) as Record<string, string>; // made by us
  const entry = (type: string, name: string, more: Record<string, unknown> = {}) => ({
    type,
    name,
    art_id: 12345,
    img: "https://f4.bcbits.com/img/a0000012345_7.jpg",
    band_name: "Stand In",
    album_name: null,
    item_url_root: "https://stand-in.bandcamp.com",
    ...more,
  });
  const results = [
    entry("t", "Hall & Way", { album_name: "Rooms", item_url_path: "https://stand-in.bandcamp.com/track/hall" }),
    entry("b", "Stand In", { item_url_path: "https://stand-in.bandcamp.com" }),
    entry("t", "Garden", {
      art_id: null,
      band_name: "Own Domain",
      item_url_root: "https://music.stand-in.example",
      item_url_path: "https://music.stand-in.example/track/garden",
    }),
  ];
  const found = words.includes("nothing") ? [] : results.filter(({ type }) => filter === "" || type === filter);
  return { json: { auto: { results: found, stat_params_for_tag: "x", time_ms: 5 } } };
}

function page(text: string): SiteAnswer {
  return { text, headers: { "content-type": "text/html; charset=UTF-8" } };
}

function artistPage(): string {
  const later = [
    { page_url: "/track/garden", title: "Garden", type: "track" },
    { page_url: "/album/rooms", title: "twice", type: "album" },
    { page_url: "/merch/shirt", title: "A Shirt", type: "package" },
  ];
  return [
    '<html><head><meta property="og:title" content="Stand In &amp; Friends"></head>',
    '<body><nav><a href="/album/gone">new</a></nav>',
    `<ol id="music-grid" data-client-items="${escaped(JSON.stringify(later))}">`,
    '<li data-item-id="album-1" class="music-grid-item"><a href="/album/rooms"><div class="art"></div>',
    '<p class="title">Rooms</p></a></li><li data-item-id="album-2">',
    ' <a href="https://music.stand-in.example/album/gone">',
    "<p>Gone</p></a></li></ol></body></html>",
  ].join("");
}

function searchPage(words: string): string {
  const entry = (kind: string, heading: string, below: string, link: string) => `
<li class="searchresult data-search" data-search="{}"><a class="artcont" href="${link}">
<div class="art"><img src="https://f4.bcbits.com/img/a0000012345_7.jpg"></div></a>
<div class="result-info"><div class="itemtype">
  ${kind}
</div><div class="heading"><a href="${link}">${heading}</a></div>
<div class="subhead">
  ${below}
</div><div class="itemurl"><a href="${link}">${link}</a></div></div></li>`;
  const results = [
    entry("TRACK", "Hall &amp; <b>Way</b>", "from Stand by the Door\n  by Stand In, again", address("hall")),
    entry("ARTIST", "Stand In", "Nowhere", "https://stand-in.bandcamp.com?from=search"),
    entry("TRACK", "Without address", "by Nobody", "https://stand-in.bandcamp.com/?x"),
    entry("TRACK", "Garden", "by Own Domain", "https://music.stand-in.example/track/garden?from=search&amp;q=x"),
  ];
  const found = words.includes("nothing") ? [] : results;
  return `<html><body><!-- <li class="searchresult"> --><ul class="result-items">${found.join("")}</ul></body></html>`;
}

function address(slug: string): string {
  return `https://stand-in.bandcamp.com/track/${slug}?from=search&amp;search_sig=x`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll("'", "&#39;");
}
