import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ALL_KEYS } from "../../../src/config/keys/all-keys.ts";
import type { Key } from "../../../src/config/keys/key.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { variableTextOf } from "../../support/key-texts.ts";
import { renderConfigExample } from "../../support/render-config-example.ts";
import { renderConfigReference } from "../../support/render-config-reference.ts";

const EXAMPLE = new URL("../../../config.example.yml", import.meta.url);
const REFERENCE = new URL("../../../docs/reference/configuration.md", import.meta.url);

function load(text: string | undefined) {
  return loadConfig({
    args: [],
    env: {},
    cwd: "/somewhere",
    readFile: (path) => (path === "/somewhere/tonearm.yml" ? text : undefined),
    realPath: (path) => path,
    random: { bytes: (length) => new Uint8Array(length), uint32: () => 0, unit: () => 0 },
    coreCount: 4,
  });
}

test("config.example.yml matches the keys (fix it with: npx vitest run test/unit/config --update)", async () => {
  await expect(renderConfigExample()).toMatchFileSnapshot(EXAMPLE.pathname);
});

test("docs/reference/configuration.md matches the keys (fix it the same way)", async () => {
  await expect(renderConfigReference()).toMatchFileSnapshot(REFERENCE.pathname);
});

test("config.example.yml loads without a word and changes nothing", () => {
  const loaded = load(readFileSync(EXAMPLE, "utf8"));
  expect(loaded.config).toEqual(load(undefined).config);
  expect({ warnings: loaded.warnings, notes: loaded.notes }).toEqual({ warnings: [], notes: [] });
});

test("config.example.yml has no key without effect, and says where these are listed with their reasons", () => {
  const text = readFileSync(EXAMPLE, "utf8");
  const isUseless = ({ docs }: Key<unknown>): boolean => docs.noEffect !== undefined;
  const useless = ALL_KEYS.filter(isUseless).map(({ path }) => path);
  expect(useless.length).toBeGreaterThan(20);
  const variables = Array.from(text.matchAll(/# Variable: (\S+)$/gm), ([, name]) => name);
  const useful = ALL_KEYS.filter((key) => !isUseless(key)).map(variableTextOf);
  expect(variables.toSorted()).toEqual(useful.toSorted());
  expect(text).toContain("docs/reference/configuration.md#without-effect");
  const reference = readFileSync(REFERENCE, "utf8").split("\n## Without effect\n")[1] ?? "";
  expect(useless.filter((path) => !reference.includes(`\`${path}\``))).toEqual([]);
});

test("keys whose default cannot be written have a valid example", () => {
  const commented = ALL_KEYS.filter(({ defaultText }) => defaultText === undefined);
  for (const { path, docs } of commented) {
    expect(docs.example, path).toBeDefined();
    expect(docs.defaultNote, path).toBeDefined();
    expect(() => load(`${path}: ${docs.example}`), path).not.toThrow();
  }
  expect(commented.length).toBeGreaterThan(5);
});

test("every key says what it means in sentences", () => {
  for (const { path, docs } of ALL_KEYS) {
    expect(docs.meaning, path).toMatch(/^[A-Z].*\.$/s);
    expect(docs.noEffect ?? "x", path).not.toMatch(/\.$/);
  }
});
