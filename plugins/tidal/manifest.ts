// The Tidal plugin's options and its source's identifier claims, known before the plugin's thread starts. Plain data.
// Main and plugin threads.

import { ALBUM_FIELDS, type BuiltinManifest, LAVASRC } from "../builtin-manifest.ts";

export const TIDAL_MANIFEST = {
  name: "tidal",
  version: "1.0.0",
  config: {
    clientId: {
      type: "secret",
      isRequired: true,
      meaning:
        "client id of an application that you have registered at developer.tidal.com; without one the plugin is off",
    },
    clientSecret: { type: "secret", isRequired: true, meaning: "the client secret of the same application" },
    countryCode: { type: "text", default: "US", meaning: "country whose catalogue is asked, two letters" },
    searchLimit: {
      type: "integer",
      default: 6,
      min: 1,
      max: 100,
      meaning: "tracks of a search, at most; Tidal finds about 20",
    },
  },
  siteHosts: ["tidal.com"],
  aliases: LAVASRC,
  sources: [
    {
      name: "tidal",
      isMirrored: true,
      fields: ALBUM_FIELDS,
      prefixes: ["tdsearch:", "tdrec:"],
      hosts: ["tidal.com", "www.tidal.com", "listen.tidal.com", "desktop.tidal.com", "embed.tidal.com"],
    },
  ],
} as const satisfies BuiltinManifest;
