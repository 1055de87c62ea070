// The plugin's option and its identifier claims, known to the main thread before the plugin thread starts. Main and
// plugin threads.

import { type BuiltinManifest, FIREFOX } from "../builtin-manifest.ts";

export const BANDCAMP_MANIFEST = {
  name: "bandcamp",
  version: "1.0.0",
  config: {
    searchEnabled: { type: "flag", default: true, meaning: "whether `bcsearch:` finds tracks" },
    releaseLoadLimit: {
      type: "integer",
      default: 10,
      min: 1,
      max: 30,
      meaning: "how many of an artist's releases are loaded for a link to the artist, newest first; each is a page",
    },
  },
  userAgent: FIREFOX,
  siteHosts: ["bcbits.com"],
  sources: [{ name: "bandcamp", prefixes: ["bcsearch:"], hosts: ["bandcamp.com", "*.bandcamp.com"] }],
} as const satisfies BuiltinManifest;
