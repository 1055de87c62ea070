// A fake SoundCloud: its home page with scripts, its API and the songs behind it, small and made up. Shapes are those
// of the fact sheet on sources, section 4.1 (lavaplayer 32e8fed, yt-dlp 81ecd58, NodeLink c3108d2): the page's script
// tags, `resolve`, `tracks?ids=` without order, sets whose later tracks are only ids, likes with `next_href`,
// transcodings whose addresses answer a signed link, or 404 for labels' tracks (sites-2026-11, F4). Opus within HLS is one Ogg file cut into pieces, with headers in
// the first (lavaplayer, the same); other than there, AAC comes as ADTS and not in MP4.

import { concat, repeat } from "../media-files/bytes.ts";
import { AAC_SILENCE, adtsFrame, mp3Frame } from "../media-files/containers.ts";
import { oggFile } from "../media-files/counted-song.ts";
import { countedTones, TONES_SECONDS } from "../media-files/counted-tones.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const WEB = "soundcloud.com";
const ASSETS = "a-v2.sndcdn.com";
const API = "api-v2.soundcloud.com";
const HOSTS = [WEB, ASSETS, API, "on.soundcloud.com", "soundcloud.app.goo.gl"];
export const SOUNDCLOUD_CLIENT_ID = "A1b2C3d4E5f6G7h8A1b2C3d4E5f6G7h8";
export const SOUNDCLOUD_SECRET = "s-Se3cretSong";
const SONG_SECONDS = TONES_SECONDS;
/** Shorter than there, so that well before the end of a song there are some that have not been requested yet. */
const SEGMENT_SECONDS = 2;
const PAGES_PER_SECOND = 2;
/** A set is answered with this many whole tracks. */
const WHOLE_TRACKS = 5;
const IDS_MAX = 50;

type SoundCloudJson = Record<string, unknown>;

interface TranscodingFields {
  readonly preset: string;
  readonly protocol: string;
  readonly mimeType: string;
  readonly snipped?: boolean;
}

/** All kinds of open transcodings, in the order in which the site lists them. */
export const SOUNDCLOUD_TRANSCODINGS = {
  aacHls: { preset: "aac_160k", protocol: "hls", mimeType: 'audio/mp4; codecs="mp4a.40.2"' },
  mp3Hls: { preset: "mp3_1_0", protocol: "hls", mimeType: "audio/mpeg" },
  mp3Progressive: { preset: "mp3_1_0", protocol: "progressive", mimeType: "audio/mpeg" },
  opusHls: { preset: "opus_0_0", protocol: "hls", mimeType: 'audio/ogg; codecs="opus"' },
} as const satisfies Record<string, TranscodingFields>;

const AAC = 'audio/mp4; codecs="mp4a.40.2"';
/** Those of a label's track: the open ones are listed and answered with 404. */
export const SOUNDCLOUD_LABEL_TRANSCODINGS: readonly TranscodingFields[] = [
  { preset: "aac_160k", protocol: "ctr-encrypted-hls", mimeType: AAC },
  { preset: "aac_160k", protocol: "cbc-encrypted-hls", mimeType: AAC },
  SOUNDCLOUD_TRANSCODINGS.mp3Hls,
  SOUNDCLOUD_TRANSCODINGS.mp3Progressive,
];

const USER = {
  kind: "user",
  id: 1,
  username: "The Stand-ins",
  permalink_url: "https://soundcloud.com/stand-ins",
  avatar_url: "https://i1.sndcdn.com/avatars-000-large.jpg",
};

export class SoundCloudSite {
  readonly server: SiteServer;
  /** For `tonearm.hosts`. */
  readonly hosts: Record<string, string>;
  /** By id. */
  readonly tracks = new Map<number, SoundCloudJson>();
  /** Results of `resolve`, by the address of a page. */
  readonly pages = new Map<string, SoundCloudJson>();
  /** The user's likes, or any other list of theirs, by its path. */
  readonly lists = new Map<string, readonly SoundCloudJson[]>();
  /** Targets of short links, by their address without a scheme. */
  readonly shortLinks = new Map<string, string>();
  /** The id that the home page's scripts contain, and that the API accepts. */
  clientId = SOUNDCLOUD_CLIENT_ID;
  /** Added to signed links. */
  linkQuery: Readonly<Record<string, string>> = {};

  static async start(): Promise<SoundCloudSite> {
    let site: SoundCloudSite | undefined;
    const server = await SiteServer.start((request) => site?.answer(request));
    site = new SoundCloudSite(server, oggFile(await countedTones()));
    return site;
  }

  private constructor(server: SiteServer, ogg: Buffer) {
    this.server = server;
    this.hosts = server.hosts(...HOSTS);
    this.#addSongs(ogg);
    this.#addContent();
  }

  close(): Promise<void> {
    return this.server.close();
  }

  /** A track at a page of the user's; `more` replaces members. */
  addTrack(id: number, slug: string, more: SoundCloudJson = {}): SoundCloudJson {
    const address = `https://soundcloud.com/stand-ins/${slug}`;
    const track = {
      kind: "track",
      id,
      title: `Song ${id}`,
      permalink_url: address,
      user: USER,
      policy: "ALLOW",
      full_duration: SONG_SECONDS * 1000,
      duration: SONG_SECONDS * 1000,
      monetization_model: "NOT_APPLICABLE",
      artwork_url: `https://i1.sndcdn.com/artworks-${id}-large.jpg`,
      publisher_metadata: { isrc: `XX${String(id).padStart(10, "0")}` },
      media: { transcodings: listTranscodings(id, Object.values(SOUNDCLOUD_TRANSCODINGS)) },
      ...more,
    };
    this.tracks.set(id, track);
    this.pages.set(address, track);
    return track;
  }

  /** A label's track as since 2026-05: protected by DRM, and open transcodings that are only listed. */
  addLabelTrack(id: number, slug: string): SoundCloudJson {
    const media = { transcodings: listTranscodings(id, SOUNDCLOUD_LABEL_TRANSCODINGS) };
    return this.addTrack(id, slug, { policy: "MONETIZE", monetization_model: "AD_SUPPORTED", media });
  }

  /** A set of these tracks: the first few whole, the rest as ids. */
  addSet(address: string, id: number, trackIds: readonly number[], more: SoundCloudJson = {}): void {
    const tracks = trackIds.map((trackId, index) =>
      index < WHOLE_TRACKS ? this.tracks.get(trackId) : { id: trackId },
    );
    this.pages.set(address, {
      kind: "playlist",
      id,
      title: `Set ${id}`,
      permalink_url: address,
      user: USER,
      is_album: false,
      artwork_url: null,
      track_count: trackIds.length,
      tracks,
      ...more,
    });
  }

  /** The answers of each host. */
  answer(request: SiteRequest): SiteAnswer | undefined {
    const { host, path } = request;
    if (host === WEB && path === "/") return { text: homePage(), headers: { "content-type": "text/html" } };
    if (host === ASSETS) return this.#script(path);
    const location = this.shortLinks.get(`${host}${path}`);
    if (location !== undefined) return { status: 302, headers: { location } };
    if (host !== API) return undefined;
    return request.query.get("client_id") === this.clientId ? this.#api(request) : { status: 401, json: {} };
  }

  /** The id is in the last script but one. */
  #script(path: string): SiteAnswer | undefined {
    if (/^\/assets\/[0-8]-/.test(path)) return { text: "(()=>{})();" };
    return { text: `e={client_id:"${this.clientId}",env:"production"};` };
  }

  #api({ path, query, host }: SiteRequest): SiteAnswer | undefined {
    const [, first, second] = path.split("/");
    if (path === "/resolve") return jsonOrNothing(this.pages.get(query.get("url") ?? ""));
    if (path === "/search/tracks") return this.#search(query);
    if (first === "search") return page(this.#listsNamed(second, query), `https://${host}${path}`, query);
    if (path === "/tracks") return this.#some(query);
    if (first === "tracks") return this.#one(Number(second), query);
    if (first === "playlists") return jsonOrNothing([...this.pages.values()].find((set) => set.id === Number(second)));
    if (first === "media") return this.#media(path, query);
    const list = this.lists.get(path);
    if (list !== undefined) return page(list, `https://${host}${path}`, query);
    return path === `/users/${USER.id}` ? { json: USER } : undefined;
  }

  #search(query: URLSearchParams): SiteAnswer {
    const asked = (query.get("q") ?? "").toLowerCase();
    const wordsIn = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const found = [...this.tracks.values()].filter(({ title, user }) => {
      const known = wordsIn(`${String(title)} ${(user as Partial<typeof USER>).username}`);
      return String(title).toLowerCase().includes(asked) || wordsIn(asked).every((word) => known.includes(word));
    });
    const offset = Number(query.get("offset"));
    return {
      json: { collection: found.slice(offset, offset + Number(query.get("limit"))), total_results: found.length },
    };
  }

  /** Albums, other sets, or users. */
  #listsNamed(kind: string | undefined, query: URLSearchParams): SoundCloudJson[] {
    const words = query.get("q")?.toLowerCase() ?? "";
    return [...this.pages.values()].filter(({ kind: own, is_album: isAlbum, title, username }) => {
      if (
        !String(title ?? username)
          .toLowerCase()
          .includes(words)
      )
        return false;
      if (kind === "users") return own === "user";
      return own === "playlist" && isAlbum === (kind === "albums");
    });
  }

  #known(ids: readonly number[]): SoundCloudJson[] {
    return ids.map((id) => this.tracks.get(id)).filter((track) => track !== undefined);
  }

  /** Not in the requested order. Tracks with a secret need that of their set. */
  #some(query: URLSearchParams): SiteAnswer {
    const ids = (query.get("ids") ?? "").split(",").map(Number);
    if (ids.length > IDS_MAX) return { status: 400, json: {} };
    const found = this.#known(ids).reverse();
    const hasSecret = query.get("playlistSecretToken") !== null;
    return { json: found.filter(({ secret_token: secret }) => secret === undefined || hasSecret) };
  }

  #one(id: number, query: URLSearchParams): SiteAnswer | undefined {
    const track = this.tracks.get(id);
    const isAllowed = track?.secret_token === undefined || track.secret_token === query.get("secret_token");
    return isAllowed ? jsonOrNothing(track) : undefined;
  }

  /** `/media/soundcloud:tracks:11/<uuid>/stream/<protocol>`. */
  #media(path: string, query: URLSearchParams): SiteAnswer | undefined {
    const [, id = "", preset = "", protocol] = /tracks:(\d+)\/([^/]+)\/(?:stream|preview)\/([\w-]+)$/.exec(path) ?? [];
    const found = this.#one(Number(id), query);
    if (found === undefined || isProtected(this.tracks.get(Number(id)))) return undefined;
    const isPreview = path.includes("/preview/");
    const name = protocol === "progressive" ? "song.mp3" : `${preset.slice(0, preset.indexOf("_"))}/song.m3u8`;
    return { json: { url: this.server.link(isPreview ? `preview/${name}` : name, this.linkQuery) } };
  }

  #addSongs(ogg: Buffer): void {
    const mp3Parts = partsOf(mp3Frame(), 44_100 / 1152);
    const aacParts = partsOf(adtsFrame(AAC_SILENCE), 44_100 / 1024);
    for (const folder of ["", "preview/"]) {
      this.server.addMedia(`${folder}song.mp3`, { bytes: concat(...mp3Parts), mimeType: "audio/mpeg" });
      this.#addHls(`${folder}opus`, { parts: oggParts(ogg), mimeType: "audio/ogg" });
      this.#addHls(`${folder}mp3`, { parts: mp3Parts, mimeType: "audio/mpeg" });
      this.#addHls(`${folder}aac`, { parts: aacParts, mimeType: "audio/aac" });
    }
  }

  #addHls(
    folder: string,
    { parts, mimeType }: { readonly parts: readonly Uint8Array[]; readonly mimeType: string },
  ): void {
    const seconds = SONG_SECONDS / parts.length;
    const head = ["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-PLAYLIST-TYPE:VOD", `#EXT-X-TARGETDURATION:${seconds}`];
    parts.forEach((bytes, index) => {
      this.server.addMedia(`${folder}/data${index}`, { bytes, mimeType });
    });
    this.server.addMedia(`${folder}/song.m3u8`, {
      bytes: (ticket) => {
        const pieces = parts.map((_bytes, index) => `#EXTINF:${seconds.toFixed(3)},\ndata${index}?ticket=${ticket}`);
        return Buffer.from([...head, ...pieces, "#EXT-X-ENDLIST", ""].join("\n"));
      },
      mimeType: "application/vnd.apple.mpegurl",
    });
  }

  #addContent(): void {
    const { aacHls, mp3Progressive, mp3Hls } = SOUNDCLOUD_TRANSCODINGS;
    this.addTrack(11, "song");
    this.addTrack(12, "only-mp3", { media: { transcodings: listTranscodings(12, [mp3Hls, mp3Progressive]) } });
    this.addTrack(13, "only-aac", { media: { transcodings: listTranscodings(13, [aacHls]) } });
    this.addTrack(14, "blocked", { policy: "BLOCK" });
    const snipped = { ...mp3Progressive, snipped: true };
    this.addTrack(15, "preview", {
      policy: "SNIP",
      monetization_model: "SUB_HIGH_TIER",
      full_duration: 210_000,
      media: { transcodings: listTranscodings(15, [snipped]) },
    });
    const encrypted = SOUNDCLOUD_LABEL_TRANSCODINGS.slice(0, 2);
    this.addTrack(16, "encrypted", { media: { transcodings: listTranscodings(16, encrypted) } });
    this.addTrack(17, `hidden/${SOUNDCLOUD_SECRET}`, { secret_token: SOUNDCLOUD_SECRET });
    for (let id = 100; id < 220; id++) this.addTrack(id, `track-${id}`);
    const many = Array.from({ length: 120 }, (_, index) => 219 - index);
    this.addSet("https://soundcloud.com/stand-ins/sets/mix", 901, many);
    this.addSet("https://soundcloud.com/stand-ins/sets/hidden/s-Se3cretSet", 902, [11, 12, 13, 100, 101, 17, 102]);
    this.pages.set("https://soundcloud.com/stand-ins", USER);
    this.lists.set("/users/1/tracks", this.#known([11, 12, 14]));
    this.lists.set("/users/1/likes", [
      { kind: "like", playlist: { kind: "playlist", id: 901, title: "Set" } },
      ...[11, 14, 15, 12].map((id) => ({ kind: "like", track: this.tracks.get(id) })),
    ]);
    this.lists.set("/stream/users/1/reposts", [{ type: "track-repost", track: this.tracks.get(13) }]);
    this.shortLinks.set("on.soundcloud.com/AbC", "https://soundcloud.com/stand-ins/song?utm_source=mobi");
    this.shortLinks.set("soundcloud.app.goo.gl/old", "https://m.soundcloud.com/stand-ins/only-mp3");
  }
}

/** Transcodings of a track as the API lists them. */
export function listTranscodings(id: number, all: readonly TranscodingFields[]): SoundCloudJson[] {
  return all.map(({ preset, protocol, mimeType, snipped = false }) => ({
    url: `https://${API}/media/soundcloud:tracks:${id}/${preset}/${snipped ? "preview" : "stream"}/${protocol}`,
    preset,
    quality: "sq",
    snipped,
    duration: snipped ? 30_000 : SONG_SECONDS * 1000,
    format: { protocol, mime_type: mimeType },
  }));
}

/** Nothing of a track with encrypted transcodings is open but AAC. */
function isProtected(track: SoundCloudJson | undefined): boolean {
  const text = JSON.stringify(track);
  return text.includes("encrypted-hls") && !/"hls","mime_type":"audio\/mp4/.test(text);
}

function homePage(): string {
  const scripts = Array.from({ length: 10 }, (_, index) => {
    return `<script crossorigin src="https://${ASSETS}/assets/${index}-${index}a0c9f.js"></script>`;
  });
  return `<!DOCTYPE html><html><body><div id="app"></div>\n${scripts.join("\n")}\n</body></html>`;
}

function page(list: readonly SoundCloudJson[], address: string, query: URLSearchParams): SiteAnswer {
  const [offset, limit] = [Number(query.get("offset")), Number(query.get("limit"))];
  const isLast = offset + limit >= list.length;
  const next = `${address}?offset=${offset + limit}&limit=${limit}`;
  return { json: { collection: list.slice(offset, offset + limit), next_href: isLast ? null : next } };
}

function jsonOrNothing(json: SoundCloudJson | undefined): SiteAnswer | undefined {
  return json === undefined ? undefined : { json };
}

/** Equal frames, in pieces of a segment's length. */
function partsOf(frame: Uint8Array, framesPerSecond: number): Uint8Array[] {
  const part = repeat(frame, Math.floor(SEGMENT_SECONDS * framesPerSecond));
  return Array.from({ length: SONG_SECONDS / SEGMENT_SECONDS }, () => part);
}

/** One Ogg file in pieces of a segment's length. */
function oggParts(file: Buffer): Uint8Array[] {
  const starts: number[] = [];
  for (let at = file.indexOf("OggS"); at >= 0; at = file.indexOf("OggS", at + 4)) starts.push(at);
  const [, , ...audio] = starts;
  const cuts = audio.filter((_, index) => index % (SEGMENT_SECONDS * PAGES_PER_SECOND) === 0);
  cuts[0] = 0;
  return cuts.map((from, index) => file.subarray(from, cuts[index + 1] ?? file.length));
}
