// A fake Twitch: a channel that is live and one that is not, a past broadcast, a clip; its page with the client id, its
// interface and its playlists. Shapes: fact sheet of the sources, section 4.4 (lavaplayer 32e8fed, yt-dlp 81ecd58);
// members of VideoMetadata and ShareClipRenderStatus as yt-dlp reads them. The audio is MP3 where Twitch has AAC in
// MPEG-TS: HLS readers detect the format by bytes. All names are made up. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const CLIENT_ID = "standinclientid0000000000000000";
const DEVICE_ID = "standin-device-0001";
const HASHES: Readonly<Record<string, string>> = {
  StreamMetadata: "ad022ca32220d5523d03a23cbcb5beaa1e0999889c1f8f78f9f2520dafb5cae6",
  VideoMetadata: "45111672eea2e507f8ba44d101a61862f9c56b11dee09a15634cb75cb9b9084d",
  ShareClipRenderStatus: "1844261bb449fa51e6167040311da4a7a5f1c34fe71c71a3e0c4f551bc30c698",
};
/** 1152 samples at 44.1 kHz each: some two seconds. */
const SEGMENT_FRAMES = 77;
const SEGMENT_SECONDS = 2.011;
const VIDEO_SEGMENTS = 10;
const LIVE_WINDOW = 4;

interface Question {
  readonly operationName?: string;
  readonly query?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly extensions?: { readonly persistedQuery?: { readonly sha256Hash?: string } };
}

export class TwitchSite {
  readonly site: SiteServer;
  /** The id that its page contains, and that it accepts. */
  clientId = CLIENT_ID;
  /** Unix seconds in its tokens. */
  tokenExpires = 1_900_000_000;
  /** Further members of its tokens. */
  tokenSays: Readonly<Record<string, unknown>> = {};
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

  /** The broadcast ends with the segments that it has by now. */
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
    if (headers["client-id"] !== this.clientId) {
      return {
        status: 400,
        json: { error: "Bad Request", status: 400, message: 'The "Client-ID" header is invalid.' },
      };
    }
    // A stand-in looks only as closely as the tests need.
    const question = JSON.parse(body) as Question;
    const { operationName = "", query, variables = {} } = question;
    if (query !== undefined) return { json: { data: this.#tokens(query) } };
    if (HASHES[operationName] !== question.extensions?.persistedQuery?.sha256Hash) {
      return { json: { errors: [{ message: "PersistedQueryNotFound" }] } };
    }
    return { json: { data: this.#metadata(operationName, variables) } };
  }

  #metadata(name: string, variables: Readonly<Record<string, unknown>>): unknown {
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
    if (path === "/api/channel/hls/stand_in.m3u8") return playlist(this.#master("live"));
    if (path === "/vod/123456789.m3u8") return playlist(this.#master("video"));
    if (path === "/vod/42.m3u8") {
      return { status: 403, json: [{ url: path, type: "error", error_code: "vod_manifest_restricted" }] };
    }
    if (path === "/media/live/audio_only.m3u8") return playlist(this.#live());
    if (path === "/media/video/audio_only.m3u8") return playlist(this.#segments(0, VIDEO_SEGMENTS, true));
    if (isMedia) return { status: 500, text: "the picture must not be requested" };
    return { status: 404, json: [{ error: "transcode does not exist", error_code: "transcode_does_not_exist" }] };
  }

  #master(what: string): string {
    const base = `${this.playlistServer}/media/${what}`;
    const variant = (id: string) => `#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="${id}",NAME="${id}",AUTOSELECT=YES,DEFAULT=YES`;
    return [
      ...["#EXTM3U", '#EXT-X-TWITCH-INFO:NODE="stand-in",SERVER-TIME="1800000000.00"', variant("chunked")],
      '#EXT-X-STREAM-INF:BANDWIDTH=6000000,RESOLUTION=1920x1080,CODECS="avc1.64002A,mp4a.40.2",VIDEO="chunked"',
      ...[`${base}/chunked.m3u8`, variant("audio_only")],
      '#EXT-X-STREAM-INF:BANDWIDTH=160000,CODECS="mp4a.40.34",VIDEO="audio_only"',
      `${base}/audio_only.m3u8`,
    ].join("\n");
  }

  /** A segment more each time it is asked for, until it is over. */
  #live(): string {
    const end = this.#isLiveOver ? this.#liveSegments - 1 : this.#liveSegments++;
    return this.#segments(end - LIVE_WINDOW, end, this.#isLiveOver);
  }

  #segments(first: number, end: number, isEnded: boolean): string {
    const segments = Array.from({ length: end - first }, (_, index) => {
      const url = this.site.link("segment.mp3", { sequence: String(first + index) });
      return [`#EXTINF:${SEGMENT_SECONDS},live`, url];
    });
    const head = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:3", `#EXT-X-MEDIA-SEQUENCE:${first}`];
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

function playlist(text: string): SiteAnswer {
  return { text, headers: { "content-type": "application/vnd.apple.mpegurl" } };
}
