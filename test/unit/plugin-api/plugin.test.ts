import { describe, expect, expectTypeOf, test } from "vitest";
import { CookieJar, definePlugin, type OptionValues, SourceError } from "../../../src/plugin-api/plugin.ts";

describe("cookies", () => {
  test("go to the host that has set them, and to no other", () => {
    const jar = new CookieJar();
    jar.take("https://a.example/x", "one=1; Path=/; HttpOnly");
    jar.take("https://a.example/y", "two=a=b");
    expect(jar.headerFor("https://a.example/z")).toBe("one=1; two=a=b");
    for (const url of [
      "https://b.example/",
      "https://example/",
      "https://a.example.evil/",
      "https://evil-a.example/",
    ]) {
      expect(jar.headerFor(url)).toBeUndefined();
    }
  });

  test("of a domain go to all its hosts, where the one that set them is of it", () => {
    const jar = new CookieJar();
    jar.take("https://www.a.example/", "one=1; Domain=.A.example");
    jar.take("https://www.a.example/", "two=2; domain=b.example");
    jar.take("https://www.a.example/", "three=3; domain=example");
    expect(jar.headerFor("https://api.a.example/")).toBe("one=1");
    expect(jar.headerFor("https://www.a.example/")).toBe("one=1; two=2; three=3");
    expect(jar.headerFor("https://b.example/")).toBeUndefined();
  });

  test("are replaced by a later one of their name", () => {
    const jar = new CookieJar();
    jar.take("https://a.example/", "one=1");
    jar.take("https://a.example/", " one = 2 ");
    expect(jar.headerFor("https://a.example/")).toBe("one=2");
  });

  test("without a name, too long or too many are not taken", () => {
    const jar = new CookieJar();
    for (const text of ["", "one", "=1", `one=${"x".repeat(4096)}`]) jar.take("https://a.example/", text);
    expect(jar.headerFor("https://a.example/")).toBeUndefined();
    for (let index = 0; index < 60; index++) jar.take("https://a.example/", `n${index}=1`);
    expect(jar.headerFor("https://a.example/")?.split("; ")).toHaveLength(50);
  });
});

test("a SourceError says what it is of, and how long to wait", () => {
  const cause = new Error("429");
  const error = new SourceError("busy", "too many requests", { cause, retryAfterMs: 1000 });
  expect(error).toMatchObject({
    name: "SourceError",
    kind: "busy",
    message: "too many requests",
    retryAfterMs: 1000,
    cause,
  });
  expect(new SourceError("changed", "x").retryAfterMs).toBeUndefined();
});

test("a plugin's options have the types that its schema says", () => {
  const plugin = definePlugin({
    ...{ name: "songs", version: "1.0.0", apiVersion: 1 },
    config: {
      text: { type: "text", meaning: "" },
      textWithDefault: { type: "text", default: "a", meaning: "" },
      required: { type: "secret", isRequired: true, meaning: "" },
      count: { type: "integer", min: 0, max: 1, meaning: "" },
      countWithDefault: { type: "number", default: 1, min: 0, max: 1, meaning: "" },
      flag: { type: "flag", default: false, meaning: "" },
      choice: { type: "choice", names: ["a", "b"], default: "a", meaning: "" },
      texts: { type: "texts", meaning: "" },
      group: { type: "group", members: { flag: { type: "flag", default: true, meaning: "" } }, meaning: "" },
      groups: { type: "groups", members: { text: { type: "server", meaning: "" } }, meaning: "" },
      named: { type: "named", members: { text: { type: "text", default: "", meaning: "" } }, meaning: "" },
    },
    setup: ({ options }) => void expectTypeOf(options.choice).toEqualTypeOf<"a" | "b">(),
  });
  expectTypeOf<OptionValues<typeof plugin.config>>().toEqualTypeOf<{
    readonly text: string | undefined;
    readonly textWithDefault: string;
    readonly required: string;
    readonly count: number | undefined;
    readonly countWithDefault: number;
    readonly flag: boolean;
    readonly choice: "a" | "b";
    readonly texts: readonly string[];
    readonly group: { readonly flag: boolean };
    readonly groups: readonly { readonly text: string | undefined }[];
    readonly named: Readonly<Record<string, { readonly text: string }>>;
  }>();
  expect(plugin.name).toBe("songs");
});
