import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import { KEY_ENTRIES } from "../../../src/config/schema.ts";
import { renderConfigExample } from "../../support/render-config-example.ts";

const EXAMPLE = new URL("../../../config.example.yml", import.meta.url);

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

test("config.example.yml is what the schema says (mend it with: npx vitest run test/unit/config --update)", async () => {
  await expect(renderConfigExample()).toMatchFileSnapshot(EXAMPLE.pathname);
});

test("config.example.yml loads without a word and changes nothing", () => {
  const loaded = load(readFileSync(EXAMPLE, "utf8"));
  expect(loaded.config).toEqual(load(undefined).config);
  expect({ warnings: loaded.warnings, notes: loaded.notes }).toEqual({ warnings: [], notes: [] });
});

test("keys whose default cannot be written have an example that is valid", () => {
  const commented = KEY_ENTRIES.filter(({ key }) => key.defaultText === undefined);
  for (const { path, key } of commented) {
    expect(key.docs.example, path).toBeDefined();
    expect(key.docs.defaultNote, path).toBeDefined();
    expect(() => load(`${path}: ${key.docs.example}`), path).not.toThrow();
  }
  expect(commented.length).toBeGreaterThan(5);
});

test("every key says what it means in sentences", () => {
  for (const { path, key } of KEY_ENTRIES) {
    expect(key.docs.meaning, path).toMatch(/^[A-Z].*\.$/s);
    expect(key.docs.noEffect ?? "x", path).not.toMatch(/\.$/);
  }
});
