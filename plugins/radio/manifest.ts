// The radio plugin's options and identifier claims, known to the main thread before the plugin's thread starts. Main
// and plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const RADIO_MANIFEST = {
  name: "radio",
  version: "1.0.0",
  config: {
    searchEnabled: { type: "flag", default: true, meaning: "whether `rbsearch:` finds stations" },
    searchLimit: {
      type: "integer",
      default: 10,
      min: 1,
      max: 100,
      meaning: "stations that a search finds at most",
    },
    country: {
      type: "text",
      default: "",
      meaning: "only stations of this country are found: its two letters (ISO 3166), such as `DE`; empty: of all",
    },
    language: {
      type: "text",
      default: "",
      meaning:
        "only stations in this language are found: its English name in lower case, such as `german`; empty: in all",
    },
    tag: {
      type: "text",
      default: "",
      meaning: "only stations with this tag are found, such as `jazz`; empty: all",
    },
    servers: {
      type: "texts",
      default: [],
      meaning:
        "host names of the directory's servers to ask, such as `de1.api.radio-browser.info`, six at most; empty: " +
        "those listed by the directory",
    },
    countsClicks: {
      type: "flag",
      default: true,
      meaning:
        "whether to report each played station to the directory: it sorts stations by that and asks clients to do it",
    },
  },
  sources: [{ name: "radiobrowser", prefixes: ["rbsearch:", "radio:"] }],
} as const satisfies BuiltinManifest;
