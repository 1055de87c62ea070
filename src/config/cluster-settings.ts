// The settings of a cluster, as the connection to NATS and the rest of the node get them; cluster-rules.ts makes them
// from the keys. Main thread.

import type { Secret } from "./keys/secret.ts";

/** What a machine may be for. */
export const MACHINE_ROLES = ["gateway", "audio"] as const;

/** `gateway`: clients connect to it, and it keeps their sessions. `audio`: players of any session may be placed on it. */
export type MachineRole = (typeof MACHINE_ROLES)[number];

/** How this machine logs in to the NATS servers. */
export type ClusterLogin =
  | { readonly kind: "none" }
  | { readonly kind: "password"; readonly user: string; readonly password: Secret }
  | { readonly kind: "token"; readonly token: Secret }
  /** The seed of a user's key pair. */
  | { readonly kind: "nkey"; readonly seed: Secret }
  /** A file with the JWT and the seed of a user, as `nsc` makes it; absolute. */
  | { readonly kind: "credentials"; readonly path: string };

/** Absolute paths of files in PEM; at least one is there. */
export interface ClusterTls {
  /** The authorities that the servers' certificates come from; default: those of Node.js. */
  readonly caPath?: string;
  /** The certificate of this machine and its key: both or neither. */
  readonly certificatePath?: string;
  readonly keyPath?: string;
}

export interface ClusterSettings {
  /** `nats://host:port` or `tls://host:port`: 1 to 64, without duplicates, IPv6 addresses in brackets. */
  readonly servers: readonly string[];
  /** Name of the cluster: 1 to 32 of a-z, 0-9 and `-`. */
  readonly name: string;
  /** Name of this machine: 1 to 64 of letters, digits, `.`, `_` and `-`. */
  readonly machine: string;
  /** At least one, without duplicates. */
  readonly roles: readonly MachineRole[];
  /** Voice regions that are near to it, as `voiceRegion` names them: letters as in `machine`, lower case; up to 16. */
  readonly regions: readonly string[];
  readonly login: ClusterLogin;
  readonly tls: ClusterTls | undefined;
  /** `tonearm.state.key`: seals all that leaves the machine. */
  readonly key: Secret;
}
