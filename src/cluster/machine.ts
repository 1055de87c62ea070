// A machine of the cluster, as it introduces itself to the others, and how busy it is. Main thread.

import type { MachineRole } from "../config/cluster-settings.ts";

/**
 * The version of what machines say to each other: calls, and the records that all read. Raise it with a change that an
 * older machine would misread: machines of different versions see each other, and do not take each other's sessions.
 */
export const CONTRACT_VERSION = 2;

export interface Machine {
  /** Of one life: a process that starts, or that has lost its place in the cluster, takes a new one. */
  readonly id: string;
  /** As configured; two of one name are possible, and a mistake. */
  readonly name: string;
  /** As configured; at least one. */
  readonly roles: readonly MachineRole[];
  /** Voice regions that it is near to, as configured. */
  readonly regions: readonly string[];
  /** Of the node. */
  readonly version: string;
  readonly contract: number;
}

/** Where other machines connect to a machine, to notice when its process ends. */
export interface Endpoint {
  /** IP addresses, the likeliest first. */
  readonly hosts: readonly string[];
  readonly port: number;
}

/** How busy a machine is, as it says with each renewal of its record. */
export interface MachineLoad {
  /** Of whatever session, playing or not. */
  readonly players: number;
  /**
   * Share of their time that its audio workers spend making and sending frames, their mean, with what is promised to
   * players that have just begun. 0 to 1; above 1 it is late.
   */
  readonly load: number;
  /** What one more player that plays would add to `load`. */
  readonly loadPerPlayer: number;
  /** False: it would refuse a player that begins. */
  readonly hasCapacity: boolean;
  /** It takes no new players: it is about to end. */
  readonly isDraining: boolean;
}
