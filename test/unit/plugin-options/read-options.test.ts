import { describe, expect, expectTypeOf, test } from "vitest";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { definePlugin, type OptionSchema, type OptionValues } from "../../../src/plugin-api/plugin.ts";
import { readOptions } from "../../../src/plugin-options/read-options.ts";

const meaning = "Something.";

const PLUGIN = definePlugin({
  name: "x",
  version: "1.0.0",
  apiVersion: 1,
  config: {
    voice: { type: "text", meaning },
    language: { type: "text", meaning, default: "en" },
    apiKey: { type: "secret", meaning, isRequired: true },
    server: { type: "server", meaning },
    pagesMax: { type: "integer", meaning, min: 0, max: 100, default: 6 },
    speed: { type: "number", meaning, min: 0.5, max: 10 },
    allowSearch: { type: "flag", meaning, default: true },
    quality: { type: "choice", meaning, names: ["LOW", "HIGH"], default: "LOW" },
    clients: { type: "texts", meaning, default: ["A", "B"] },
    remoteCipher: { type: "group", meaning, members: { url: { type: "server", meaning } } },
    servers: {
      type: "groups",
      meaning,
      members: {
        name: { type: "text", meaning, isRequired: true },
        isFast: { type: "flag", meaning, default: false },
      },
    },
    feeds: { type: "named", meaning, members: { limit: { type: "integer", meaning, min: 1, max: 9 } } },
  },
  setup() {},
});
const SCHEMA = PLUGIN.config;

const DEFAULTS = {
  voice: undefined,
  language: "en",
  apiKey: "k",
  server: undefined,
  pagesMax: 6,
  speed: undefined,
  allowSearch: true,
  quality: "LOW",
  clients: ["A", "B"],
  remoteCipher: { url: undefined },
  servers: [],
  feeds: {},
};

function read(raw: PlainTree | undefined) {
  return readOptions(SCHEMA, raw, { path: "plugins.x" });
}

function problemsOf(schema: OptionSchema, raw: PlainTree | undefined): readonly string[] {
  return readOptions(schema, raw, { path: "plugins.x" }).problems ?? [];
}

/** The options that `members` set, without the defaults. */
function changed(members: Readonly<Record<string, PlainTree>>): unknown {
  const { values = {}, problems } = read({ apiKey: "k", ...members });
  expect(problems).toBeUndefined();
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(DEFAULTS[name as keyof typeof DEFAULTS]),
    ),
  );
}

test("the values have the types of the schema", () => {
  const { values } = read({ apiKey: "k" });
  expect(values).toEqual(DEFAULTS);
  expectTypeOf(values).toEqualTypeOf<OptionValues<typeof SCHEMA> | undefined>();
  if (values === undefined) return;
  expectTypeOf(values.voice).toEqualTypeOf<string | undefined>();
  expectTypeOf(values.language).toEqualTypeOf<string>();
  expectTypeOf(values.apiKey).toEqualTypeOf<string>();
  expectTypeOf(values.server).toEqualTypeOf<string | undefined>();
  expectTypeOf(values.pagesMax).toEqualTypeOf<number>();
  expectTypeOf(values.speed).toEqualTypeOf<number | undefined>();
  expectTypeOf(values.allowSearch).toEqualTypeOf<boolean>();
  expectTypeOf(values.quality).toEqualTypeOf<"LOW" | "HIGH">();
  expectTypeOf(values.clients).toEqualTypeOf<readonly string[]>();
  expectTypeOf(values.remoteCipher).toEqualTypeOf<{ readonly url: string | undefined }>();
  expectTypeOf(values.servers).toEqualTypeOf<readonly { readonly name: string; readonly isFast: boolean }[]>();
  expectTypeOf(values.feeds).toEqualTypeOf<Readonly<Record<string, { readonly limit: number | undefined }>>>();
});

test("texts are parsed to the types of the options", () => {
  const written = {
    voice: "007",
    language: "",
    server: "https://a.test/x/",
    pagesMax: "100",
    speed: "0.5",
    allowSearch: "Off",
    quality: "high",
    clients: ["C", "D"],
    remoteCipher: { url: "http://[::1]:8080" },
    servers: [{ name: "a", isFast: "yes" }, { name: "b" }],
    feeds: { One: { limit: "1" }, two: "" },
  };
  expect(changed(written)).toEqual({
    voice: "007",
    language: "",
    server: "https://a.test/x",
    pagesMax: 100,
    speed: 0.5,
    allowSearch: false,
    quality: "HIGH",
    clients: ["C", "D"],
    remoteCipher: { url: "http://[::1]:8080" },
    servers: [
      { name: "a", isFast: true },
      { name: "b", isFast: false },
    ],
    feeds: { One: { limit: 1 }, two: { limit: undefined } },
  });
});

test.each([0.1 + 0.2, 2 ** -20 / 3, 1e-300, Number.MIN_VALUE, 123_456_789_012_345_680_000, Number.MAX_VALUE])(
  "the number %d is read as JavaScript writes it",
  (value) => {
    const schema = { any: { type: "number", meaning, min: 0, max: Number.MAX_VALUE } } as const;
    expect(readOptions(schema, { any: String(value) }, { path: "x" }).values).toEqual({ any: value });
  },
);

test("the texts of a list that has names are some of these, in any case, and others are refused by their place", () => {
  const schema: OptionSchema = { parts: { type: "texts", names: ["intro", "outro"], meaning } };
  const valid = readOptions(schema, { parts: ["INTRO", "", " outro"] }, { path: "plugins.x" });
  expect(valid.values).toEqual({ parts: ["intro", "outro"] });
  expect(readOptions(schema, { parts: "outro,intro" }, { path: "plugins.x" }).values).toEqual({
    parts: ["outro", "intro"],
  });
  expect(problemsOf(schema, { parts: ["intro", "hunter2"] })).toEqual([
    "plugins.x.parts[1]: expected one of intro, outro",
  ]);
});

test("names compare in relaxed spelling, free names stay as they are", () => {
  expect(changed({ "ALLOW-SEARCH": "false", remotecipher: { URL: "http://a.test" }, feeds: { "A-b": {} } })).toEqual({
    allowSearch: false,
    remoteCipher: { url: "http://a.test" },
    feeds: { "A-b": { limit: undefined } },
  });
});

test("one text with commas is a list, an empty one an empty list", () => {
  expect(changed({ clients: "C, D,,E" })).toEqual({ clients: ["C", "D", "E"] });
  expect(changed({ clients: "" })).toEqual({ clients: [] });
});

test("an empty text counts as not set, except where it replaces a default that is a text", () => {
  const empty = { voice: "", server: "", pagesMax: "", allowSearch: "", quality: "", remoteCipher: "", servers: "" };
  expect(changed({ ...empty, feeds: "" })).toEqual({});
  expect(changed({ language: "" })).toEqual({ language: "" });
});

test("a required text has its default, and must not be emptied", () => {
  const schema = { url: { type: "text", meaning, default: "a", isRequired: true } } as const satisfies OptionSchema;
  expect(readOptions(schema, {}, { path: "plugins.x" }).values).toEqual({ url: "a" });
  expect(problemsOf(schema, { url: "" })).toEqual(["plugins.x.url: must not be empty for the plugin to work"]);
});

test("the values are frozen to their leaves, and the plugin's own defaults are not", () => {
  const { values } = read({ apiKey: "k", servers: [{ name: "a" }] });
  expect(Object.isFrozen(values?.servers[0]) && Object.isFrozen(values?.clients)).toBe(true);
  expect(Object.isFrozen(SCHEMA.clients.default)).toBe(false);
});

describe("problems", () => {
  test("all problems are reported at once, each with its path", () => {
    const written = {
      allowSerch: "true",
      pagesMax: "101",
      quality: "MIDDLE",
      servers: [{ isFast: "x" }, "b"],
      feeds: { a: { limit: "0" }, "b c": { limit: "10" } },
    };
    expect(read(written).problems).toEqual([
      "plugins.x.apiKey: must be set for the plugin to work",
      "plugins.x.pagesMax: expected a whole number from 0 to 100",
      "plugins.x.quality: expected one of LOW, HIGH",
      "plugins.x.servers[0].name: must be set for the plugin to work",
      "plugins.x.servers[0].isFast: expected true or false",
      "plugins.x.servers[1]: expected options by their names",
      "plugins.x.servers[1].name: must be set for the plugin to work",
      "plugins.x.feeds.a.limit: expected a whole number from 1 to 9",
      'plugins.x.feeds."b c".limit: expected a whole number from 1 to 9',
      "plugins.x.allowSerch: there is no such option; did you mean allowSearch?",
    ]);
  });

  test.each<[string, PlainTree, string]>([
    ["voice", ["hunter2"], "expected a text"],
    ["apiKey", { hunter2: "hunter2" }, "expected a text"],
    ["apiKey", "", "must be set for the plugin to work"],
    ["server", "hunter2", "expected the address of a server such as http://192.0.2.7:8080"],
    ["server", "http://u:hunter2@a.test", "expected the address of a server"],
    ["server", "http://a.test?hunter2", "expected the address of a server"],
    ["pagesMax", "hunter2", "expected a whole number from 0 to 100"],
    ["pagesMax", "1.5", "expected a whole number"],
    ["pagesMax", "-1", "expected a whole number"],
    ["speed", "0.49", "expected a number from 0.5 to 10"],
    ["speed", "10.01", "expected a number from 0.5 to 10"],
    ["speed", "Infinity", "expected a number from 0.5 to 10"],
    ["allowSearch", "hunter2", "expected true or false"],
    ["quality", "hunter2", "expected one of LOW, HIGH"],
    ["clients", { a: "hunter2" }, "expected a list of texts"],
    ["remoteCipher", "hunter2", "expected options by their names"],
    ["servers", { name: "hunter2" }, "expected a list of groups of options"],
    ["feeds", [{ limit: "1" }], "expected names, not only numbers"],
    ["voice", "hunter2".repeat(10_000), "expected at most 65536 characters"],
  ])("%s: %j", (name, written, message) => {
    const { problems } = read({ apiKey: "k", [name]: written });
    expect(problems).toHaveLength(1);
    expect(problems?.[0]).toContain(`plugins.x.${name}: ${message}`);
    expect(problems?.[0]).not.toContain("hunter2");
  });

  test("a list in place of a text within a list is a problem", () => {
    expect(read({ apiKey: "k", clients: ["a", ["b"]] }).problems).toEqual(["plugins.x.clients[1]: expected a text"]);
  });

  test("a list in place of the plugin's options is a problem", () => {
    expect(read(["a"]).problems?.[0]).toBe("plugins.x: expected options by their names");
    expect(problemsOf({}, undefined)).toEqual([]);
  });
});

describe("bounds", () => {
  const list = (count: number): PlainTree[] => Array.from({ length: count }, () => ({ name: "a" }));
  const names = (count: number): PlainTree => Object.fromEntries(list(count).map((_, index) => [`n${index}`, {}]));

  test("a list may have a hundred groups, and not one more", () => {
    expect(read({ apiKey: "k", servers: list(100), feeds: names(100) }).values?.servers).toHaveLength(100);
    expect(read({ apiKey: "k", servers: list(101), feeds: names(101) }).problems).toEqual([
      "plugins.x.servers: expected at most 100 groups of options",
      "plugins.x.feeds: expected at most 100 groups of options",
    ]);
  });

  test("a list may have a thousand texts, and not one more", () => {
    expect(read({ apiKey: "k", clients: Array(1000).fill("a") }).values?.clients).toHaveLength(1000);
    expect(read({ apiKey: "k", clients: Array(1001).fill("a") }).problems).toEqual([
      "plugins.x.clients: expected at most 1000 texts",
    ]);
  });

  test("of many mistakes fifty are reported, the others counted", () => {
    const { problems } = read({ apiKey: "k", ...(names(100) as Record<string, PlainTree>) });
    expect(problems).toHaveLength(51);
    expect(problems?.at(-1)).toBe("and 50 more");
  });

  test("reading a schema that contains itself terminates", () => {
    const members: Record<string, OptionSchema[string]> = {};
    members.left = { type: "group", meaning, members };
    members.right = { type: "group", meaning, members };
    const problems = problemsOf(members, undefined);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("the options are too deep or too many");
  });

  test("the nesting of groups is bounded", () => {
    const member = (members: OptionSchema): OptionSchema => ({ list: { type: "groups", meaning, members } });
    const leaf: OptionSchema = { a: { type: "flag", meaning, default: true } };
    const full = { list: Array(100).fill({ list: Array(100).fill({ list: Array(100).fill({}) }) }) };
    expect(problemsOf(member(member(member(leaf))), full)).toHaveLength(1);
  });
});

test("names that JavaScript objects inherit are names like all others", () => {
  const schema = { constructor: { type: "text", meaning } } as const satisfies OptionSchema;
  const reading = readOptions(schema, {}, { path: "plugins.x" });
  expect(reading.values?.constructor).toBeUndefined();
  const feeds = JSON.parse('{ "__proto__": { "limit": "2" } }');
  expect(Object.keys(read({ apiKey: "k", feeds }).values?.feeds ?? {})).toEqual(["__proto__"]);
});
