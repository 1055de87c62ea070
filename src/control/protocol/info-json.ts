// The Info object of the protocol (protocol-v4.md section 3.6), and the version that it tells. Main thread; made in
// control/about.

/** What `GET /version` answers: the release whose protocol we speak, as clients derive their behaviour from it. */
export const PROTOCOL_VERSION = "4.2.2";

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
