import { expect, test } from "vitest";
import { canonicalName } from "../../../src/config/key.ts";
import { findByPath, findByVariable, KEY_ENTRIES, variableNameOf } from "../../../src/config/schema.ts";

const TAILS = { one: "", list: "_0", map: "_SOMETHING", tree: "_SOMETHING" };

test.each(KEY_ENTRIES.map((entry) => [entry.path, entry] as const))(
  "%s is found by path and variable",
  (path, entry) => {
    expect(findByPath(path.split("."))?.entry).toBe(entry);
    const name = variableNameOf(entry) + TAILS[entry.key.shape];
    expect(findByVariable(name)?.entry, name).toBe(entry);
    const joined = path.split(".").map(canonicalName).join("_").toUpperCase() + TAILS[entry.key.shape];
    expect(findByVariable(joined)?.entry, joined).toBe(entry);
  },
);

test("no two keys share a spelling", () => {
  const spellings = KEY_ENTRIES.map(({ path }) => canonicalName(path));
  expect(new Set(spellings).size).toBe(spellings.length);
});

test("names of other programs' variables are not ours", () => {
  for (const name of ["PATH", "SERVER_NAME", "SERVERPORT", "HOME", "LOGGING"])
    expect(findByVariable(name)).toBeUndefined();
});
