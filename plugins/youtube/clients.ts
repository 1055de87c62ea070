// The identities with which YouTube can be asked, as data: they age within weeks, so every value can be replaced by the
// option `clientIdentities`. Values as of August 2026. Plugin thread.

import type { Json } from "../../src/plugin-api/plugin.ts";

/** The requests that a client can answer; skipping it for others does not count as a failure. */
interface ClientAbilities {
  /** Links to audio. */
  readonly playback: boolean;
  /** Metadata of one video. */
  readonly videos: boolean;
  readonly playlists: boolean;
  readonly mixes: boolean;
  /** `ytsearch:`, `ytmsearch:`, or neither. */
  readonly search: "videos" | "music" | "none";
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
  /** Sends the operator's own login. */
  readonly takesLogin: boolean;
  readonly abilities: ClientAbilities;
}

const WEB_HOST = "www.youtube.com";
const APP_HOST = "youtubei.googleapis.com";
const WEB_PARAMS = "2AMB";
const APP_PARAMS = "CgIIAdgDAQ%3D%3D";
const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const SAFARI =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.4 " +
  "Safari/605.1.15";
const IPAD =
  "Mozilla/5.0 (iPad; CPU OS 16_7_10 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 " +
  "Mobile/15E148 Safari/604.1,gzip(gfe)";
const COBALT = "Mozilla/5.0 (ChromiumStylePlatform) Cobalt/Version";

const EVERYTHING: ClientAbilities = { playback: true, videos: true, playlists: true, mixes: true, search: "videos" };

const BROWSER = {
  userAgent: CHROME,
  host: WEB_HOST,
  context: {},
  playerParams: WEB_PARAMS,
  needsPlayerScript: true,
  takesTokens: false,
  isEmbedded: false,
  takesLogin: false,
  abilities: EVERYTHING,
} as const satisfies Partial<ClientIdentity>;

const APP = {
  host: APP_HOST,
  needsPlayerScript: false,
  takesTokens: false,
  isEmbedded: false,
  takesLogin: false,
  abilities: EVERYTHING,
} as const satisfies Partial<ClientIdentity>;

/** The clients of Lavalink's plugin under its names, and VISIONOS, which plays without script and token. */
export const CLIENTS: readonly ClientIdentity[] = [
  {
    ...BROWSER,
    name: "MUSIC",
    clientName: "WEB_REMIX",
    clientNumber: 67,
    clientVersion: "1.20260707.12.00",
    host: "music.youtube.com",
    abilities: { playback: false, videos: false, playlists: false, mixes: false, search: "music" },
  },
  {
    ...APP,
    name: "VISIONOS",
    clientName: "VISIONOS",
    clientNumber: 101,
    clientVersion: "1.02",
    userAgent: SAFARI,
    context: {
      deviceMake: "Apple",
      deviceModel: "RealityDevice17,1",
      osName: "visionOS",
      osVersion: "26.5.23O471",
      userAgent: SAFARI,
    },
  },
  {
    ...BROWSER,
    name: "WEB",
    clientName: "WEB",
    clientNumber: 1,
    clientVersion: "2.20260708.00.00",
    takesTokens: true,
  },
  {
    ...BROWSER,
    name: "WEBEMBEDDED",
    clientName: "WEB_EMBEDDED_PLAYER",
    clientNumber: 56,
    clientVersion: "1.20260708.00.00",
    takesTokens: true,
    isEmbedded: true,
    abilities: { ...EVERYTHING, playlists: false, mixes: false, search: "none" },
  },
  {
    ...BROWSER,
    name: "MWEB",
    clientName: "MWEB",
    clientNumber: 2,
    clientVersion: "2.20260708.05.00",
    userAgent: IPAD,
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
  },
  {
    ...APP,
    name: "ANDROID",
    clientName: "ANDROID",
    clientNumber: 3,
    clientVersion: "21.26.364",
    userAgent: "com.google.android.youtube/21.26.364 (Linux; U; Android 11) gzip",
    context: { osName: "Android", osVersion: "11", androidSdkVersion: 30 },
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
  },
  {
    ...BROWSER,
    name: "TV",
    clientName: "TVHTML5",
    clientNumber: 7,
    clientVersion: "7.20260707.07.00",
    userAgent: COBALT,
    takesLogin: true,
    abilities: { playback: true, videos: false, playlists: false, mixes: false, search: "none" },
  },
  {
    ...BROWSER,
    name: "TVHTML5_SIMPLY",
    clientName: "TVHTML5_SIMPLY",
    clientNumber: 75,
    clientVersion: "1.0",
    userAgent: COBALT,
    isEmbedded: true,
    abilities: { ...EVERYTHING, playlists: false, mixes: false },
  },
];

export const DEFAULT_CLIENTS: readonly string[] = ["MUSIC", "VISIONOS", "WEB", "WEBEMBEDDED"];
