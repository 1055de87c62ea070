import { expect, test } from "vitest";
import { ALL_KEYS } from "../../../../src/config/keys/all-keys.ts";
import { findByPath, findByVariable, variableNameOf } from "../../../../src/config/reading/key-names.ts";
import { canonicalName } from "../../../../src/lib/canonical-name.ts";

const TAILS = { one: "", list: "_0", map: "_SOMETHING", tree: "_SOMETHING" };

test.each(ALL_KEYS.map((key) => [key.path, key] as const))("%s is found by path and variable", (path, key) => {
  expect(findByPath(path.split("."))?.key).toBe(key);
  const name = variableNameOf(key) + TAILS[key.shape];
  expect(findByVariable(name)?.key, name).toBe(key);
  const joined = path.split(".").map(canonicalName).join("_").toUpperCase() + TAILS[key.shape];
  expect(findByVariable(joined)?.key, joined).toBe(key);
});

test("no two keys share a spelling", () => {
  const spellings = ALL_KEYS.map(({ path }) => canonicalName(path));
  expect(new Set(spellings).size).toBe(spellings.length);
});

test("names of other programs' variables are not ours", () => {
  for (const name of ["PATH", "SERVER_NAME", "SERVERPORT", "HOME", "LOGGING"])
    expect(findByVariable(name)).toBeUndefined();
});
