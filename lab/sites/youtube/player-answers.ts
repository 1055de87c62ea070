// The fake server's answers about single videos, by client: some clients get open links, some locked ones, some none at
// all (fact sheet, sections 2.2, 2.3 and 3). Runs in the fake server's process.

import type { SiteServer } from "../site-server.ts";
import type { GoogleVideo, OfferedMedia } from "./google-video.ts";
import { type SiteVideo, STATUSES, VIDEOS } from "./library.ts";
import type { PlayerScript } from "./player-scripts.ts";

/** How a client gets its links. */
type Offer = "open" | "locked" | "sabr" | "nothing";

interface PlayerQuestion {
  readonly body: Readonly<Record<string, unknown>>;
  readonly clientName: string;
  readonly authorization: string | undefined;
  /** The client's address: the links are valid for it only. */
  readonly from: string;
}

interface Parts {
  readonly site: SiteServer;
  readonly media: GoogleVideo;
  readonly webm: Uint8Array;
  readonly livePlaylist: OfferedMedia;
  readonly script: () => PlayerScript;
}

/** What the page of an embedded player gives to browsers on other sites, and its player sends. */
export const EMBED_FLAGS = "host-flags-of-the-day";

export class PlayerAnswers {
  /** By the name in the context; clients not named: open. */
  readonly offers = new Map<string, Offer>([
    ...(["MWEB", "WEB_CREATOR", "WEB_EMBEDDED_PLAYER", "TVHTML5", "TVHTML5_SIMPLY"] as const).map(
      (name) => [name, "locked"] as const,
    ),
    ["WEB", "sabr"],
  ]);
  /** Clients that are offered no Opus. */
  readonly withoutOpus = new Set(["IOS"]);
  /** The login that TVHTML5 7.x has to send, and 5.x may send; undefined: none is valid. */
  accessToken: string | undefined;
  /** `lastModified` of all offered formats. */
  lastModified = "1753333181840409";
  readonly #parts: Parts;
  #reloadsLeft = 1;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** From the current script. */
  get timestamp(): number {
    return Number(/(?:signatureTimestamp|sts):(\d+)/.exec(this.#parts.script().text)?.[1]);
  }

  /** The signature behind a locked one: the transforms of the fake server's scripts are inverted by trial. */
  unlocked(locked: string): string {
    const { lock } = this.#parts.script();
    const length = locked.length;
    const positions = lock(Array.from({ length }, (_, index) => String.fromCharCode(0x4e00 + index)).join(""));
    const parts = new Array<string>(length);
    [...positions].forEach((mark, index) => {
      parts[mark.charCodeAt(0) - 0x4e00] = locked[index]!; // as long as each other
    });
    return parts.join("");
  }

  answer(question: PlayerQuestion): object {
    const { body, clientName, authorization, from } = question;
    const video = VIDEOS.find(({ id }) => id === body.videoId);
    const needsLogin = clientName === "WEB_CREATOR" || (clientName === "TVHTML5" && !versionOf(body).startsWith("5."));
    if ((needsLogin || authorization) && !this.#isLoggedIn(authorization)) {
      return { status: 401, json: { error: {} } };
    }
    if (clientName === "WEB_EMBEDDED_PLAYER" && !JSON.stringify(body).includes(EMBED_FLAGS)) {
      return { playabilityStatus: { status: "ERROR", reason: "Video player configuration error" } };
    }
    if (video === undefined) return { playabilityStatus: { status: "ERROR", reason: "This video is unavailable" } };
    const status = this.#statusOf(video, clientName);
    const details = this.#details(video);
    if (status.status !== "OK") return { playabilityStatus: status, ...details };
    if (video.state === "no-status") return details;
    if (video.state === "live") {
      const isLocked = this.offers.get(clientName) === "locked";
      const { site, media, livePlaylist, script } = this.#parts;
      const hlsManifestUrl = isLocked ? media.issueManifest(livePlaylist, from, script()) : site.link("live.m3u8");
      return { playabilityStatus: status, ...details, streamingData: { hlsManifestUrl } };
    }
    return { playabilityStatus: status, ...details, streamingData: this.#streams(question) };
  }

  #isLoggedIn(authorization: string | undefined): boolean {
    return this.accessToken !== undefined && authorization === `Bearer ${this.accessToken}`;
  }

  #statusOf({ state }: SiteVideo, clientName: string): { readonly status: string } {
    // Age gates open for some embedded players.
    if (state === "age" && clientName === "WEB_EMBEDDED_PLAYER") return { status: "OK" };
    if (state === "embedding-disabled" && clientName !== "WEB_EMBEDDED_PLAYER") return { status: "OK" };
    if (state === "reload-once" && this.#reloadsLeft-- <= 0) return { status: "OK" };
    return { status: "OK", ...STATUSES[state] };
  }

  #details(video: SiteVideo): object {
    if (video.state === "private" || video.state === "removed") return {};
    const { title, author, seconds, state } = video;
    const url = `https://i.ytimg.com/vi/${video.id}/maxresdefault.jpg`;
    return {
      videoDetails: {
        videoId: state === "other-video" ? "song0000001" : video.id,
        title,
        author,
        lengthSeconds: String(seconds),
        isLive: state === "live",
        thumbnail: { thumbnails: [{ url: url.replace("maxres", "mq") }, { url, width: 1280, height: 720 }] },
      },
    };
  }

  #streams({ clientName, body, from }: PlayerQuestion): object {
    const offer = this.offers.get(clientName) ?? "open";
    if (offer === "nothing") return { formats: [], adaptiveFormats: [] };
    const webm: OfferedMedia = { bytes: this.#parts.webm, mimeType: "audio/webm" };
    const low: OfferedMedia = { ...webm, bytes: webm.bytes.subarray(0, webm.bytes.length >> 1) };
    const opus = [
      this.#format(250, low, { mimeType: 'audio/webm; codecs="opus"', bitrate: 70_000 }),
      this.#format(251, webm, { mimeType: 'audio/webm; codecs="opus"', bitrate: 141_000 }),
      this.#format(251, low, { mimeType: 'audio/webm; codecs="opus"', bitrate: 150_000, isDrc: true, xtags: "drc=1" }),
      this.#format(251, low, {
        mimeType: 'audio/webm; codecs="opus"',
        bitrate: 160_000,
        xtags: "lang=de",
        audioTrack: { displayName: "German", id: "de.3", audioIsDefault: false },
      }),
    ];
    const aac = this.#format(140, low, { mimeType: 'audio/mp4; codecs="mp4a.40.2"', bitrate: 130_000 });
    const plain = this.#format(18, low, { mimeType: 'video/mp4; codecs="avc1.42001E, mp4a.40.2"', bitrate: 500_000 });
    const picture = this.#format(137, low, { mimeType: 'video/mp4; codecs="avc1.640028"', bitrate: 4_000_000 });
    const adaptive = [picture, aac, ...(this.withoutOpus.has(clientName) ? [] : opus)];
    const isRightTimestamp = JSON.stringify(body).includes(`"signatureTimestamp":${this.timestamp}`);
    const render = (one: Format) => this.#render(one, { offer, clientName, from, isRightTimestamp });
    const sabr = offer === "sabr" ? { serverAbrStreamingUrl: "https://rr1.googlevideo.com/videoplayback?sabr=1" } : {};
    return { ...sabr, formats: [render({ ...plain, isLengthSaid: false })], adaptiveFormats: adaptive.map(render) };
  }

  #format(itag: number, media: OfferedMedia, more: Readonly<Record<string, unknown>>): Format {
    return { itag, media, more, isLengthSaid: true };
  }

  #render(
    { itag, media, more, isLengthSaid }: Format,
    {
      offer,
      clientName,
      from,
      isRightTimestamp,
    }: Pick<PlayerQuestion, "clientName" | "from"> & {
      readonly offer: Offer;
      readonly isRightTimestamp: boolean;
    },
  ): object {
    const base = {
      itag,
      ...more,
      lastModified: this.lastModified,
      audioSampleRate: "48000",
      audioChannels: 2,
      ...(isLengthSaid && { contentLength: String(media.bytes.length) }),
    };
    if (offer === "sabr") return base;
    const script = offer === "locked" ? this.#parts.script() : undefined;
    const linkRequest = { clientName, ip: from, itag, script, isLengthSaid };
    const { url, lockedSignature } = this.#parts.media.issue(media, linkRequest);
    if (lockedSignature === undefined) return { ...base, url };
    // For another script than the current one, as for an old timestamp.
    const s = isRightTimestamp ? lockedSignature : `x${lockedSignature}`;
    return { ...base, signatureCipher: new URLSearchParams({ s, sp: "sig", url }).toString() };
  }
}

function versionOf(body: PlayerQuestion["body"]): string {
  return /"clientVersion":"([^"]*)"/.exec(JSON.stringify(body))?.[1] ?? "";
}

interface Format {
  readonly itag: number;
  readonly media: OfferedMedia;
  readonly more: Readonly<Record<string, unknown>>;
  readonly isLengthSaid: boolean;
}
