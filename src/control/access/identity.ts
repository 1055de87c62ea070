// The identity of a client by the credential it has shown, and its permissions. Main thread; created by control/server
// from the Authorization header, read by the routes and by the sessions.

import { NodeError } from "../../errors.ts";

/** Characters that are shown of a source name that only a client's track has. */
const SOURCE_LENGTH_MAX = 64;

/**
 * The permissions of a client. `client`: plays, in its own sessions. `viewer`: sees the state of the node and of all
 * players, and changes nothing. `operator`: everything.
 */
export const ROLES = ["client", "viewer", "operator"] as const;
export type Role = (typeof ROLES)[number];

/**
 * Whom a route is for. `open`: everybody, without a password. `known`: every role. The others: that role, and
 * operators.
 */
export type Access = "open" | "known" | "client" | "viewer" | "operator";

/** Where a number is not bounded it is infinite, where a set is not it is undefined. */
export interface Limits {
  /** Connected, or waiting for their client. */
  readonly sessions: number;
  /** Players in all sessions together. */
  readonly players: number;
  /** On the average of ten seconds. */
  readonly requestsPerSecond: number;
  /** Names of sources that tracks may come from, in lower case. */
  readonly sources: ReadonlySet<string> | undefined;
  /** Names of filters, as `lavalink.server.filters` has them. */
  readonly filters: ReadonlySet<string> | undefined;
}

/** A client as the node knows it. */
export interface Identity {
  /** The name of its key. Undefined: it has shown the node's password, and may do everything. */
  readonly name: string | undefined;
  readonly role: Role;
  readonly limits: Limits;
  /** The hash of its credential, to detect that it is no longer valid. Undefined: the password. */
  readonly hash: string | undefined;
}

export const UNLIMITED: Limits = {
  sessions: Number.POSITIVE_INFINITY,
  players: Number.POSITIVE_INFINITY,
  requestsPerSecond: Number.POSITIVE_INFINITY,
  sources: undefined,
  filters: undefined,
};

/** The identity of clients that have shown the node's password. */
export const PASSWORD_HOLDER: Identity = { name: undefined, role: "operator", limits: UNLIMITED, hash: undefined };

/** The identity of every client on a route that is open to everyone. */
export const NOBODY: Identity = {
  name: undefined,
  role: "client",
  hash: undefined,
  limits: { ...UNLIMITED, sessions: 0, players: 0 },
};

/** Whether a client with this role may use a route with this access. */
export function mayUse(role: Role, access: Access): boolean {
  return access === "open" || access === "known" || role === "operator" || role === access;
}

/** The sources that tracks of a client may come from, where they are not all. */
export interface AllowedSources {
  /** In lower case, sorted. */
  readonly names: readonly string[];
  has(source: string): boolean;
  /** Throws `key-forbidden` for a source that is not allowed. */
  check(source: string): void;
}

/** Undefined where the client may use all. */
export function allowedSources({ name, limits }: Pick<Identity, "name" | "limits">): AllowedSources | undefined {
  const { sources } = limits;
  if (sources === undefined) return undefined;
  const has = (source: string): boolean => sources.has(source.toLowerCase());
  return {
    names: [...sources].sort(),
    has,
    check: (source) => {
      if (has(source)) return;
      throw new NodeError("key-forbidden", `the key ${name} may not play from ${source.slice(0, SOURCE_LENGTH_MAX)}`);
    },
  };
}
