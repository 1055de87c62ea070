// The plugins that come with the node: which there are, in the order in which their sources are asked, when they are
// on, and which of the keys that operators know from Lavalink are their options. Main thread; node.ts has them run.

import type { NodeConfig } from "../src/config/node-config.ts";
import { hasJavaPlugin } from "../src/config/plugin-rules.ts";
import { parseFlag } from "../src/lib/flag-words.ts";
import { hasText, isTreeList, type PlainTree, type PlainTreeMap } from "../src/lib/plain-tree.ts";
import { APPLEMUSIC_MANIFEST } from "./applemusic/manifest.ts";
import { AUDIUS_MANIFEST } from "./audius/manifest.ts";
import { BANDCAMP_MANIFEST } from "./bandcamp/manifest.ts";
import type { BuiltinManifest, SourceClaims } from "./builtin-manifest.ts";
import { DEEZER_MANIFEST } from "./deezer/manifest.ts";
import { GETYARN_MANIFEST } from "./getyarn/manifest.ts";
import { JELLYFIN_MANIFEST } from "./jellyfin/manifest.ts";
import { JIOSAAVN_MANIFEST } from "./jiosaavn/manifest.ts";
import { LRCLIB_MANIFEST } from "./lrclib/manifest.ts";
import { PODCASTS_MANIFEST } from "./podcasts/manifest.ts";
import { RADIO_MANIFEST } from "./radio/manifest.ts";
import { SOUNDCLOUD_MANIFEST } from "./soundcloud/manifest.ts";
import { SPEECH_MANIFEST } from "./speech/manifest.ts";
import { SPONSORBLOCK_MANIFEST } from "./sponsorblock/manifest.ts";
import { SPOTIFY_MANIFEST } from "./spotify/manifest.ts";
import { SUBSONIC_MANIFEST } from "./subsonic/manifest.ts";
import { TIDAL_MANIFEST } from "./tidal/manifest.ts";
import { TWITCH_MANIFEST } from "./twitch/manifest.ts";
import { YOUTUBE_MANIFEST } from "./youtube/manifest.ts";
import { claimsOf, YTDLP_MANIFEST } from "./ytdlp/manifest.ts";

/** One of them. */
export interface BuiltinPlugin {
  readonly manifest: BuiltinManifest;
  /** `first`: before files, where Lavalink asks it; `last`: behind all others but `http`. */
  readonly rank: "first" | "middle" | "last";
  /** Module path relative to this folder: `soundcloud/plugin.js`. */
  readonly module: string;
  /** Whether it runs: by its own `plugins.<name>` and by what else is known. `enabled: false` there counts before. */
  isOn(configured: Configured): boolean;
  /** How an operator turns it on, beside `plugins.<name>.enabled: true`: `set plugins.ytdlp.path`. Default: no other. */
  readonly turnedOnBy?: string;
  /**
   * While it is off, its searches find nothing, as in Lavalink without its plugin. Default: they are refused, as its
   * links are.
   */
  readonly isEmptyWhenOff?: boolean;
  /** Options derived from Lavalink's own keys; the plugin's own `plugins.<name>` takes precedence. */
  options?(configured: Configured): PlainTreeMap;
  /** Options of Lavalink's plugins that are also the plugin's; its own `plugins.<name>` takes precedence. */
  lavalinkOptions?: readonly LavalinkOptions[];
  /** Whether `plugins.<name>` is also a Lavalink plugin's, whose files start: what is wrong there is left out. */
  readonly isOfLavalink?: boolean;
  /** The group of a Lavalink plugin that has `url`, `username` and `password` of a proxy. `plugins.<name>.proxy` counts before it. */
  lavalinkProxy?: readonly string[];
  /** The plugin's sources, if they depend on its options. */
  sources?(options: PlainTreeMap): readonly SourceClaims[];
}

/** Options in a group of a Lavalink plugin. */
interface LavalinkOptions {
  /** The group, below `plugins`. */
  readonly path: readonly string[];
  /** As in the plugin's own manifest. */
  readonly names: readonly string[];
}

/** The configuration of a plugin and the keys around it. */
export interface Configured {
  readonly config: NodeConfig;
  /** `plugins.<name>`, without the members that every plugin has. */
  readonly own: PlainTreeMap;
  /** Whether a member of `plugins.<name>` but `enabled` has a value that is not empty. */
  readonly isConfigured: boolean;
  /** The value at `plugins.<name>.<…>` of Lavalink's plugins, by path; undefined if not set. */
  readonly lavalink: (...path: readonly string[]) => PlainTree | undefined;
}

/** protocol-v4.md section 6.3 has the order of the first. */
export const BUILTIN_PLUGINS: readonly BuiltinPlugin[] = [
  {
    manifest: YOUTUBE_MANIFEST,
    rank: "first",
    module: "youtube/plugin.js",
    // Off unless configured, like Lavalink's plugin, with which its former source is `false`.
    isOn: ({ config, isConfigured }) =>
      isConfigured || hasJavaPlugin(config.plugins, "youtube-plugin") || config.sources.youtube === true,
    options: ({ config }) => ({ playlistPages: String(Math.min(Math.max(config.youtube.playlistPagesMax, 1), 100)) }),
  },
  {
    manifest: SOUNDCLOUD_MANIFEST,
    rank: "first",
    module: "soundcloud/plugin.js",
    isOn: ({ config }) => config.sources.soundcloud,
    turnedOnBy: "set lavalink.server.sources.soundcloud: true",
    options: ({ config: { soundcloud } }) => ({
      searchEnabled: String(soundcloud.isSearchEnabled),
      filterOutPreviewTracks: String(soundcloud.isPreviewLeftOut),
    }),
  },
  {
    manifest: BANDCAMP_MANIFEST,
    rank: "first",
    module: "bandcamp/plugin.js",
    isOn: ({ config }) => config.sources.bandcamp,
    turnedOnBy: "set lavalink.server.sources.bandcamp: true",
  },
  {
    manifest: TWITCH_MANIFEST,
    rank: "first",
    module: "twitch/plugin.js",
    isOn: ({ config }) => config.sources.twitch,
    turnedOnBy: "set lavalink.server.sources.twitch: true",
  },
  { manifest: GETYARN_MANIFEST, rank: "middle", module: "getyarn/plugin.js", isOn: () => true },
  { manifest: RADIO_MANIFEST, rank: "middle", module: "radio/plugin.js", isOn: () => true },
  { manifest: PODCASTS_MANIFEST, rank: "middle", module: "podcasts/plugin.js", isOn: () => true },
  {
    manifest: SPEECH_MANIFEST,
    rank: "middle",
    module: "speech/plugin.js",
    isOn: () => true,
    lavalinkOptions: [
      { path: ["lavasrc", "flowerytts"], names: ["voice", "translate", "silence", "speed", "audioFormat"] },
      { path: ["dunctebot"], names: ["ttsLanguage"] },
    ],
  },
  {
    manifest: SPOTIFY_MANIFEST,
    rank: "middle",
    module: "spotify/plugin.js",
    isEmptyWhenOff: true,
    // Off unless configured, like LavaSrc's.
    isOn: ({ isConfigured, lavalink }) => isConfigured || isTrue(lavalink("lavasrc", "sources", "spotify")),
    lavalinkOptions: [{ path: ["lavasrc", "spotify"], names: Object.keys(SPOTIFY_MANIFEST.config) }],
  },
  {
    manifest: DEEZER_MANIFEST,
    rank: "middle",
    module: "deezer/plugin.js",
    isEmptyWhenOff: true,
    isOn: ({ isConfigured, lavalink }) => isConfigured || isTrue(lavalink("lavasrc", "sources", "deezer")),
  },
  {
    manifest: APPLEMUSIC_MANIFEST,
    rank: "middle",
    module: "applemusic/plugin.js",
    isEmptyWhenOff: true,
    isOn: ({ isConfigured, lavalink }) => isConfigured || isTrue(lavalink("lavasrc", "sources", "applemusic")),
    lavalinkOptions: [{ path: ["lavasrc", "applemusic"], names: Object.keys(APPLEMUSIC_MANIFEST.config) }],
  },
  {
    manifest: TIDAL_MANIFEST,
    rank: "middle",
    module: "tidal/plugin.js",
    isEmptyWhenOff: true,
    // LavaSrc's `token` is for an API that refuses the keys of applications.
    isOn: ({ lavalink }) => isTextOf(lavalink("tidal", "clientId")) && isTextOf(lavalink("tidal", "clientSecret")),
    turnedOnBy: "set plugins.tidal.clientId and clientSecret from developer.tidal.com",
    lavalinkOptions: [{ path: ["lavasrc", "tidal"], names: ["countryCode", "searchLimit"] }],
  },
  {
    manifest: JIOSAAVN_MANIFEST,
    rank: "middle",
    module: "jiosaavn/plugin.js",
    isEmptyWhenOff: true,
    isOn: ({ config, isConfigured, lavalink }) =>
      isConfigured ||
      hasJavaPlugin(config.plugins, "jiosaavn-plugin") ||
      isTrue(lavalink("lavasrc", "sources", "jiosaavn")),
    isOfLavalink: true,
    lavalinkProxy: ["lavasrc", "jiosaavn", "proxy"],
  },
  {
    manifest: AUDIUS_MANIFEST,
    rank: "middle",
    module: "audius/plugin.js",
    isOn: ({ isConfigured }) => isConfigured,
  },
  {
    manifest: SUBSONIC_MANIFEST,
    rank: "middle",
    module: "subsonic/plugin.js",
    isOn: ({ own }) => hasText(own.servers),
    turnedOnBy: "set plugins.subsonic.servers",
  },
  {
    manifest: JELLYFIN_MANIFEST,
    rank: "middle",
    module: "jellyfin/plugin.js",
    isOn: ({ own }) => hasText(own.servers),
    turnedOnBy: "set plugins.jellyfin.servers",
  },
  {
    manifest: LRCLIB_MANIFEST,
    rank: "middle",
    module: "lrclib/plugin.js",
    isOn: ({ config, isConfigured, lavalink }) =>
      isConfigured ||
      (asksForLyrics({ config, lavalink }) && !isFalse(lavalink("lavasrc", "lyrics-sources", "lrcLib"))),
  },
  {
    manifest: SPONSORBLOCK_MANIFEST,
    rank: "middle",
    module: "sponsorblock/plugin.js",
    isOn: ({ config, isConfigured }) => isConfigured || hasJavaPlugin(config.plugins, "sponsorblock-plugin"),
  },
  {
    manifest: YTDLP_MANIFEST,
    rank: "last",
    module: "ytdlp/plugin.js",
    // LavaSrc's example has the path, and the source off.
    isOn: ({ own, isConfigured, lavalink }) =>
      isTextOf(own.path) ||
      (isTextOf(lavalink("lavasrc", "ytdlp", "path")) &&
        (isConfigured || !isFalse(lavalink("lavasrc", "sources", "ytdlp")))),
    turnedOnBy: "set plugins.ytdlp.path",
    lavalinkOptions: [{ path: ["lavasrc", "ytdlp"], names: Object.keys(YTDLP_MANIFEST.config) }],
    sources: ({ sites }) => claimsOf({ sites: isTreeList(sites) ? sites.filter(isTextOf) : undefined }),
  },
];

/** Whether the configuration has what brings lyrics to Lavalink; its plugin may be a file in a folder. */
export function asksForLyrics({ config, lavalink }: Pick<Configured, "config" | "lavalink">): boolean {
  return (
    hasJavaPlugin(config.plugins, "lavalyrics-plugin", "java-lyrics-plugin", "dev.schlaubi.lyrics:lavalink") ||
    isTrue(lavalink("lavasrc", "lyrics-sources", "lrcLib")) ||
    hasText(lavalink("lavalyrics", "sources")) ||
    // A plugin of the operator's own may have this name.
    (config.plugins.entries.length === 0 && hasText(lavalink("lyrics")))
  );
}

/** Whether it is a text that means yes. */
export function isTrue(tree: PlainTree | undefined): boolean {
  return typeof tree === "string" && parseFlag(tree) === true;
}

function isFalse(tree: PlainTree | undefined): boolean {
  return typeof tree === "string" && parseFlag(tree) === false;
}

function isTextOf(tree: PlainTree | undefined): tree is string {
  return typeof tree === "string" && tree !== "";
}
