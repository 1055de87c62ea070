// Version and enabled features of the node, as the protocol defines them (protocol-v4.md section 3.6). Main thread;
// answered by GET /v4/info.

import type { InfoJson } from "../../control/protocol/info-json.ts";
import { PROTOCOL_VERSION } from "../../control/protocol/protocol-version.ts";
import { LAVALINK_PLUGIN_FILTERS, SWITCHED_FILTER_NAMES } from "../../filters/filter-settings.ts";

interface NodeDescription {
  /** Tonearm's own version, semantic. */
  readonly version: string;
  /** Epoch milliseconds, -1 if unknown. */
  readonly buildTimeMs: number;
  readonly git: { readonly branch: string; readonly commit: string; readonly commitTimeMs: number };
  readonly sourceNames: readonly string[];
  /** Of the filters of plugins. Default: none. */
  readonly filterNames?: readonly string[];
  readonly disabledFilters: ReadonlySet<string>;
  readonly plugins: InfoJson["plugins"];
}

/** The Info object for `GET /v4/info`. */
export function createInfo(node: NodeDescription): InfoJson {
  const audioLibrary = `tonearm ${node.version}`;
  const { branch, commit, commitTimeMs } = node.git;
  return {
    version: describeVersion(node.version),
    buildTime: node.buildTimeMs,
    git: { branch, commit, commitTime: commitTimeMs },
    jvm: `Node.js ${process.versions.node}`,
    lavaplayer: audioLibrary,
    audioLibrary,
    sourceManagers: node.sourceNames,
    filters: [...SWITCHED_FILTER_NAMES, ...(node.filterNames ?? [])].filter(
      (name) => name !== "tonearm" && !node.disabledFilters.has(name),
    ),
    plugins: [...node.plugins, ...filterPlugins(node.disabledFilters)],
  };
}

/** The versions of Lavalink's filter plugins whose filters the node has. */
const FILTER_PLUGINS: InfoJson["plugins"] = [
  { name: "lavadspx-plugin", version: "0.0.5" },
  { name: "lavalink-filter-plugin", version: "0.4.0" },
];

/** Those with a filter that is not switched off. */
function filterPlugins(disabled: ReadonlySet<string>): InfoJson["plugins"] {
  const filters = Object.entries<readonly string[]>(LAVALINK_PLUGIN_FILTERS).filter(([name]) => !disabled.has(name));
  return FILTER_PLUGINS.filter(({ name }) => filters.some(([, plugins]) => plugins.includes(name)));
}

/** `semver` is ours; the numbers are the protocol's, for clients decide by them what they may ask for. */
function describeVersion(semver: string): InfoJson["version"] {
  const [major = 0, minor = 0, patch = 0] = PROTOCOL_VERSION.split(".").map(Number);
  return { semver, major, minor, patch, preRelease: "" };
}
