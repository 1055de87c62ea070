// The podcasts plugin's options and identifier claims, known to the main thread before the plugin's thread starts. Main
// and plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const PODCASTS_MANIFEST = {
  name: "podcasts",
  version: "1.0.0",
  config: {
    episodeLoadLimit: {
      type: "integer",
      default: 100,
      min: 1,
      max: 1000,
      meaning: "episodes of a show that are loaded at most, the newest ones",
    },
    searchEnabled: {
      type: "flag",
      default: true,
      meaning: "whether `podcast:` with words asks Apple's directory for the show",
    },
    countryCode: {
      type: "text",
      default: "US",
      meaning: "country of Apple's directory that is searched: its two letters (ISO 3166)",
    },
  },
  sources: [
    {
      name: "podcast",
      prefixes: ["podcast:", "rss:"],
      hosts: ["podcasts.apple.com", "itunes.apple.com"],
      // Feeds that end otherwise, `.xml` as so much else does, are known by what they are: `http` hands them on.
      endings: [".rss"],
      // The last known address of the audio, used when the feed is no longer available.
      fields: [{ name: "enclosureUrl", type: "optionalText" }],
    },
  ],
} as const satisfies BuiltinManifest;
