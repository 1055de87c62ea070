// What is told about the cluster: in health, metrics, the dashboard and support bundles. Main thread.

import type { Machine } from "../../cluster/machine.ts";

export type ClusterStatus =
  /** Not configured. */
  | { readonly kind: "disabled" }
  /** It is being joined for the first time. */
  | { readonly kind: "joining"; readonly reason: string; readonly sinceEpochMs: number }
  | { readonly kind: "joined" }
  /** NATS does not answer. What plays here plays on; sessions of other machines cannot be reached. */
  | { readonly kind: "away"; readonly reason: string; readonly sinceEpochMs: number }
  /** Only this machine may have lost the others: it has ended its players, as others may play them by now. */
  | { readonly kind: "cut-off"; readonly reason: string; readonly sinceEpochMs: number };

/** A machine, and how many players are on it; undefined: it does not say. */
interface ShownMachine extends Machine {
  readonly players: number | undefined;
}

export interface ClusterReport {
  readonly status: ClusterStatus;
  /** This one, while it is joined. */
  readonly machine: Machine | undefined;
  /** All that are alive, by name, this one among them. */
  readonly machines: readonly ShownMachine[];
  /** Sessions that other machines own. */
  readonly sessionsElsewhere: number;
  /** Since the process started. */
  readonly counts: {
    /** Sessions that were taken over from machines that had died or left. */
    readonly adopted: number;
    /** Sessions that were given to, and taken from, machines that live, because their client came there. */
    readonly given: number;
    readonly taken: number;
    /** Requests that were passed on to the machine of their session, and those of them that got no answer there. */
    readonly forwarded: number;
    readonly forwardsFailed: number;
    /** How often this machine was cut off, or was taken for dead. */
    readonly lost: number;
  };
}

/** The report of a node that is alone. */
export const NO_CLUSTER: ClusterReport = {
  status: { kind: "disabled" },
  machine: undefined,
  machines: [],
  sessionsElsewhere: 0,
  counts: { adopted: 0, given: 0, taken: 0, forwarded: 0, forwardsFailed: 0, lost: 0 },
};
