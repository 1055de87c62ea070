// A fake Twitch: a channel that is live and one that is not, a past broadcast, a clip; its page with the client id, its
// interface and its playlists. Shapes: fact sheet of the sources, section 4.4 (lavaplayer 32e8fed, yt-dlp 81ecd58);
// members of VideoMetadata and ShareClipRenderStatus as yt-dlp reads them; master playlists of usher's two versions as
// streamlink's tests record them; ads as streamlink 8.6.3 recognises them. The audio is MP3 where Twitch has AAC in
// MPEG-TS: HLS readers detect the format by bytes. All names are made up. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const CLIENT_ID = "standinclientid0000000000000000";
const DEVICE_ID = "standin-device-0001";
const HASHES: Readonly<Record<string, string>> = {
  StreamMetadata: "ad022ca32220d5523d03a23cbcb5beaa1e0999889c1f8f78f9f2520dafb5cae6",
  VideoMetadata: "45111672eea2e507f8ba44d101a61862f9c56b11dee09a15634cb75cb9b9084d",
  ShareClipRenderStatus: "2db6a3b20eabf510bd3cf465ae2408834b59eb6b8af89ca73ab1486cacecfb63",
};
/** Another client id that Twitch accepts: that of yt-dlp. */
const OTHER_CLIENT_ID = "ue6666qo983tsx6so1t0vnawi233wa";
/** 1152 samples at 44.1 kHz each: some two seconds. */
const SEGMENT_FRAMES = 77;
const SEGMENT_SECONDS = 2.011;
const AD_DATE = 'START-DATE="2026-11-25T10:00:00.000Z",DURATION=15.0';
const VIDEO_SEGMENTS = 10;
const LIVE_WINDOW = 4;

interface Question {
  readonly operationName?: string;
  readonly query?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly extensions?: { readonly persistedQuery?: { readonly sha256Hash?: string } };
}

interface SegmentsShown {
  readonly first: number;
  readonly end: number;
  readonly isEnded: boolean;
  readonly adsEnd?: number;
}

export class TwitchSite {
  readonly site: SiteServer;
  /** The id that its page contains, and that it accepts. */
  clientId = CLIENT_ID;
  /** Unix seconds in its tokens. */
  tokenExpires = 1_900_000_000;
  /** Further members of its tokens. */
  tokenSays: Readonly<Record<string, unknown>> = {};
  /** What it does with a hash that it does not know: ignores it if there is a text beside it, or refuses both. */
  unknownHash: "ignored" | "refused" = "ignored";
  /** Client ids that fail the integrity check. */
  readonly distrusted = new Set<string>();
  /** Versions of usher's interface that are served. */
  usherVersions: readonly (1 | 2)[] = [1, 2];
  /** Segments of ads at the beginning of a live stream. */
  adSegments = 0;
  #liveSegments = LIVE_WINDOW;
  #isLiveOver = false;

  static async start(): Promise<TwitchSite> {
    const box: { self?: TwitchSite } = {};
    const site = await SiteServer.start((request) => box.self?.answer(request));
    box.self = new TwitchSite(site);
    return box.self;
  }

  private constructor(site: SiteServer) {
    this.site = site;
    site.addMedia("segment.mp3", { bytes: repeat(mp3Frame(), SEGMENT_FRAMES), mimeType: "audio/mpeg" });
    site.addMedia("ad.mp3", { bytes: repeat(adFrame(), SEGMENT_FRAMES), mimeType: "audio/mpeg" });
    site.addMedia("clip.mp3", { bytes: repeat(mp3Frame(), 1000), mimeType: "audio/mpeg" });
  }

  /** For `tonearm.hosts`. */
  get hosts(): Record<string, string> {
    return this.site.hosts("www.twitch.tv", "gql.twitch.tv", "usher.ttvnw.net");
  }

  /** For the option `playlistServer`: the links that a whole node plays point here. */
  get playlistServer(): string {
    return `${this.site.url}/usher.ttvnw.net`;
  }

  /** The broadcast ends with its current segments. */
  endLive(): void {
    this.#isLiveOver = true;
  }

  answer(request: SiteRequest): SiteAnswer | undefined {
    const { host, path } = request;
    if (host === "www.twitch.tv" && path === "/") return this.#page();
    if (host === "gql.twitch.tv" && path === "/gql") return this.#gql(request);
    if (host === "usher.ttvnw.net") return this.#playlist(request);
    return undefined;
  }

  #page(): SiteAnswer {
    return {
      text: `<html><script>window.a={};commonOptions={headers:{}},clientId="${this.clientId}",b=1;</script></html>`,
      headers: {
        "set-cookie": ["server_session_id=0; Path=/", `unique_id=${DEVICE_ID}; Domain=.twitch.tv; Path=/; Secure`],
      },
    };
  }

  #gql({ method, headers, body }: SiteRequest): SiteAnswer {
    if (method !== "POST") return { status: 405 };
    const clientId = String(headers["client-id"]);
    if (clientId !== this.clientId && clientId !== OTHER_CLIENT_ID) {
      return {
        status: 400,
        json: { error: "Bad Request", status: 400, message: 'The "Client-ID" header is invalid.' },
      };
    }
    if (this.distrusted.has(clientId)) {
      return { json: { errors: [{ message: "failed integrity check" }], extensions: { challenge: {} } } };
    }
    // The fake checks only as closely as the tests need.
    const { operationName = "", query, variables = {}, extensions } = JSON.parse(body) as Question;
    const hash = extensions?.persistedQuery?.sha256Hash;
    const isKnown = hash !== undefined && HASHES[operationName] === hash;
    if (isKnown) return { json: { data: this.#metadata(operationName, variables) } };
    if (query === undefined || (hash !== undefined && this.unknownHash === "refused")) {
      return { json: { errors: [{ message: "PersistedQueryNotFound" }] } };
    }
    if (operationName === "") return { json: { data: this.#tokens(query) } };
    return { json: { data: requested(query, this.#metadata(operationName, variables)) } };
  }

  #metadata(name: string, variables: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    if (name === "StreamMetadata") return { user: CHANNELS[String(variables.channelLogin)] ?? null };
    if (name === "VideoMetadata") return { video: variables.videoID === "123456789" ? VIDEO : null };
    return { clip: variables.slug === "BraveStandIn-aB3_x" ? this.#clip() : null };
  }

  #clip(): unknown {
    const film = (quality: string) => ({
      frameRate: 30,
      quality,
      sourceURL: this.site.link("clip.mp3", { q: quality }),
    });
    return {
      id: "7",
      title: "What a clip",
      durationSeconds: 26,
      thumbnailURL: "https://static-cdn.jtvnw.net/clip.jpg",
      broadcaster: { login: "Stand_In", displayName: "Stand In" },
      videoQualities: [film("1080"), film("480"), film("160")],
      assets: [{ videoQualities: [film("1080"), film("480"), film("160")] }, { videoQualities: [film("720")] }],
      playbackAccessToken: this.#token({ clip_slug: "x" }),
    };
  }

  #tokens(query: string): unknown {
    const [, member = "", id = ""] = /(\w+PlaybackAccessToken)\(\w+: "(\w+)"/.exec(query) ?? [];
    return { [member]: id === "nobody" ? null : this.#token({ of: id }) };
  }

  #token(says: Readonly<Record<string, unknown>>): unknown {
    const value = { authorization: { forbidden: false, reason: "" }, geoblock_reason: "", expires: this.tokenExpires };
    return { value: JSON.stringify({ ...value, ...says, ...this.tokenSays }), signature: "5167" };
  }

  #playlist({ path, query }: SiteRequest): SiteAnswer | undefined {
    const isMedia = path.startsWith("/media/");
    if (!isMedia && (query.get("sig") !== "5167" || !query.get("token")?.includes("expires"))) return { status: 403 };
    const version = path.includes("/v2/") ? 2 : 1;
    const item = path.replace("/v2/", "/");
    if (!isMedia && !this.usherVersions.includes(version)) return { status: 404, text: "404 page not found" };
    if (item === "/api/channel/hls/stand_in.m3u8") return playlist(this.#master("live", version));
    if (item === "/vod/123456789.m3u8") return playlist(this.#master("video", version));
    if (item === "/vod/42.m3u8") {
      return { status: 403, json: [{ url: path, type: "error", error_code: "vod_manifest_restricted" }] };
    }
    if (path === "/media/live/audio_only.m3u8") return playlist(this.#live());
    if (path === "/media/video/audio_only.m3u8")
      return playlist(this.#segments({ first: 0, end: VIDEO_SEGMENTS, isEnded: true }));
    if (isMedia) return { status: 500, text: "the picture must not be requested" };
    return { status: 404, json: [{ error: "transcode does not exist", error_code: "transcode_does_not_exist" }] };
  }

  #master(what: string, version: 1 | 2): string {
    const base = `${this.playlistServer}/media/${what}`;
    const variants = [
      { id: "chunked", says: 'BANDWIDTH=6000000,RESOLUTION=1920x1080,CODECS="avc1.64002A,mp4a.40.2"' },
      { id: "audio_only", says: 'BANDWIDTH=160000,CODECS="mp4a.40.34"' },
    ];
    const lines = variants.flatMap(({ id, says }) => {
      const address = `${base}/${id}.m3u8`;
      const names = `STABLE-VARIANT-ID="${id}",IVS-NAME="${id}",IVS-VARIANT-SOURCE="transcode"`;
      if (version === 2) return [`#EXT-X-STREAM-INF:${says},${names}`, address];
      const media = `#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="${id}",NAME="${id}",AUTOSELECT=YES,DEFAULT=YES`;
      return [media, `#EXT-X-STREAM-INF:${says},VIDEO="${id}"`, address];
    });
    return ["#EXTM3U", '#EXT-X-TWITCH-INFO:NODE="stand-in",SERVER-TIME="1800000000.00"', ...lines].join("\n");
  }

  /** One more segment with each request, until it is over. */
  #live(): string {
    const end = this.#isLiveOver ? this.#liveSegments - 1 : this.#liveSegments++;
    const window = { first: end - LIVE_WINDOW, end, adsEnd: this.adSegments };
    return this.#segments({ ...window, isEnded: this.#isLiveOver });
  }

  /** Segments before `adsEnd` are ads. */
  #segments({ first, end, isEnded, adsEnd = 0 }: SegmentsShown): string {
    const segments = Array.from({ length: end - first }, (_, index) => {
      const sequence = first + index;
      const isAd = sequence < adsEnd;
      const url = this.site.link(isAd ? "ad.mp3" : "segment.mp3", { sequence: String(sequence) });
      const edge = sequence === adsEnd && adsEnd > 0 ? ["#EXT-X-DISCONTINUITY"] : [];
      return [...edge, `#EXTINF:${SEGMENT_SECONDS},${isAd ? "Amazon|1234567890" : "live"}`, url];
    });
    const isCut = adsEnd > 0 && first > adsEnd;
    const head = [
      ...["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:3", `#EXT-X-MEDIA-SEQUENCE:${first}`],
      ...(isCut ? ["#EXT-X-DISCONTINUITY-SEQUENCE:1"] : []),
      ...(first < adsEnd ? [`#EXT-X-DATERANGE:ID="stitched-ad-1",CLASS="twitch-stitched-ad",${AD_DATE}`] : []),
    ];
    return [...head, ...segments.flat(), ...(isEnded ? ["#EXT-X-ENDLIST"] : [])].join("\n");
  }

  close(): Promise<void> {
    return this.site.close();
  }
}

const CHANNELS: Readonly<Record<string, unknown>> = {
  stand_in: { id: "1", lastBroadcast: { id: "2", title: "Playing things" }, stream: { id: "3", type: "live" } },
  untitled: { id: "4", lastBroadcast: { title: null }, stream: { id: "5", type: "live" } },
  asleep: { id: "6", lastBroadcast: { id: "7", title: "Yesterday" }, stream: null },
};

const VIDEO = {
  id: "123456789",
  title: "Yesterday's things",
  lengthSeconds: 20,
  owner: { id: "1", login: "Stand_In", displayName: "Stand In" },
  previewThumbnailURL: "https://static-cdn.jtvnw.net/cf_vods/x/thumb0-{width}x{height}.jpg",
};

/** At 48 kHz: ads come from elsewhere, and their format differs. */
function adFrame(): Uint8Array {
  const frame = mp3Frame().slice(0, 192);
  frame[2] = 0x54;
  return frame;
}

/** Of the members of each item, those that the text names. */
function requested(query: string, data: Readonly<Record<string, unknown>>): unknown {
  const entries = Object.entries(data).map(([name, item]) => {
    const members = Object.entries(item ?? {}).filter(([member]) => new RegExp(`\\b${member}\\b`).test(query));
    return [name, item === null ? null : Object.fromEntries(members)];
  });
  return Object.fromEntries(entries);
}

function playlist(text: string): SiteAnswer {
  return { text, headers: { "content-type": "application/vnd.apple.mpegurl" } };
}
