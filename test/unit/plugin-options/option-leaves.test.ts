import { expect, test } from "vitest";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import type { OptionSchema } from "../../../src/plugin-api/plugin.ts";
import { allowedServersOf, secretsOf } from "../../../src/plugin-options/option-leaves.ts";
import { readOptions } from "../../../src/plugin-options/read-options.ts";

const meaning = "Something.";
const LIBRARY = {
  url: { type: "server", meaning },
  password: { type: "secret", meaning },
  name: { type: "text", meaning },
} as const satisfies OptionSchema;
const SCHEMA = {
  ...LIBRARY,
  cipher: { type: "group", meaning, members: LIBRARY },
  libraries: { type: "groups", meaning, members: LIBRARY },
  byName: { type: "named", meaning, members: LIBRARY },
} as const satisfies OptionSchema;

const library = (url: string, password: string): PlainTree => ({ url, password, name: "http://not-meant.test" });

function valuesOf(raw: PlainTree) {
  const { values } = readOptions(SCHEMA, raw, { path: "plugins.x" });
  if (values === undefined) throw new Error("the options of this test are wrong");
  return values;
}

const VALUES = valuesOf({
  url: "http://One.test",
  password: "p1",
  cipher: library("https://two.test/rest", "p2"),
  libraries: [library("http://[fd00::1]:4533", "p3"), library("http://one.test:80/x", "p1")],
  byName: { a: library("https://10.0.0.1:8096", "p4"), b: {} },
});

test("servers at any depth are found, each once, with the port of their scheme", () => {
  expect(allowedServersOf(SCHEMA, VALUES)).toEqual([
    { host: "one.test", port: 80 },
    { host: "two.test", port: 443 },
    { host: "fd00::1", port: 4533 },
    { host: "10.0.0.1", port: 8096 },
  ]);
});

test("secrets at any depth are found, each once", () => {
  expect(secretsOf(SCHEMA, VALUES)).toEqual(["p1", "p2", "p3", "p4"]);
});

test("no servers and secrets are found where none are set", () => {
  expect(allowedServersOf(SCHEMA, valuesOf({}))).toEqual([]);
  expect(secretsOf(SCHEMA, valuesOf({ password: "" }))).toEqual([]);
});

test("a default that is no address of a server allows none", () => {
  const schema = { url: { type: "server", meaning, default: "file:///etc" } } as const satisfies OptionSchema;
  expect(allowedServersOf(schema, { url: "file:///etc" })).toEqual([]);
});

test("a fully qualified name has no dot at its end, as connection attempts compare it in that form", () => {
  const values = valuesOf({ url: "http://nas.local.:4533", cipher: library("http://NAS.local:4533/x", "p") });
  expect(allowedServersOf(SCHEMA, values)).toEqual([{ host: "nas.local", port: 4533 }]);
});
