// A machine of the cluster, as it introduces itself to the others.

/**
 * The version of what machines say to each other: calls, and the records that all read. Raise it with a change that an
 * older machine would misread: machines of different versions see each other, and do not take each other's sessions.
 */
export const CONTRACT_VERSION = 1;

export interface Machine {
  /** Of one life: a process that starts, or that has lost its place in the cluster, takes a new one. */
  readonly id: string;
  /** As configured; two of one name are possible, and a mistake. */
  readonly name: string;
  /** As configured; undefined: not said. */
  readonly region: string | undefined;
  /** Of the node. */
  readonly version: string;
  readonly contract: number;
}
