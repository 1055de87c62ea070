// What the main thread knows of a plugin that comes with the node before its thread is started: plain data, kept beside
// the plugin's code and read by both. Main and plugin threads.

import type { Claims, OptionSchema, TrackField } from "../src/plugin-api/plugin.ts";

/** A source before it is there. */
export type SourceClaims = Claims & { readonly name: string; readonly fields?: readonly TrackField[] };

export interface BuiltinManifest {
  readonly name: string;
  readonly version: string;
  readonly config: OptionSchema;
  /** What `setup` registers, in that order. */
  readonly sources: readonly SourceClaims[];
  /** Names of Lavalink's plugins that clients look for. */
  readonly aliases?: readonly { readonly name: string; readonly version: string }[];
}
