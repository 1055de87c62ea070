// A fake YouTube: its interface as its clients see it, its player script, its media servers, its login, and servers for
// tokens and ciphers next to it. Content is made up; shapes and rules are those of the fact sheet, sections 1 to 6,
// read in youtube-source 158726d, yt-dlp 81ecd58, YouTube.js acc908a and yt-cipher 69b89f2. Runs in the process that
// starts it.

import { type SiteAnswer, type SiteFault, type SiteRequest, SiteServer } from "./site-server.ts";
import { GoogleVideo, MEDIA_HOST, type OfferedMedia } from "./youtube/google-video.ts";
import { numbered, VIDEOS } from "./youtube/library.ts";
import { EMBED_FLAGS, PlayerAnswers } from "./youtube/player-answers.ts";
import { type PlayerScript, REVERSE_SCRIPT } from "./youtube/player-scripts.ts";
import {
  continuationAnswer,
  deletedVideoRenderer,
  foundChannels,
  foundPlaylists,
  type ListedList,
  lockupViewModel,
  mixAnswer,
  playlistAnswer,
  playlistVideoRenderer,
  searchAnswer,
} from "./youtube/shapes.ts";
import { adtsSilence, webmTones } from "./youtube/songs.ts";

const SUGGESTIONS_HOST = "suggestqueries-clients6.youtube.com";
const SITE_HOSTS = ["www.youtube.com", "music.youtube.com", "youtubei.googleapis.com", SUGGESTIONS_HOST];
const LISTS: readonly ListedList[] = [
  { id: "PLsongs", title: "Playlist PLsongs", author: "Curator", count: 1234 },
  { id: "OLAK5uy_album", title: "Album", author: "Artist", count: 3 },
];
const CHANNELS: ReadonlyMap<string, string> = new Map([["UC0123456789abcdefABCDEF", "Artist"]]);
const PAGE_ENTRIES = 100;
const SEGMENT_SECONDS = 4;
const SEGMENTS = 3;
export const REFRESH_TOKEN = "1//refresh-token-of-the-stand-in";
export const ORIGIN_TOKEN = "origin-token-of-the-stand-in";
export const CIPHER_PASSWORD = "cipher-password";
const CLIENT_ID = "123456-application.apps.stand-in";
const CLIENT_SECRET = "application-secret";

/** The posted body, as far as it is used here. */
interface Posted {
  readonly context?: { readonly client?: { readonly clientName?: string; readonly visitorData?: string } };
  readonly query?: string;
  readonly browseId?: string;
  readonly continuation?: string;
  readonly playlistId?: string;
  readonly videoId?: string;
  readonly [name: string]: unknown;
}

export class YoutubeSite {
  readonly site: SiteServer;
  readonly media: GoogleVideo;
  readonly player: PlayerAnswers;
  /** The current player script. */
  script: PlayerScript = REVERSE_SCRIPT;
  /** WEB answers playlists as lockups. */
  hasLockups = false;
  #accessTokenCount = 0;

  static async start(): Promise<YoutubeSite> {
    const webm = await webmTones();
    const started: { site?: YoutubeSite } = {};
    const server = await SiteServer.start((request) => started.site?.answer(request));
    server.addMedia("live.aac", { bytes: adtsSilence(SEGMENT_SECONDS), mimeType: "audio/aac" });
    const live = { bytes: livePlaylist(server), mimeType: "application/vnd.apple.mpegurl" };
    server.addMedia("live.m3u8", live);
    started.site = new YoutubeSite(server, webm, live);
    return started.site;
  }

  private constructor(site: SiteServer, webm: Uint8Array, live: OfferedMedia) {
    this.site = site;
    this.media = new GoogleVideo(site.url);
    this.player = new PlayerAnswers({ site, media: this.media, webm, livePlaylist: live, script: () => this.script });
  }

  /** For `tonearm.hosts`. */
  get hosts(): Record<string, string> {
    return this.site.hosts(...SITE_HOSTS);
  }

  /** For the plugin's options: audio is served from loopback. */
  get options(): { readonly mediaHosts: string[] } {
    return { mediaHosts: ["127.0.0.1"] };
  }

  /** Addresses of a provider of tokens and a cipher server. */
  get providerUrl(): string {
    return `${this.site.url}/provider.stand-in`;
  }

  get cipherUrl(): string {
    return `${this.site.url}/cipher.stand-in`;
  }

  fail(fault: SiteFault): () => void {
    return this.site.fail(fault);
  }

  expireLinks(): void {
    this.media.expire();
    this.site.expireLinks();
  }

  /** Requests to one endpoint, in order. */
  asked(
    endpoint: string,
  ): readonly { readonly request: SiteRequest; readonly body: Posted; readonly clientName: string }[] {
    return this.site.requests
      .filter(({ path }) => path === `/youtubei/v1/${endpoint}`)
      .map((request) => {
        const body = JSON.parse(request.body) as Posted; // it was JSON when it was answered
        return { request, body, clientName: body.context?.client?.clientName ?? "" };
      });
  }

  close(): Promise<void> {
    return this.site.close();
  }

  answer(request: SiteRequest): SiteAnswer | undefined {
    const { host, path } = request;
    if (host === MEDIA_HOST) return this.media.answer(request);
    if (host === "provider.stand-in") return path === "/get_pot" ? provider() : undefined;
    if (host === "cipher.stand-in") return this.#cipher(request);
    if (path.startsWith("/youtubei/v1/")) return this.#innertube(request);
    if (host === SUGGESTIONS_HOST) return suggestions(request.query.get("q") ?? "");
    return host === "www.youtube.com" ? this.#page(request) : undefined;
  }

  // Pages

  #page({ path, query, body, headers }: SiteRequest): SiteAnswer | undefined {
    const scriptPath = `/s/player/${this.script.id}/player_es6.vflset/en_US/base.js`;
    if (path === "/iframe_api") {
      const widget = `www.youtube.com\\/s\\/player\\/${this.script.id}\\/www-widgetapi.vflset\\/x.js`;
      const text = `var scriptUrl = 'https:\\/\\/${widget}';`;
      return { text, headers: { "content-type": "text/javascript" } };
    }
    if (path.startsWith("/s/player/")) return path === scriptPath ? { text: this.script.text } : undefined;
    if (path.startsWith("/embed/")) {
      // Others get "Error 153", a page without flags.
      const isEmbedded = /^https?:\/\/(?!\w+\.youtube\.com)/.test(headers.referer ?? "");
      const isBrowser = headers["user-agent"]?.startsWith("Mozilla/5.0") === true;
      const data = { jsUrl: scriptPath, ...(isEmbedded && isBrowser && { encryptedHostFlags: EMBED_FLAGS }) };
      return { text: `<!doctype html><script>ytcfg.set(${JSON.stringify(data)});</script>` };
    }
    if (path === "/watch_videos") {
      const first = query.get("video_ids")?.split(",")[0] ?? "";
      return { status: 303, headers: { location: `https://www.youtube.com/watch?v=${first}&list=TLGGtemporary` } };
    }
    if (path === "/o/oauth2/token") return this.#token(JSON.parse(body));
    if (path === "/tv") return { text: '<script id="base-js" src="/s/_/kabuki/base.js" nonce="x"></script>' };
    if (path === "/s/_/kabuki/base.js") return { text: `var a={clientId:"${CLIENT_ID}",qf:"${CLIENT_SECRET}"};` };
    return undefined;
  }

  // Interface

  #innertube(request: SiteRequest): SiteAnswer | undefined {
    const endpoint = request.path.slice("/youtubei/v1/".length);
    const body = JSON.parse(request.body) as Posted; // a client that sends anything else is broken
    const clientName = body.context?.client?.clientName ?? "";
    const visitorData = body.context?.client?.visitorData ?? `visitor-${this.site.requests.length}`;
    const answer = this.#answerTo(endpoint, body, clientName, request);
    if (answer === undefined) return undefined;
    // Only refusals have another status.
    return "status" in answer ? (answer as SiteAnswer) : { json: { responseContext: { visitorData }, ...answer } };
  }

  #answerTo(endpoint: string, body: Posted, clientName: string, request: SiteRequest): object | undefined {
    switch (endpoint) {
      case "visitor_id":
        return {};
      case "player":
        return this.player.answer({
          body,
          clientName,
          authorization: request.headers.authorization,
          from: request.from,
        });
      case "search":
        return this.#search(clientName, body);
      case "browse":
        return this.#browse(clientName, body);
      case "next":
        return mix(clientName, body);
      default:
        return undefined;
    }
  }

  #search(clientName: string, { query = "", params }: Posted): object {
    if (params === "EgIQAw==") return foundPlaylists(LISTS, this.hasLockups);
    return params === "EgIQAg==" ? foundChannels(CHANNELS) : search(clientName, query);
  }

  /** The answer to a body, for faults that spare some. */
  browse(text: string): SiteAnswer {
    const body = JSON.parse(text) as Posted; // as above
    return { json: this.#browse(body.context?.client?.clientName ?? "", body) };
  }

  #browse(clientName: string, { browseId, continuation }: Posted): object {
    const [playlistId = "", from = "0"] = (continuation ?? browseId?.slice(2) ?? "").split("~");
    const page = this.#pageOf(playlistId, Number(from));
    if (page === undefined) {
      return { alerts: [{ alertRenderer: { type: "ERROR", text: { simpleText: "The playlist does not exist." } } }] };
    }
    if (continuation !== undefined) return continuationAnswer(clientName, page, this.hasLockups);
    const info = { alertWithButtonRenderer: { type: "INFO", text: { simpleText: "Unavailable videos are hidden" } } };
    return {
      ...playlistAnswer(clientName, { ...page, title: `Playlist ${playlistId}` }, this.hasLockups),
      alerts: [info],
    };
  }

  #pageOf(playlistId: string, from: number): { items: object[]; token: string | undefined } | undefined {
    const render = this.hasLockups ? lockupViewModel : playlistVideoRenderer;
    if (playlistId === "PLsongs" || playlistId.startsWith("OLAK5uy_")) {
      const [first, second, third] = VIDEOS.map(render);
      const gone = this.hasLockups ? [] : [deletedVideoRenderer("removed0001")];
      return {
        items: [first, ...gone, { playlistVideoRenderer: 5 }, second, third].flatMap((item) => item ?? []),
        token: undefined,
      };
    }
    if (playlistId === "PLempty") return { items: [], token: undefined };
    const count = { PLmany: 5000, PLcircle: Number.POSITIVE_INFINITY }[playlistId];
    if (count === undefined) return undefined;
    const end = Math.min(from + PAGE_ENTRIES, count);
    const items = Array.from({ length: end - from }, (_, index) => render(numbered(from + index)));
    const token = playlistId === "PLcircle" ? "PLcircle~0" : end < count ? `${playlistId}~${end}` : undefined;
    return { items, token };
  }

  // Token and cipher servers

  #cipher({ path, body, headers }: SiteRequest): SiteAnswer | undefined {
    if (headers.authorization !== CIPHER_PASSWORD) return { status: 401, json: { error: "Invalid API token" } };
    const posted = JSON.parse(body) as Readonly<Record<string, string | undefined>>; // by its own routes
    if (path === "/get_sts") return { json: { sts: String(this.player.timestamp) } };
    if (path !== "/resolve_url" || posted.stream_url === undefined) return undefined;
    const url = new URL(posted.stream_url);
    const n = url.searchParams.get("n");
    if (n !== null) url.searchParams.set("n", this.script.solveN(n));
    const { encrypted_signature: locked, signature_key: key = "sig" } = posted;
    if (locked !== undefined) url.searchParams.set(key, this.player.unlocked(locked));
    return { json: { resolved_url: url.href } };
  }

  #token(posted: Readonly<Record<string, unknown>>): SiteAnswer {
    const isKnown = posted.client_id === CLIENT_ID && posted.client_secret === CLIENT_SECRET;
    if (!isKnown) return { status: 401, json: { error: "invalid_client" } };
    if (posted.refresh_token !== REFRESH_TOKEN) return { status: 400, json: { error: "invalid_grant" } };
    const access_token = `access-token-${++this.#accessTokenCount}`;
    this.player.accessToken = access_token;
    return { json: { access_token, expires_in: 3600, scope: "x", token_type: "Bearer" } };
  }
}

function livePlaylist(server: SiteServer): Uint8Array {
  const segments = Array.from({ length: SEGMENTS }, () => `#EXTINF:${SEGMENT_SECONDS},\n${server.link("live.aac")}\n`);
  const head = `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:${SEGMENT_SECONDS}\n#EXT-X-MEDIA-SEQUENCE:7\n`;
  return Buffer.from(head + segments.join(""));
}

function provider(): SiteAnswer {
  const expiresAt = new Date(Date.now() + 6 * 3_600_000).toISOString();
  return { json: { poToken: ORIGIN_TOKEN, contentBinding: "x", expiresAt } };
}

function search(clientName: string, query: string): object {
  if (query === "new shape")
    return { contents: { sectionListRenderer: { contents: [{ novelViewModel: { id: "x" } }] } } };
  if (query === "nothing") {
    const contents = [
      { itemSectionRenderer: { contents: [{ backgroundPromoRenderer: { title: "No results found" } }] } },
    ];
    return { estimatedResults: "0", contents: { sectionListRenderer: { contents } } };
  }
  const found = VIDEOS.filter(({ state }) => state === "playable" || state === "live");
  return searchAnswer(clientName, found);
}

/** A call of a script, as its search field asks for it. */
function suggestions(words: string): SiteAnswer {
  const entries = [`${words} live`, `${words} [remix]`].map((text) => [text, 0, [512, 433]]);
  return { text: `window.google.ac.h(${JSON.stringify([words, entries, { k: 1, q: "x" }])})` };
}

function mix(clientName: string, { playlistId = "" }: Posted): object {
  const videos = Array.from({ length: 25 }, (_, index) => (index === 0 ? VIDEOS[0]! : numbered(index))); // it has more
  return mixAnswer(clientName, playlistId === "RDnameless" ? undefined : `Mix - ${playlistId}`, videos);
}
