import { describe, expect, test } from "vitest";
import { YTDLP_MANIFEST } from "../../../plugins/ytdlp/manifest.ts";
import type { OptionSchema } from "../../../src/plugin-api/plugin.ts";
import { pathsOf, problemsOfChanges, withChanges } from "../../../src/plugin-options/option-changes.ts";
import { readOptions } from "../../../src/plugin-options/read-options.ts";

const meaning = "x";
const SERVER = { url: { type: "server", meaning }, login: { type: "secret", meaning, isFixed: true } } as const;
const SCHEMA = {
  limit: { type: "integer", default: 10, min: 1, max: 50, meaning },
  isOn: { type: "flag", default: true, meaning },
  program: { type: "text", meaning, isFixed: true },
  names: { type: "texts", meaning },
  pot: {
    type: "group",
    meaning,
    members: { token: { type: "secret", default: "", meaning }, visitorData: { type: "secret", default: "", meaning } },
  },
  servers: { type: "groups", meaning, members: SERVER },
  byName: { type: "named", meaning, members: SERVER },
} as const satisfies OptionSchema;

const read = (tree: Parameters<typeof readOptions>[1]) => readOptions(SCHEMA, tree, { path: "plugins.x" });

describe("changes", () => {
  test("changes are merged over the configured options, member by member, in any spelling of names", () => {
    const written = { limit: "5", pot: { token: "a", "visitor-data": "b" }, names: ["one", "two"] };
    const changed = withChanges(written, { LIMIT: 7, pot: { visitorData: "c" }, names: ["three"], isOn: false });
    expect(changed).toEqual({
      limit: "7",
      pot: { token: "a", "visitor-data": "c" },
      names: ["three"],
      isOn: "false",
    });
    expect(read(changed).values).toMatchObject({ limit: 7, isOn: false, names: ["three"], pot: { visitorData: "c" } });
  });

  test("changes do not modify the configured options", () => {
    const written = { pot: { token: "a" } };
    withChanges(written, { pot: { token: "b" } });
    expect(written).toEqual({ pot: { token: "a" } });
  });

  test("changes to null remove options, and a group that becomes empty", () => {
    const before = withChanges(undefined, { limit: 7, pot: { token: "a" } });
    expect(withChanges(before, { limit: null, pot: { token: null } })).toEqual({});
    expect(withChanges(before, { pot: { visitorData: null } })).toEqual({ limit: "7", pot: { token: "a" } });
  });

  test("changes replace values of another kind, and lists of groups as a whole", () => {
    expect(withChanges({ pot: "x", limit: { a: "1" } }, { pot: { token: "a" }, limit: 3 })).toEqual({
      pot: { token: "a" },
      limit: "3",
    });
    expect(withChanges({ servers: [{ url: "http://a/" }] }, { servers: [{ url: "http://b/", login: null }] })).toEqual({
      servers: [{ url: "http://b/" }],
    });
  });

  test("changes may use names that every object has", () => {
    const changes = JSON.parse('{"__proto__":{"limit":3},"constructor":1}');
    expect(Object.keys(withChanges({}, changes))).toEqual(["__proto__", "constructor"]);
    expect(read(withChanges({}, changes)).problems).toHaveLength(2);
  });

  test("unknown names in changes are reported with the closest name, and without values", () => {
    const { problems } = read(withChanges({}, { lmit: "hunter2", limit: 51 }));
    expect(problems).toEqual([
      "plugins.x.limit: expected a whole number from 1 to 50",
      "plugins.x.lmit: there is no such option; did you mean limit?",
    ]);
  });
});

test("the paths of changes are reported without their values", () => {
  const changes = withChanges(undefined, { pot: { token: "hunter2" }, names: ["a"], limit: 3 });
  expect(pathsOf(changes)).toEqual(["pot.token", "names", "limit"]);
});

describe("options that only the configuration sets", () => {
  const problems = (changes: Parameters<typeof withChanges>[1]) => {
    return problemsOfChanges(SCHEMA, withChanges(undefined, changes), { path: "plugins.x" });
  };

  test("a change of such an option is reported, at any depth", () => {
    const expected = "can only be set in the configuration, not while the node runs";
    expect(problems({ Program: "/bin/sh", limit: 1 })).toEqual([`plugins.x.Program: ${expected}`]);
    expect(problems({ servers: [{ url: "a" }, { login: "b" }] })).toEqual([`plugins.x.servers.login: ${expected}`]);
    expect(problems({ byName: { home: { login: "b" } } })).toEqual([`plugins.x.byName.login: ${expected}`]);
  });

  test("the program that a plugin runs, and its arguments, are set by the configuration only", () => {
    const changes = withChanges(undefined, { path: "/bin/sh", customLoadArgs: [], "custom-playback-args": ["-c"] });
    expect(problemsOfChanges(YTDLP_MANIFEST.config, changes, { path: "plugins.ytdlp" })).toHaveLength(3);
    expect(problemsOfChanges(YTDLP_MANIFEST.config, { searchLimit: "3" }, { path: "plugins.ytdlp" })).toEqual([]);
  });

  test("no other option is set by the configuration only", () => {
    expect(problems({ limit: 1, pot: { token: "a" }, servers: [{ url: "a" }], nobody: { program: "x" } })).toEqual([]);
  });
});
