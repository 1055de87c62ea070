// The Info object of the protocol (protocol-v4.md section 3.6), and the version that it tells. Main thread; made in
// control/about.

/** What `GET /version` answers: the release whose protocol we speak, as clients derive their behaviour from it. */
export const PROTOCOL_VERSION = "4.2.2";

/** `semver` is the node's own; the numbers are those of `PROTOCOL_VERSION`. */
export interface VersionJson {
  readonly semver: string;
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly preRelease: string;
}

/** The answer of `GET /v4/info`. Clients look there for sources and filters before they use them. */
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
