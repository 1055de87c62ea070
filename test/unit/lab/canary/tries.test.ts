import { expect, test } from "vitest";
import { readTries, TRIES } from "../../../../lab/canary/tries.ts";

const BASE = { one: { search: "a", link: "b" }, two: { link: "c" } };

test("an operator's list replaces the canary's, member by member; null is not tried", () => {
  expect(readTries("one: { link: d }\nthree: { search: 'e:f' }", BASE)).toEqual({
    one: { search: "a", link: "d" },
    two: { link: "c" },
    three: { search: "e:f" },
  });
  expect(readTries('{ "one": { "search": null } }', BASE).one).toEqual({ search: null, link: "b" });
  expect(readTries("", BASE)).toEqual(BASE);
  const more = "[{ link: f, options: { clients: [WEB], pot: null }, mayFailWith: DRM }]";
  expect(readTries(`one: { more: ${more} }`, BASE).one).toEqual({
    search: "a",
    link: "b",
    more: [{ link: "f", options: { clients: ["WEB"], pot: null }, mayFailWith: "DRM" }],
  });
});

test.each([
  ["an unknown member", "one: { serach: a }", "serach"],
  ["an unknown member of a further request", "one: { more: [{ lnk: a }] }", "lnk"],
  ["no text", "one: { link: 7 }", "one.link"],
  ["an empty text", "one: { link: '' }", "one.link"],
  ["a list", "[a]", "expected record"],
  ["no YAML", "{ a", "must end with a }"],
  ["far too much", "x".repeat(70_000), "more than 65536 characters"],
])("a list of tries with %s is refused with its name", (_what, text, message) => {
  expect(() => readTries(text, BASE)).toThrow(message);
});

test("all tries are identifiers of some source, each link of a different one", () => {
  const requests = Object.values(TRIES).flatMap(({ more, ...first }) => [first, ...(more ?? [])]);
  const all = requests.flatMap(({ search, link }) => [search, link].filter((one) => one != null));
  expect(all.length).toBeGreaterThan(10);
  for (const identifier of all) expect(identifier).toMatch(/^(?:https:\/\/|[a-z-]+:)\S/);
  expect(new Set(all).size).toBe(all.length);
});
