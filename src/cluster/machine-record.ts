// The records of a machine in the bucket: `machine/<id>`, which it renews, and `life/<id>`, without which nothing that it
// writes counts. Main thread.

import { isIP } from "node:net";
import { MACHINE_ROLES, type MachineRole } from "../config/cluster-settings.ts";
import type { Endpoint, Machine, MachineLoad } from "./machine.ts";

const VALUE_LENGTH_MAX = 4096;
const TEXT_LENGTH_MAX = 200;
const REGIONS_MAX = 32;
const SHARE_MAX = 1000;
const HOSTS_MAX = 4;
const PORT_MAX = 65_535;
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What `machine/<id>` holds. */
export interface MachineRecord {
  readonly machine: Machine;
  /** Grows with each attempt to write it: a machine recognizes by it which of its attempts was written. */
  readonly beat: number;
  /** At that beat; undefined: it does not say. */
  readonly load: MachineLoad | undefined;
  /** Undefined: nobody can connect to it. */
  readonly endpoint?: Endpoint | undefined;
}

/** Matches the keys of all machines. */
export const MACHINE_PATTERN = "machine/*";

export function machineKey(id: string): string {
  return `machine/${id}`;
}

export function lifeKey(id: string): string {
  return `life/${id}`;
}

/** Undefined: it is not the key of a machine. */
export function machineIdOf(key: string): string | undefined {
  const [kind, id = "", ...rest] = key.split("/");
  return kind === "machine" && rest.length === 0 && ID.test(id) ? id : undefined;
}

export function writeMachineRecord({ machine, beat, load, endpoint }: MachineRecord): string {
  return JSON.stringify({ ...machine, beat, load, endpoint });
}

/**
 * Undefined: it is not a record of the machine of that id. Members that are not known are ignored; those that came with
 * a later version may be missing or unreadable.
 */
export function readMachineRecord(id: string, value: string): MachineRecord | undefined {
  if (value.length > VALUE_LENGTH_MAX) return undefined;
  let read: unknown;
  try {
    read = JSON.parse(value);
  } catch {
    // Not written by a machine.
    return undefined;
  }
  if (!isRecord(read)) return undefined;
  const { name, version, contract, beat } = read;
  if (read.id !== id || !isText(name) || !isText(version) || !isCount(contract) || !isCount(beat)) return undefined;
  const machine = { id, name, roles: readRoles(read.roles), regions: readRegions(read.regions), version, contract };
  return { machine, beat, load: readLoad(read.load), endpoint: readEndpoint(read.endpoint) };
}

/** A machine that says nothing of it is for everything. */
function readRoles(value: unknown): readonly MachineRole[] {
  if (!Array.isArray(value)) return MACHINE_ROLES;
  return MACHINE_ROLES.filter((role) => value.includes(role));
}

function readRegions(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(isText).slice(0, REGIONS_MAX) : [];
}

function readLoad(value: unknown): MachineLoad | undefined {
  if (!isRecord(value)) return undefined;
  const { players, load, loadPerPlayer, hasCapacity, isDraining } = value;
  if (!isCount(players) || !isShare(load) || !isShare(loadPerPlayer)) return undefined;
  return { players, load, loadPerPlayer, hasCapacity: hasCapacity === true, isDraining: isDraining === true };
}

function readEndpoint(value: unknown): Endpoint | undefined {
  if (!isRecord(value) || !Array.isArray(value.hosts)) return undefined;
  const { port } = value;
  const hosts = value.hosts.filter((host): host is string => isText(host) && isIP(host) !== 0).slice(0, HOSTS_MAX);
  return isCount(port) && port > 0 && port <= PORT_MAX && hosts.length > 0 ? { hosts, port } : undefined;
}

function isRecord(value: unknown): value is Partial<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= TEXT_LENGTH_MAX;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** A load may be above 1, for as long as a machine is late. */
function isShare(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= SHARE_MAX;
}
