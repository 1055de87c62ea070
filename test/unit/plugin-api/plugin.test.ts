import { describe, expect, expectTypeOf, test } from "vitest";
import { CookieJar, definePlugin, type OptionValues, SourceError } from "../../../src/plugin-api/plugin.ts";

describe("cookies", () => {
  test("a cookie is sent to the host that has set it, and to no other", () => {
    const jar = new CookieJar();
    jar.take("https://a.example/x", "one=1; Path=/; HttpOnly");
    jar.take("https://a.example/y", "two=a=b");
    expect(jar.headerFor("https://a.example/z")).toBe("one=1; two=a=b");
    for (const url of [
      "https://b.example/",
      "https://example/",
      "https://a.example.evil/",
      "https://evil-a.example/",
      "https://sub.a.example/",
    ]) {
      expect(jar.headerFor(url)).toBeUndefined();
    }
  });

  test("a cookie of a domain is sent to all its hosts, if the host that set it is one of them", () => {
    const jar = new CookieJar();
    jar.take("https://www.a.example/", "one=1; Domain=.A.example");
    jar.take("https://www.a.example/", "two=2; domain=b.example");
    jar.take("https://www.a.example/", "three=3; domain=example");
    expect(jar.headerFor("https://api.a.example/")).toBe("one=1");
    expect(jar.headerFor("https://a.example/")).toBe("one=1");
    expect(jar.headerFor("https://www.a.example/")).toBe("one=1; two=2; three=3");
    expect(jar.headerFor("https://b.example/")).toBeUndefined();
  });

  test("a cookie is replaced by a later one of the same name", () => {
    const jar = new CookieJar();
    jar.take("https://a.example/", "one=1");
    jar.take("https://a.example/", " one = 2 ");
    expect(jar.headerFor("https://a.example/")).toBe("one=2");
  });

  test("cookies without a name, too long or too many are ignored", () => {
    const jar = new CookieJar();
    for (const text of ["", "one", "=1", `one=${"x".repeat(4096)}`]) jar.take("https://a.example/", text);
    expect(jar.headerFor("https://a.example/")).toBeUndefined();
    for (let index = 0; index < 60; index++) jar.take("https://a.example/", `n${index}=1`);
    expect(jar.headerFor("https://a.example/")?.split("; ")).toHaveLength(50);
    // An existing host keeps its entry.
    jar.take("https://a.example/", "n49=2");
    expect(jar.headerFor("https://a.example/")).toMatch(/; n49=2$/);
  });

  test("cookies of 50 hosts are stored, and a host whose cookies have all expired is replaced", () => {
    const jar = new CookieJar();
    for (let index = 0; index < 60; index++) jar.take(`https://h${index}.example/`, "one=1");
    jar.take("https://h49.example/", "one=2");
    expect(jar.headerFor("https://h49.example/")).toBe("one=2");
    expect(jar.headerFor("https://h50.example/")).toBeUndefined();
    jar.take("https://h0.example/", "one=; Max-Age=0");
    jar.take("https://h50.example/", "one=1");
    expect(jar.headerFor("https://h50.example/")).toBe("one=1");
  });

  test("secure cookies are sent over https, and to this machine", () => {
    const jar = new CookieJar();
    for (const host of ["a.example", "localhost", "x.localhost", "127.0.0.1:8080", "[::1]"]) {
      jar.take(`https://${host}/`, "open=1");
      jar.take(`https://${host}/`, "one=1; SECURE; HttpOnly");
      expect(jar.headerFor(`https://${host}/`)).toBe("open=1; one=1");
      expect(jar.headerFor(`http://${host}/`)).toBe(host === "a.example" ? "open=1" : "open=1; one=1");
    }
  });

  test("secure cookies are not set, replaced or deleted over http", () => {
    const jar = new CookieJar();
    jar.take("http://a.example/", "two=2; Secure");
    jar.take("https://a.example/", "one=1; Secure");
    jar.take("http://a.example/", "one=evil");
    jar.take("http://a.example/", "one=; Max-Age=0");
    expect(jar.headerFor("https://a.example/")).toBe("one=1");
    jar.take("https://a.example/", "one=2");
    expect(jar.headerFor("http://a.example/")).toBe("one=2");
  });

  test.each([
    ["one=; Max-Age=0", undefined],
    ["one=2; max-age = -1; expires=Fri, 31 Dec 2100 00:00:00 GMT", undefined],
    ["one=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT", undefined],
    ["one=2; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "one=2"],
    ["one=2; Expires=Wed, 01 Jan 2025 00:00:01 GMT", "one=2"],
    ["one=2; Expires=Wed, 01 Jan 2025 00:00:00 GMT", undefined],
    ["one=2; Max-Age=soon; Expires=never", "one=2"],
  ])("cookies set as %j are kept or deleted", (text, header) => {
    const jar = new CookieJar();
    jar.take("https://a.example/", "one=1");
    jar.take("https://a.example/", text, Date.UTC(2025, 0, 1));
    expect(jar.headerFor("https://a.example/")).toBe(header);
  });
});

test("a SourceError has its kind and its retry pause", () => {
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

test("a plugin's options have the types of its schema", () => {
  const plugin = definePlugin({
    name: "songs",
    version: "1.0.0",
    apiVersion: 1,
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
