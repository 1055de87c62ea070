import { describe, expect, test } from "vitest";
import type { Source } from "../../../../../src/plugin-api/plugin.ts";
import { checkSource } from "../../../../../src/plugin-host/runtime/host/source-rules.ts";

/** As a plugin without types may write it. */
function check(source: Record<string, unknown>): void {
  checkSource({
    name: "good",
    load: async () => undefined,
    resolve: async () => undefined,
    ...source,
  } as unknown as Source);
}

describe("a source", () => {
  test("a source may have no claims, or many", () => {
    check({});
    check({
      prefixes: ["scsearch:", "SC!"],
      hosts: ["soundcloud.com", "*.bandcamp.com", "localhost", "127.0.0.1"],
      words: [{ startsWith: "PL" }, { length: 11 }],
      fields: [
        { name: "albumName", type: "optionalText" },
        { name: "isPreview", type: "flag" },
      ],
    });
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["no name", { name: undefined }, "a name of 1 to 64"],
    ["an empty name", { name: "" }, "a name of 1 to 64"],
    ["a name with a space", { name: "a b" }, "a name of 1 to 64"],
    ["a long name", { name: "a".repeat(65) }, "a name of 1 to 64"],
    ["an invalid load", { load: 7 }, "have to be functions"],
    ["no resolve", { resolve: undefined }, "have to be functions"],
    ["an empty prefix, which everything begins with", { prefixes: [""] }, "a prefix is a text"],
    ["a long prefix", { prefixes: ["a".repeat(201)] }, "a prefix is a text"],
    ["a prefix that is a number", { prefixes: [7] }, "a prefix is a text"],
    ["one prefix instead of a list", { prefixes: "ab" }, "are lists"],
    ["a host with a scheme", { hosts: ["https://example.org"] }, "is not a host"],
    ["a host with a port", { hosts: ["example.org:443"] }, "is not a host"],
    ["a host in upper case", { hosts: ["Example.org"] }, "is not a host"],
    ["a host of dots", { hosts: [".."] }, "is not a host"],
    ["a host that is a number", { hosts: [7] }, "is not a host"],
    ["a host that is only a wildcard", { hosts: ["*"] }, "is not a host"],
    ["a word of any kind", { words: [{}] }, "a beginning or a length"],
    ["a word that begins with nothing", { words: [{ startsWith: "" }] }, "begins with a text"],
    ["a word whose length is a text", { words: [{ length: "11" }] }, "is a whole number"],
    ["a field of an unknown type", { fields: [{ name: "a", type: "number" }] }, "a name and a type"],
    ["a field without a name", { fields: [{ type: "text" }] }, "a name and a type"],
    [
      "a field named twice",
      {
        fields: [
          { name: "a", type: "text" },
          { name: "a", type: "flag" },
        ],
      },
      "is named twice",
    ],
    [
      "33 fields",
      { fields: Array.from({ length: 33 }, (_, index) => ({ name: `${index}`, type: "text" })) },
      "than 32",
    ],
    ["201 claims", { prefixes: Array.from({ length: 201 }, (_, index) => `p${index}`) }, "more than 200 claims"],
  ])("a source with %s is refused", (_what, source, problem) => {
    expect(() => check(source)).toThrow(problem);
  });
});
