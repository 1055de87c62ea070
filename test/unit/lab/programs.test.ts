import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { chooseProgram, SCRIPTS } from "../../../lab/programs.ts";

const ALL = Object.entries(SCRIPTS).flatMap(([script, programs]) =>
  Object.entries(programs).map(([name, program]) => ({ script, name, ...program })),
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

test.each(["bench", "lab"])("npm run %s without a name prints the list and ends with status 2", (script) => {
  const choice = chooseProgram(script, []);
  const lines = Object.entries(SCRIPTS[script] ?? {}).map(([name, { summary }]) => [name, summary]);
  expect(choice).toMatchObject({ status: 2, text: expect.stringContaining(`npm run ${script} -- NAME [options]`) });
  const printed = "text" in choice ? choice.text.split("\n").filter((line) => line.startsWith("  ")) : [];
  expect(printed.map((line) => line.trim().split(/ {2,}/))).toEqual(lines);
  expect(chooseProgram(script, ["--help"])).toEqual({ ...choice, status: 0 });
});

test.each(["neighbours", "--seed", "toString", ""])(
  "the unknown name %j is refused with status 2 and the list",
  (name) => {
    expect(chooseProgram("lab", [name, "--seed", "7"])).toMatchObject({
      status: 2,
      text: expect.stringMatching(new RegExp(`^npm run lab has no program "${name}"\n[^]*isolation`)),
    });
  },
);

test("every program is in the lab, and its line in the list is short", () => {
  const missing = ALL.filter(({ module }) => !existsSync(new URL(`../../../lab/${module}.ts`, import.meta.url)));
  expect(missing).toEqual([]);
  expect(ALL.filter(({ summary }) => summary.length > 90)).toEqual([]);
});
