// The data of the OpenSubsonic plugin that the main thread needs before the plugin's thread starts. Plain data.

import type { BuiltinManifest } from "../builtin-manifest.ts";
import { COMMON_OPTIONS, SERVER_MEMBERS } from "../own-servers/server-options.ts";

export const SUBSONIC_MANIFEST = {
  name: "subsonic",
  version: "1.0.0",
  config: {
    servers: {
      type: "groups",
      members: SERVER_MEMBERS,
      meaning: "your OpenSubsonic servers (Navidrome, Gonic, Airsonic …); searches query all of them, in this order",
    },
    ...COMMON_OPTIONS,
  },
  sources: [{ name: "subsonic", prefixes: ["subsearch:", "subsonic:"] }],
  lyricsProviders: [{ name: "subsonic", sources: ["subsonic"] }],
} as const satisfies BuiltinManifest;
