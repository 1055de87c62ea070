// What the main thread knows of the plugin before its thread is started. Main and plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const GETYARN_MANIFEST = {
  name: "getyarn",
  version: "1.0.0",
  config: {},
  sources: [{ name: "getyarn.io", hosts: ["getyarn.io", "www.getyarn.io"] }],
} as const satisfies BuiltinManifest;
