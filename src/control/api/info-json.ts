// The Info object of the protocol (protocol-v4.md section 3.6). Main thread.

import { FILTER_NAMES } from "../../bridge/filter-names.ts";

export interface VersionJson {
  readonly semver: string;
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly preRelease: string;
}

export interface InfoJson {
  readonly version: VersionJson;
  /** Epoch milliseconds, -1 if unknown. */
  readonly buildTime: number;
  readonly git: { readonly branch: string; readonly commit: string; readonly commitTime: number };
  readonly jvm: string;
  /** The same as `audioLibrary`: clients of the published server know this name. */
  readonly lavaplayer: string;
  readonly audioLibrary: string;
  readonly sourceManagers: readonly string[];
  readonly filters: readonly string[];
  readonly plugins: readonly { readonly name: string; readonly version: string }[];
}

export interface NodeDescription {
  /** Tonearm's own version, semantic. */
  readonly version: string;
  /** Epoch milliseconds, -1 if unknown. */
  readonly buildTimeMs: number;
  readonly git: { readonly branch: string; readonly commit: string; readonly commitTimeMs: number };
  readonly sourceNames: readonly string[];
  readonly disabledFilters: ReadonlySet<string>;
}

/** What `GET /version` answers: the release whose protocol we speak, as clients derive their behaviour from it. */
export const PROTOCOL_VERSION = "4.2.2";

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
    filters: FILTER_NAMES.filter((name) => !node.disabledFilters.has(name)),
    plugins: [],
  };
}

/** `semver` is ours; the numbers are the protocol's, for clients decide by them what they may ask for. */
function describeVersion(semver: string): VersionJson {
  const [major = 0, minor = 0, patch = 0] = PROTOCOL_VERSION.split(".").map(Number);
  return { semver, major, minor, patch, preRelease: "" };
}
