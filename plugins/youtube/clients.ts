// The identities with which YouTube can be asked, as data: they age within weeks, so every value can be replaced by the
// option `clientIdentities`. Values as of October 2026. Plugin thread.

import type { Json } from "../../src/plugin-api/plugin.ts";

/** The requests that a client can answer; skipping it for others does not count as a failure. */
export interface ClientAbilities {
  /** Links to audio. */
  readonly playback: boolean;
  /** Metadata of one video. */
  readonly videos: boolean;
  readonly playlists: boolean;
  readonly mixes: boolean;
  /** `ytsearch:`, `ytmsearch:`, or neither. */
  readonly search: "videos" | "music" | "none";
}

/** What is known to stop a client from playing. Overriding its name or version with `clientIdentities` clears it. */
interface ClientTrouble {
  /** When it became known: a date, `2026-08-17`. */
  readonly since: string;
  /** Continues the sentence "since then ...". */
  readonly what: string;
  /**
   * `dead`: asked last for everything. `cut`: it plays no track to its end, and is asked last for audio. `uncertain`: it
   * plays some tracks, in its place in the order.
   */
  readonly kind: "dead" | "cut" | "uncertain";
}

export interface ClientIdentity {
  /** As operators write it in `clients`. */
  readonly name: string;
  /** As YouTube knows it. */
  readonly clientName: string;
  readonly clientNumber: number;
  readonly clientVersion: string;
  readonly userAgent: string;
  /** Which host it asks. */
  readonly host: string;
  /** Further members of `context.client`. */
  readonly context: Readonly<Record<string, Json>>;
  /** The `params` of a player request. */
  readonly playerParams?: string | undefined;
  /** Its links are locked and need the player script. */
  readonly needsPlayerScript: boolean;
  /** A proof-of-origin token, where there is one, goes with its requests. */
  readonly takesTokens: boolean;
  /** Acts as a player embedded in a page. */
  readonly isEmbedded: boolean;
  /** That page, `http` or `https` and not YouTube's: sent in the context, and as Referer where the player is loaded. */
  readonly embedUrl: string;
  /** Sends the login of the track or the operator, if there is one. */
  readonly takesLogin: boolean;
  /** Is not asked for audio without a login. */
  readonly needsLogin: boolean;
  readonly abilities: ClientAbilities;
  /** Answers searches, playlists and mixes less reliably than the others, and is asked last for them. */
  readonly isLastForLists: boolean;
  readonly trouble?: ClientTrouble | undefined;
}

const WEB_HOST = "www.youtube.com";
const APP_HOST = "youtubei.googleapis.com";
const WEB_PARAMS = "2AMB";
const APP_PARAMS = "CgIIAdgDAQ%3D%3D";
/** A page of another site that embeds the player: YouTube answers requests without one as Referer incompletely. */
export const EMBED_URL = "https://www.reddit.com/";
/** A browser's, for pages and the player script. */
export const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const SAFARI_26 =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 15_7_3) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 " +
  "Safari/605.1.15";
const SAFARI_15 =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.5 " +
  "Safari/605.1.15,gzip(gfe)";
const IPAD =
  "Mozilla/5.0 (iPad; CPU OS 16_7_10 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 " +
  "Mobile/15E148 Safari/604.1,gzip(gfe)";
const COBALT = "Mozilla/5.0 (ChromiumStylePlatform) Cobalt/Version";
const TIZEN =
  "Mozilla/5.0 (SMART-TV; Linux; Tizen 2.4.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/2.4.0 TV Safari/538.1";

const EVERYTHING: ClientAbilities = { playback: true, videos: true, playlists: true, mixes: true, search: "videos" };
const ONLY_PLAYBACK: ClientAbilities = {
  playback: true,
  videos: false,
  playlists: false,
  mixes: false,
  search: "none",
};

const SABR_ONLY: ClientTrouble = {
  since: "2026-09-10",
  what: "it is offered audio over SABR only in some sessions",
  kind: "uncertain",
};
const CUT_OFF: ClientTrouble = {
  since: "2026-08-14",
  what: "YouTube ends its links after about 60 s",
  kind: "cut",
};

const PLAIN = {
  needsPlayerScript: false,
  takesTokens: false,
  isEmbedded: false,
  embedUrl: EMBED_URL,
  takesLogin: false,
  needsLogin: false,
  abilities: EVERYTHING,
  isLastForLists: false,
} as const satisfies Partial<ClientIdentity>;

/** What clients that operators add have, unless they set it. */
export const BROWSER = {
  ...PLAIN,
  userAgent: CHROME,
  host: WEB_HOST,
  context: {},
  needsPlayerScript: true,
} as const satisfies Partial<ClientIdentity>;

const APP = { ...PLAIN, host: APP_HOST } as const satisfies Partial<ClientIdentity>;

const TV = {
  ...BROWSER,
  clientName: "TVHTML5",
  clientNumber: 7,
  clientVersion: "5.20260707",
  takesLogin: true,
  abilities: ONLY_PLAYBACK,
} as const satisfies Partial<ClientIdentity>;

/** The clients of Lavalink's plugin under its names, and those with which yt-dlp plays. */
export const CLIENTS: readonly ClientIdentity[] = [
  {
    ...BROWSER,
    name: "MUSIC",
    clientName: "WEB_REMIX",
    clientNumber: 67,
    clientVersion: "1.20260707.12.00",
    host: "music.youtube.com",
    playerParams: WEB_PARAMS,
    abilities: { playback: false, videos: false, playlists: false, mixes: false, search: "music" },
  },
  {
    ...APP,
    name: "VISIONOS",
    clientName: "VISIONOS",
    clientNumber: 101,
    clientVersion: "1.02",
    userAgent: SAFARI_26,
    context: {
      deviceMake: "Apple",
      deviceModel: "RealityDevice17,1",
      osName: "visionOS",
      osVersion: "26.5.23O471",
      userAgent: SAFARI_26,
    },
    isLastForLists: true,
  },
  {
    ...TV,
    name: "TV_SAMSUNG",
    userAgent: TIZEN,
    context: {
      deviceMake: "Samsung",
      deviceModel: "UKS9800",
      osName: "Tizen",
      osVersion: "2.4.0",
      userAgent: TIZEN,
    },
  },
  {
    ...BROWSER,
    name: "WEB",
    clientName: "WEB",
    clientNumber: 1,
    clientVersion: "2.20260708.00.00",
    playerParams: WEB_PARAMS,
    takesTokens: true,
    trouble: SABR_ONLY,
  },
  {
    ...BROWSER,
    name: "WEBEMBEDDED",
    clientName: "WEB_EMBEDDED_PLAYER",
    clientNumber: 56,
    clientVersion: "2.20260708.00.00",
    userAgent: SAFARI_15,
    context: { userAgent: SAFARI_15 },
    takesTokens: true,
    isEmbedded: true,
    abilities: { ...EVERYTHING, playlists: false, mixes: false, search: "none" },
    trouble: SABR_ONLY,
  },
  {
    ...BROWSER,
    name: "MWEB",
    clientName: "MWEB",
    clientNumber: 2,
    clientVersion: "2.20260708.05.00",
    userAgent: IPAD,
    playerParams: WEB_PARAMS,
    trouble: SABR_ONLY,
  },
  {
    ...APP,
    name: "ANDROID_VR",
    clientName: "ANDROID_VR",
    clientNumber: 28,
    clientVersion: "1.65.10",
    userAgent: "com.google.android.apps.youtube.vr.oculus/1.65.10 (Linux; U; Android 12L; eureka-user) gzip",
    context: {
      deviceMake: "Oculus",
      deviceModel: "Quest 3",
      osName: "Android",
      osVersion: "12L",
      androidSdkVersion: 32,
    },
    trouble: { since: "2026-08-17", what: "YouTube refuses every link that it gives", kind: "dead" },
  },
  {
    ...APP,
    name: "ANDROID",
    clientName: "ANDROID",
    clientNumber: 3,
    clientVersion: "21.26.364",
    userAgent: "com.google.android.youtube/21.26.364 (Linux; U; Android 11) gzip",
    context: { osName: "Android", osVersion: "11", androidSdkVersion: 30 },
    trouble: CUT_OFF,
  },
  {
    ...APP,
    name: "ANDROID_MUSIC",
    clientName: "ANDROID_MUSIC",
    clientNumber: 21,
    clientVersion: "7.27.52",
    userAgent: "com.google.android.apps.youtube.music/7.27.52 (Linux; U; Android 11) gzip",
    context: { osName: "Android", osVersion: "11", androidSdkVersion: 30 },
    playerParams: APP_PARAMS,
    abilities: { ...EVERYTHING, playlists: false },
    trouble: CUT_OFF,
  },
  {
    ...APP,
    name: "IOS",
    clientName: "IOS",
    clientNumber: 5,
    clientVersion: "21.26.4",
    userAgent: "com.google.ios.youtube/21.26.4 (iPhone16,2; U; CPU iOS 18_3_2 like Mac OS X;)",
    context: { deviceMake: "Apple", deviceModel: "iPhone16,2", osName: "iPhone", osVersion: "18.3.2.22D82" },
    playerParams: APP_PARAMS,
    trouble: CUT_OFF,
  },
  {
    ...TV,
    name: "TV",
    clientVersion: "7.20260707.07.00",
    userAgent: COBALT,
    playerParams: WEB_PARAMS,
    needsLogin: true,
  },
  { ...TV, name: "TV_DOWNGRADED", userAgent: COBALT, context: { userAgent: COBALT } },
  {
    ...BROWSER,
    name: "TVHTML5_SIMPLY",
    clientName: "TVHTML5_SIMPLY",
    clientNumber: 75,
    clientVersion: "1.0",
    userAgent: COBALT,
    context: { clientScreen: "EMBED" },
    playerParams: WEB_PARAMS,
    isEmbedded: true,
    abilities: { ...EVERYTHING, playlists: false, mixes: false },
    trouble: {
      since: "2026-08",
      what: "its links need a proof-of-origin token that it does not take",
      kind: "uncertain",
    },
  },
  {
    ...BROWSER,
    name: "WEB_CREATOR",
    clientName: "WEB_CREATOR",
    clientNumber: 62,
    clientVersion: "1.20260708.06.00",
    takesLogin: true,
    needsLogin: true,
    abilities: ONLY_PLAYBACK,
  },
];

/** Clients that Lavalink's plugin has had and dropped, as YouTube no longer plays through them. */
export const REMOVED_CLIENTS: readonly string[] = [
  "ANDROID_TESTSUITE",
  "ANDROID_LITE",
  "ANDROID_EMBEDDED",
  "IOS_EMBEDDED",
  "MEDIA_CONNECT",
  "TVHTML5EMBEDDED",
];

/** The clients that are asked unless the operator names others, in order: those of yt-dlp 2026.10.26, and MUSIC. */
export const DEFAULT_CLIENTS: readonly string[] = ["MUSIC", "TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"];
/** The same with a login; without one VISIONOS is the last resort, as it plays without the script. */
export const DEFAULT_CLIENTS_WITH_LOGIN: readonly string[] = ["MUSIC", "WEBEMBEDDED", "TV_SAMSUNG", "WEB", "VISIONOS"];
