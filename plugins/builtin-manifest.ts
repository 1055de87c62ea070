// A built-in plugin's data that the main thread needs before the plugin's thread starts: plain data, stored beside the
// plugin's code and read by both. Main and plugin threads.

import type { ExtensionManifests } from "../src/bridge/plugin-extensions.ts";
import type { Claims, OptionSchema, TrackField } from "../src/plugin-api/plugin.ts";

/** A source as known before its plugin runs. */
export type SourceClaims = Claims & {
  readonly name: string;
  readonly fields?: readonly TrackField[];
  readonly isMirrored?: boolean;
};

/** The name by which clients check for any of the sources of LavaSrc. */
export const LAVASRC = [{ name: "lavasrc-plugin", version: "4.8.3" }] as const;

/** The additional fields of the tracks of LavaSrc's sources, in their order (protocol-v4.md section 5.4). */
export const ALBUM_FIELDS = [
  { name: "albumName", type: "optionalText" },
  { name: "albumUrl", type: "optionalText" },
  { name: "artistUrl", type: "optionalText" },
  { name: "artistArtworkUrl", type: "optionalText" },
  { name: "previewUrl", type: "optionalText" },
  { name: "isPreview", type: "flag" },
] as const satisfies readonly TrackField[];

/** The `userAgent` of plugins whose sites answer browsers. */
export const FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";

/** The extensions are those that `setup` registers, in that order. */
export interface BuiltinManifest extends ExtensionManifests {
  readonly name: string;
  readonly version: string;
  readonly config: OptionSchema;
  /** The sources that `setup` registers, in that order. */
  readonly sources: readonly SourceClaims[];
  /**
   * Hosts, with all names below them, that only its site answers from, in addition to those that its sources claim: a
   * ban of one counts for the whole site.
   */
  readonly siteHosts?: readonly string[];
  /** The User-Agent that its site accepts. Default: the node's. `plugins.<name>.userAgent` replaces it. */
  readonly userAgent?: string;
  /** Names of Lavalink plugins that clients check for. */
  readonly aliases?: readonly { readonly name: string; readonly version: string }[];
}
