// The JioSaavn plugin's options and its source's identifier claims, known before the plugin's thread starts. Plain
// data. Main and plugin threads.

import { ALBUM_FIELDS, type BuiltinManifest, FIREFOX, LAVASRC } from "../builtin-manifest.ts";

export const JIOSAAVN_MANIFEST = {
  name: "jiosaavn",
  version: "1.0.0",
  config: {
    playlistTrackLimit: {
      type: "integer",
      default: 1000,
      min: 1,
      max: 10_000,
      meaning: "tracks of a playlist, at most",
    },
    recommendationsTrackLimit: {
      type: "integer",
      default: 20,
      min: 1,
      max: 100,
      meaning: "tracks of recommendations, at most",
    },
    apiURL: {
      type: "text",
      meaning: "no effect: the server that jiosaavn-plugin needs; JioSaavn itself is asked",
    },
  },
  userAgent: FIREFOX,
  siteHosts: ["jiosaavn.com", "saavn.com", "saavncdn.com"],
  aliases: LAVASRC,
  sources: [
    {
      name: "jiosaavn",
      fields: ALBUM_FIELDS,
      prefixes: ["jssearch:", "jsrec:", "jsprev:"],
      hosts: ["www.jiosaavn.com", "jiosaavn.com", "www.saavn.com", "saavn.com"],
    },
  ],
} as const satisfies BuiltinManifest;
