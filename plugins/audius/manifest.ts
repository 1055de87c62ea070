// The Audius plugin's source and its identifier claims, known before the plugin's thread starts. Plain data. Main and
// plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const AUDIUS_MANIFEST = {
  name: "audius",
  version: "1.0.0",
  config: {},
  siteHosts: ["audius.co"],
  sources: [{ name: "audius", prefixes: ["ausearch:"], hosts: ["audius.co", "www.audius.co"] }],
} as const satisfies BuiltinManifest;
