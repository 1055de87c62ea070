// The plugin's data that the main thread needs before the plugin's thread starts. Main and plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const GETYARN_MANIFEST = {
  name: "getyarn",
  version: "1.0.0",
  config: {},
  sources: [{ name: "getyarn.io", hosts: ["getyarn.io", "www.getyarn.io"] }],
} as const satisfies BuiltinManifest;
