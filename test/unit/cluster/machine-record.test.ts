import { expect, test } from "vitest";
import {
  type MachineRecord,
  machineIdOf,
  machineKey,
  readMachineRecord,
  writeMachineRecord,
} from "../../../src/cluster/machine-record.ts";

const LOAD = { players: 3, load: 1.25, loadPerPlayer: 0.002, hasCapacity: false, isDraining: true };
const RECORD: MachineRecord = {
  machine: { id: "x1", name: "a", roles: ["audio"], regions: ["fra", "rotterdam"], version: "1.0.0", contract: 2 },
  beat: 7,
  load: LOAD,
};

test("what is written is read, with a load and without", () => {
  for (const record of [RECORD, { ...RECORD, load: undefined }]) {
    expect(readMachineRecord("x1", writeMachineRecord(record))).toEqual(record);
  }
});

test("members of later versions are ignored, and those that an earlier one does not have are not needed", () => {
  const { roles: _roles, regions: _regions, ...machine } = RECORD.machine;
  const value = { ...machine, region: "eu", contract: 1, beat: 7, more: { of: "it" } };
  expect(readMachineRecord("x1", JSON.stringify(value))).toEqual({
    machine: { ...machine, roles: ["gateway", "audio"], regions: [], contract: 1 },
    beat: 7,
    load: undefined,
  });
});

test("of roles and regions, those are read that are some", () => {
  const read = (roles: unknown, regions: unknown) => {
    const machine = readMachineRecord("x1", JSON.stringify({ ...RECORD.machine, beat: 7, roles, regions }))?.machine;
    return [machine?.roles, machine?.regions];
  };
  expect(read(["audio", "cook", 5], ["fra", 5, ""])).toEqual([["audio"], ["fra"]]);
  expect(read([], "fra")).toEqual([[], []]);
  const many = Array.from({ length: 40 }, (_, index) => `r${index}`);
  expect(read(["gateway"], many)).toEqual([["gateway"], many.slice(0, 32)]);
});

test.each([
  null,
  "busy",
  {},
  { ...LOAD, players: -1 },
  { ...LOAD, load: null },
  { ...LOAD, load: 1e9 },
  { ...LOAD, loadPerPlayer: -0.1 },
])("a load like %j is not known", (load) => {
  const value = JSON.stringify({ ...RECORD.machine, beat: 7, load });
  expect(readMachineRecord("x1", value)).toEqual({ ...RECORD, load: undefined });
});

test("what is not a record of that machine is not read", () => {
  const { machine, beat } = RECORD;
  const wrong = [
    { ...machine, beat, id: "x2" },
    { ...machine, beat, name: "" },
    { ...machine, beat, name: "x".repeat(201) },
    { ...machine, beat, version: 1 },
    { ...machine, beat, contract: -1 },
    { ...machine, beat: 0.5 },
    { ...machine, beat, more: "x".repeat(5000) },
    null,
    "text",
  ];
  for (const value of wrong) expect(readMachineRecord("x1", JSON.stringify(value))).toBeUndefined();
  expect(readMachineRecord("x1", "{")).toBeUndefined();
});

test("only keys of machines have an id", () => {
  expect(machineIdOf(machineKey("x1"))).toBe("x1");
  for (const key of ["machine", "machine/", "machine/a/b", "life/x1", "machine/a b", `machine/${"x".repeat(65)}`]) {
    expect(machineIdOf(key)).toBeUndefined();
  }
});
