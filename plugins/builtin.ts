// The plugins that come with the node: which there are, in the order in which their sources are asked, when they are on,
// and which of the keys that operators know from Lavalink are their options. Main thread; node.ts has them run.

import type { NodeConfig } from "../src/config/node-config.ts";
import type { PlainTree, PlainTreeMap } from "../src/lib/plain-tree.ts";
import type { Claims } from "../src/plugin-api/plugin.ts";
import type { BuiltinManifest } from "./builtin-manifest.ts";

/** One of them. */
export interface BuiltinPlugin {
  readonly manifest: BuiltinManifest;
  /** `first`: before files, where Lavalink asks it; `last`: behind all others but `http`. */
  readonly rank: "first" | "middle" | "last";
  /** Its module, from this folder: `soundcloud/plugin.js`. */
  readonly module: string;
  /** Whether it runs: by its own `plugins.<name>` and by what else is known. `enabled: false` there counts before. */
  isOn(configured: Configured): boolean;
  /** What Lavalink's keys say; its own `plugins.<name>` counts before. */
  options?(configured: Configured): PlainTreeMap;
  /** What it claims, where that is for its options to say. */
  claims?(options: PlainTreeMap): readonly Claims[];
}

/** What is configured for a plugin and beside it. */
export interface Configured {
  readonly config: NodeConfig;
  /** `plugins.<name>`. */
  readonly own: PlainTreeMap;
  /** `plugins.<name>.<…>` of Lavalink's plugins, by the way there; undefined where nothing stands. */
  readonly lavalink: (...path: readonly string[]) => PlainTree | undefined;
}

export const BUILTIN_PLUGINS: readonly BuiltinPlugin[] = [];
