// What the main thread knows of the plugin for OpenSubsonic servers before its thread is started. Plain data.

import type { BuiltinManifest } from "../builtin-manifest.ts";
import { COMMON_OPTIONS, SERVER_MEMBERS } from "../own-servers/server-options.ts";

export const SUBSONIC_MANIFEST = {
  name: "subsonic",
  version: "1.0.0",
  config: {
    servers: {
      type: "groups",
      members: SERVER_MEMBERS,
      meaning:
        "OpenSubsonic servers of your own (Navidrome, Gonic, Airsonic …); searches ask all of them, in this order",
    },
    ...COMMON_OPTIONS,
  },
  sources: [{ name: "subsonic", prefixes: ["subsearch:", "subsonic:"] }],
} as const satisfies BuiltinManifest;
