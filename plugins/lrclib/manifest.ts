// The options of the LRCLIB plugin and what it provides, known to the main thread before its thread starts. Main and
// plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const LRCLIB_MANIFEST = {
  name: "lrclib",
  version: "1.0.0",
  config: {
    server: {
      type: "server",
      default: "https://lrclib.net",
      meaning: "server to ask, for one of your own",
    },
    contact: {
      type: "text",
      default: "",
      meaning:
        "address of a page or mailbox by which LRCLIB can reach you; sent in the `User-Agent` header, as the site asks" +
        " for",
    },
  },
  sources: [],
  lyricsProviders: [{ name: "lrclib" }],
} as const satisfies BuiltinManifest;
