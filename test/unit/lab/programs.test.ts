import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { COMMANDS, chooseProgram, typedCommand } from "../../../lab/programs.ts";

const ALL = Object.entries(COMMANDS).flatMap(([command, programs]) =>
  Object.entries(programs).map(([name, program]) => ({ command, name, ...program })),
);

test("a program gets the arguments behind its name as they are", () => {
  expect(chooseProgram("lab", ["simulate", "--seed", "7", "--", "--help"])).toEqual({
    module: "simulate/main",
    args: ["--seed", "7", "--", "--help"],
  });
  expect(chooseProgram("bench", ["compare"])).toEqual({ module: "bench/compare/main", args: [] });
});

test("arguments of a program's entry go before those of the caller, which can repeat them", () => {
  expect(chooseProgram("lab", ["encoder-exact", "--frames", "200"])).toEqual({
    module: "../opus-encoder/lab/main",
    args: ["--frames", "100000", "--frames", "200"],
  });
});

test.each([
  ["bench", "npm run bench -- NAME [options]"],
  ["lab", "npm run lab -- NAME [options]"],
  ["tonearm-lab", "tonearm-lab NAME [options]"],
])("%s without a name prints the list and ends with status 2", (command, firstLine) => {
  const choice = chooseProgram(command, []);
  const lines = Object.entries(COMMANDS[command] ?? {}).map(([name, { summary }]) => [name, summary]);
  expect(choice).toMatchObject({ status: 2, text: expect.stringContaining(firstLine) });
  const printed = "text" in choice ? choice.text.split("\n").filter((line) => line.startsWith("  ")) : [];
  expect(printed.map((line) => line.trim().split(/ {2,}/))).toEqual(lines);
  expect(chooseProgram(command, ["--help"])).toEqual({ ...choice, status: 0 });
});

test.each(["neighbours", "--seed", "toString", ""])(
  "the unknown name %j is refused with status 2 and the list",
  (name) => {
    expect(chooseProgram("lab", [name, "--seed", "7"])).toMatchObject({
      status: 2,
      text: expect.stringMatching(new RegExp(`^there is no program "${name}"\n[^]*isolation`)),
    });
  },
);

test("tonearm-lab has the programs of both npm scripts, and no name is in both", () => {
  const { bench = {}, lab = {}, "tonearm-lab": all = {} } = COMMANDS;
  expect(Object.keys(all).toSorted()).toEqual([...Object.keys(bench), ...Object.keys(lab)].toSorted());
});

test("a help text names the command of its place: npm in a checkout, tonearm-lab in the package", () => {
  expect(["compare", "simulate"].map((name) => typedCommand(name))).toEqual([
    "npm run bench -- compare",
    "npm run lab -- simulate",
  ]);
  expect(["compare", "simulate"].map((name) => typedCommand(name, true))).toEqual([
    "tonearm-lab compare",
    "tonearm-lab simulate",
  ]);
});

test("every program is in the lab, and its line in the list is short", () => {
  const missing = ALL.filter(({ module }) => !existsSync(new URL(`../../../lab/${module}.ts`, import.meta.url)));
  expect(missing).toEqual([]);
  expect(ALL.filter(({ summary }) => summary.length > 90)).toEqual([]);
});
