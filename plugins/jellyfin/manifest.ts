// The data of the Jellyfin plugin that the main thread needs before the plugin's thread starts. Plain data.

import type { BuiltinManifest } from "../builtin-manifest.ts";
import { COMMON_OPTIONS, SERVER_MEMBERS } from "../own-servers/server-options.ts";

export const JELLYFIN_MANIFEST = {
  name: "jellyfin",
  version: "1.0.0",
  config: {
    servers: {
      type: "groups",
      members: SERVER_MEMBERS,
      meaning: "your Jellyfin servers; searches query all of them, in this order",
    },
    deviceId: {
      type: "text",
      meaning:
        "what this node is called in the servers' lists of devices; default: made of the machine's name. A login with" +
        " user name and password ends an older one of the same device, so nodes that share a machine each need one",
    },
    ...COMMON_OPTIONS,
  },
  sources: [{ name: "jellyfin", prefixes: ["jfsearch:", "jellyfin:"] }],
  lyricsProviders: [{ name: "jellyfin", sources: ["jellyfin"] }],
} as const satisfies BuiltinManifest;
