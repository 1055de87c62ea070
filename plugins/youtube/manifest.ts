// The YouTube plugin's identifier claims and options, most of them under the names that Lavalink's youtube-source uses.
// Main and plugin threads.

import type { OptionValues } from "../../src/plugin-api/plugin.ts";
import type { BuiltinManifest } from "../builtin-manifest.ts";
import { CHROME } from "./clients.ts";

/** The version of youtube-source whose behaviour and messages this plugin copies. */
export const FOLLOWED_VERSION = "1.18.2";

/** Of `playerParams`, where an empty text means none. */
export const BUILT_IN = "built in";

export const YOUTUBE_MANIFEST = {
  name: "youtube",
  version: "1.0.0",
  sources: [
    {
      name: "youtube",
      prefixes: ["ytsearch:", "ytmsearch:"],
      hosts: [
        ...["youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com"],
        ...["youtu.be", "www.youtu.be"],
      ],
      words: [{ length: 11 }, { startsWith: "PL" }, { startsWith: "UU" }],
    },
  ],
  searchProviders: [{ source: "youtube", prefixes: ["ytsearch:", "ytmsearch:"] }],
  siteHosts: ["youtube.com", "googlevideo.com", "youtubei.googleapis.com"],
  userAgent: CHROME,
  aliases: [{ name: "youtube-plugin", version: FOLLOWED_VERSION }],
  config: {
    allowSearch: { type: "flag", default: true, meaning: "answer `ytsearch:` and `ytmsearch:`" },
    allowDirectVideoIds: { type: "flag", default: true, meaning: "take a bare word of 11 characters for a video" },
    allowDirectPlaylistIds: {
      type: "flag",
      default: true,
      meaning: "take bare words that begin with PL or UU for lists",
    },
    clients: {
      type: "texts",
      meaning: "the identities with which YouTube is asked, in order; default: those that play now",
    },
    clientsOnly: {
      type: "flag",
      default: false,
      meaning: "do not ask other clients where none of `clients` plays reliably",
    },
    clientOptions: {
      type: "named",
      meaning: "what each client is asked for, by its name",
      members: {
        playback: { type: "flag", default: true, meaning: "use it for audio" },
        videoLoading: { type: "flag", default: true, meaning: "ask it what a video is" },
        playlistLoading: { type: "flag", default: true, meaning: "ask it for playlists and mixes" },
        searching: { type: "flag", default: true, meaning: "let it search" },
      },
    },
    clientIdentities: {
      type: "named",
      meaning:
        "overrides a client's parameters, by client name; members that are not set keep their values. Another name " +
        "adds a client, which needs clientName, clientNumber and clientVersion",
      members: {
        clientName: { type: "text", meaning: "the name that YouTube knows it by" },
        clientNumber: { type: "integer", min: 1, max: 1000, meaning: "its number" },
        clientVersion: { type: "text", meaning: "its version" },
        userAgent: { type: "text", meaning: "its User-Agent" },
        host: { type: "text", meaning: "the host that it asks" },
        playerParams: { type: "text", default: BUILT_IN, meaning: "`params` of its player requests; empty: none" },
        context: {
          type: "texts",
          meaning: "further members of its context, each as `name=value`; `name=` removes one",
        },
        needsPlayerScript: { type: "flag", meaning: "its links are locked and need the player script" },
        takesTokens: { type: "flag", meaning: "send it tokens of `pot`" },
        takesLogin: { type: "flag", meaning: "send it the login" },
        needsLogin: { type: "flag", meaning: "do not ask it for audio without a login" },
        isEmbedded: { type: "flag", meaning: "it acts as a player embedded in a page" },
        embedUrl: { type: "text", meaning: "the address of that page" },
        playback: { type: "flag", meaning: "it offers audio" },
        videos: { type: "flag", meaning: "it knows what a video is" },
        playlists: { type: "flag", meaning: "it knows playlists" },
        mixes: { type: "flag", meaning: "it knows mixes" },
        search: {
          type: "choice",
          names: ["videos", "music", "none"],
          meaning: "what it searches: `ytsearch:`, `ytmsearch:`, or neither",
        },
        isLastForLists: { type: "flag", meaning: "ask it last for searches, playlists and mixes" },
      },
    },
    pot: {
      type: "group",
      meaning: "proof-of-origin tokens, for clients that take them (WEB, WEBEMBEDDED)",
      members: {
        token: { type: "secret", default: "", meaning: "a token; only together with visitorData" },
        visitorData: { type: "secret", default: "", meaning: "the visitor that the token is for" },
        providerUrl: { type: "server", meaning: "a server that makes tokens for videos (POST /get_pot)" },
      },
    },
    oauth: {
      type: "group",
      meaning: "a login of the operator's own, for clients that take one; Google may close the account",
      members: {
        enabled: { type: "flag", default: false, meaning: "use it" },
        refreshToken: { type: "secret", meaning: "the token that a login has left" },
        skipInitialization: {
          type: "flag",
          default: false,
          meaning: "do not ask for a login where refreshToken is missing",
        },
        clientId: {
          type: "text",
          meaning: "of the application that the token is for; default: read from youtube.com/tv",
        },
        clientSecret: { type: "secret", meaning: "the same" },
      },
    },
    remoteCipher: {
      type: "group",
      meaning: "a yt-cipher server that unlocks locked links instead of the node itself",
      members: {
        url: { type: "server", meaning: "its address" },
        password: { type: "secret", meaning: "sent as the Authorization header" },
        userAgent: { type: "text", default: "yt-source", meaning: "sent as the User-Agent header" },
      },
    },
    playlistPages: {
      type: "integer",
      default: 6,
      min: 1,
      max: 100,
      meaning: "pages of 100 that are read of a playlist",
    },
    language: { type: "text", default: "en", meaning: "the language of titles (hl)" },
    region: { type: "text", default: "US", meaning: "the country that is asked for (gl)" },
    searchFilter: { type: "text", default: "EgIQAfABAQ==", meaning: "`params` of `ytsearch:`; videos only" },
    musicSearchFilter: {
      type: "text",
      default: "Eg-KAQwIARAAGAAgACgAMABqChADEAQQCRAFEAo=",
      meaning: "`params` of `ytmsearch:`; songs only",
    },
    playerScriptUrl: { type: "text", meaning: "the player script on www.youtube.com; default: the one of the day" },
    playerScriptVariant: {
      type: "text",
      default: "player_es6.vflset/en_US/base.js",
      meaning: "which build of the player script is taken",
    },
    mediaHosts: {
      type: "texts",
      default: ["googlevideo.com", "youtube.com"],
      meaning: "hosts, including all their subdomains, that audio may come from",
    },
    rangeBytes: {
      type: "integer",
      default: 10_485_760,
      min: 65_536,
      max: 11_862_014,
      meaning: "bytes requested at once; YouTube throttles larger requests",
    },
  },
} as const satisfies BuiltinManifest;

export type YoutubeOptions = OptionValues<(typeof YOUTUBE_MANIFEST)["config"]>;
