// The records of a machine in the bucket: `machine/<id>`, which it renews, and `life/<id>`, without which nothing that it
// writes counts. Main thread.

import type { Machine } from "./machine.ts";

const VALUE_LENGTH_MAX = 4096;
const TEXT_LENGTH_MAX = 200;
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What `machine/<id>` holds. */
export interface MachineRecord {
  readonly machine: Machine;
  /** Grows with each attempt to write it: a machine recognizes by it which of its attempts was written. */
  readonly beat: number;
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

export function writeMachineRecord({ machine, beat }: MachineRecord): string {
  return JSON.stringify({ ...machine, beat });
}

/** Undefined: it is not a record of the machine of that id. Members that are not known are ignored. */
export function readMachineRecord(id: string, value: string): MachineRecord | undefined {
  if (value.length > VALUE_LENGTH_MAX) return undefined;
  let read: unknown;
  try {
    read = JSON.parse(value);
  } catch {
    // Not written by a machine.
    return undefined;
  }
  if (typeof read !== "object" || read === null) return undefined;
  const { name, region, version, contract, beat } = read as Partial<Record<string, unknown>>;
  if (!("id" in read) || read.id !== id || !isText(name) || !isText(version) || !isCount(contract) || !isCount(beat)) {
    return undefined;
  }
  if (region !== undefined && !isText(region)) return undefined;
  return { machine: { id, name, region, version, contract }, beat };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= TEXT_LENGTH_MAX;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
