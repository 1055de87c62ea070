// The Apple Music plugin's options and its source's claims, known to the main thread before the plugin's thread starts.
// Plain data. Main and plugin threads.

import { ALBUM_FIELDS, type BuiltinManifest, FIREFOX, LAVASRC } from "../builtin-manifest.ts";

export const APPLEMUSIC_MANIFEST = {
  name: "applemusic",
  version: "1.0.0",
  config: {
    countryCode: {
      type: "text",
      default: "us",
      meaning: "country of the catalogue where a link names none: its two letters (ISO 3166)",
    },
    mediaAPIToken: {
      type: "secret",
      meaning: "token for Apple's API; without one, or when it has expired or is refused, the web site's own is used",
    },
    keyID: { type: "secret", meaning: "id of a MusicKit key, used with `teamID` and `musicKitKey` to sign a token" },
    teamID: { type: "secret", meaning: "id of the developer team that the MusicKit key belongs to" },
    musicKitKey: { type: "secret", meaning: "the MusicKit key: the text of the file AuthKey_….p8" },
    playlistLoadLimit: {
      type: "integer",
      default: 6,
      min: 0,
      max: 1000,
      meaning: "pages of a playlist that are loaded, 300 tracks each; at least one, at most 34",
    },
    albumLoadLimit: {
      type: "integer",
      default: 6,
      min: 0,
      max: 1000,
      meaning: "pages of an album that are loaded, 300 tracks each; at least one, at most 34",
    },
  },
  userAgent: FIREFOX,
  siteHosts: ["music.apple.com", "mzstatic.com"],
  aliases: LAVASRC,
  sources: [
    {
      name: "applemusic",
      isMirrored: true,
      fields: ALBUM_FIELDS,
      prefixes: ["amsearch:", "amprev:"],
      hosts: ["music.apple.com", "*.music.apple.com", "geo.itunes.apple.com"],
    },
  ],
  searchProviders: [{ source: "applemusic", prefixes: ["amsearch:"] }],
} as const satisfies BuiltinManifest;
