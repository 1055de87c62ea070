import { expect, test } from "vitest";
import { machineIdOf, machineKey, readMachineRecord, writeMachineRecord } from "../../../src/cluster/machine-record.ts";

const RECORD = { machine: { id: "x1", name: "a", region: "eu", version: "1.0.0", contract: 1 }, beat: 7 };

test("what is written is read, with a region and without", () => {
  expect(readMachineRecord("x1", writeMachineRecord(RECORD))).toEqual(RECORD);
  const nowhere = { ...RECORD, machine: { ...RECORD.machine, region: undefined } };
  expect(readMachineRecord("x1", writeMachineRecord(nowhere))).toEqual(nowhere);
});

test("members of later versions are ignored", () => {
  const value = JSON.stringify({ ...RECORD.machine, beat: 7, load: { players: 3 } });
  expect(readMachineRecord("x1", value)).toEqual(RECORD);
});

test("what is not a record of that machine is not read", () => {
  const { machine, beat } = RECORD;
  const wrong = [
    { ...machine, beat, id: "x2" },
    { ...machine, beat, name: "" },
    { ...machine, beat, name: "x".repeat(201) },
    { ...machine, beat, version: 1 },
    { ...machine, beat, region: null },
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
