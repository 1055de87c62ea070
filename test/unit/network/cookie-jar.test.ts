import { describe, expect, it } from "vitest";
import { CookieJar } from "../../../src/network/cookie-jar.ts";

const NOW_MS = Date.UTC(2026, 10, 26);

/** What a request to `to` carries after an answer from `from` has set these. */
function carried(from: string, setCookie: string | string[], to: string, own?: string): string | undefined {
  const jar = new CookieJar();
  jar.note(new URL(from), { "set-cookie": setCookie }, NOW_MS);
  return jar.headerFor(new URL(to), { own, nowMs: NOW_MS });
}

describe("the site of a cookie", () => {
  it.each([
    ["https://a.example/x", "n=v", "https://a.example/y", true],
    ["https://a.example/", "n=v", "https://b.example/", false],
    ["https://a.example/", "n=v", "https://sub.a.example/", false],
    ["https://a.example/", "n=v", "https://example/", false],
    ["https://a.example/", "n=v", "https://xa.example/", false],
    ["https://a.example/", "n=v", "https://a.example:8443/", false],
    ["https://a.example/", "n=v", "http://a.example/", false],
    ["http://a.example/", "n=v", "https://a.example/", true],
    ["http://127.0.0.1:8000/", "n=v", "http://127.0.0.1:8001/", false],
    ["http://127.0.0.1/", "n=v", "http://localhost/", false],
    ["https://www.radio.example/", "n=v; Domain=radio.example", "https://cdn.radio.example/", true],
    ["https://www.radio.example/", "n=v; Domain=.Radio.Example", "https://radio.example/", true],
    ["https://radio.example/", "n=v; Domain=radio.example", "https://cdn.radio.example/", true],
    ["https://www.ndr.de/", "n=v; Domain=ndr.de", "https://cdn.ndr.de/", true],
    ["https://www.radio.example/", "n=v; Domain=radio.example", "https://otherradio.example/", false],
    ["https://www.radio.example/", "n=v; Domain=radio.example", "http://cdn.radio.example/", false],
    ["https://www.radio.example/", "n=v; Domain=example", "https://www.radio.example/", false],
    ["https://www.radio.example/", "n=v; Domain=other.example", "https://other.example/", false],
    ["https://radio.example/", "n=v; Domain=cdn.radio.example", "https://cdn.radio.example/", false],
    ["https://radio.co.uk/", "n=v; Domain=co.uk", "https://other.co.uk/", false],
    ["https://radio.com.au/", "n=v; Domain=com.au", "https://other.com.au/", false],
    ["https://me.github.io/", "n=v; Domain=github.io", "https://you.github.io/", false],
    ["http://10.0.0.1/", "n=v; Domain=0.0.1", "http://20.0.0.1/", false],
    ["http://10.0.0.1/", "n=v; Domain=10.0.0.1", "http://10.0.0.1/", true],
  ])("a cookie from %s with %j goes to %s: %s", (from, setCookie, to, expected) => {
    expect(carried(from, setCookie, to)).toBe(expected ? "n=v" : undefined);
  });
});

describe("the path, security and life of a cookie", () => {
  it.each([
    ["n=v", "/live/index.m3u8", "/live/1.ts", true],
    ["n=v", "/live/index.m3u8", "/other/1.ts", false],
    ["n=v; Path=/", "/live/index.m3u8", "/other/1.ts", true],
    ["n=v; Path=/audio", "/x", "/audio", true],
    ["n=v; Path=/audio", "/x", "/audio/1.ts", true],
    ["n=v; Path=/audio", "/x", "/audiobook", false],
    ["n=v; Path=audio", "/live/x", "/live/y", true],
    ["n=v; Secure", "/", "/", true],
    ["__Host-n=v; Secure; Path=/", "/", "/", true],
    ["__Host-n=v; Secure; Path=/x", "/x", "/x", false],
    ["__Secure-n=v", "/", "/", false],
    ["n=v; Max-Age=1", "/", "/", true],
    ["n=v; Max-Age=0", "/", "/", false],
    ["n=v; Max-Age=-1", "/", "/", false],
    ["n=v; Max-Age=x", "/", "/", true],
    ["n=v; Expires=Wed, 21 Oct 2015 07:28:00 GMT", "/", "/", false],
    ["n=v; Expires=Wed, 21-Oct-2037 07:28:00 GMT", "/", "/", true],
    ["n=v; Expires=Wed, 21 Oct 2015 07:28:00 GMT; Max-Age=60", "/", "/", true],
    ["n=v; HttpOnly; SameSite=None; Partitioned", "/", "/", true],
    ["=v", "/", "/", false],
    ["n", "/", "/", false],
    ["n=a\nb", "/", "/", false],
    ["n=\u0416", "/", "/", false],
  ])("a cookie %j set at %s goes to %s: %s", (setCookie, from, to, expected) => {
    const header = carried(`https://a.example${from}`, setCookie, `https://a.example${to}`);
    expect(header).toBe(expected ? setCookie.split(";")[0] : undefined);
  });

  it("a cookie that only HTTPS may carry cannot be set over HTTP", () => {
    expect(carried("http://a.example/", "n=v; Secure", "https://a.example/")).toBeUndefined();
  });

  it("a cookie expires while the track plays", () => {
    const jar = new CookieJar();
    const url = new URL("https://a.example/");
    jar.note(url, { "set-cookie": "n=v; Max-Age=10" }, NOW_MS);
    expect(jar.headerFor(url, { own: undefined, nowMs: NOW_MS + 9_999 })).toBe("n=v");
    expect(jar.headerFor(url, { own: undefined, nowMs: NOW_MS + 10_000 })).toBeUndefined();
  });
});

it("a later cookie replaces an earlier one, and one that has expired removes it", () => {
  expect(carried("https://a.example/", ["n=1", "m=2", "n=3"], "https://a.example/")).toBe("m=2; n=3");
  expect(carried("https://a.example/", ["n=1", "m=2", "n=; Max-Age=0"], "https://a.example/")).toBe("m=2");
});

it("the cookies of longer paths come first, and those that the request has already come before and win", () => {
  const set = ["a=1; Path=/", "b=2; Path=/x", "c=3; Path=/"];
  expect(carried("https://a.example/", set, "https://a.example/x")).toBe("b=2; a=1; c=3");
  expect(carried("https://a.example/", set, "https://a.example/x", "c=own; d=4")).toBe("c=own; d=4; b=2; a=1");
  expect(carried("https://a.example/", [], "https://a.example/x", "c=own")).toBe("c=own");
});

it("a jar is bounded in count and size, and the oldest cookies go", () => {
  const many = Array.from({ length: 200 }, (_, index) => `n${index}=v`);
  const jar = new CookieJar();
  const url = new URL("https://a.example/");
  for (const setCookie of many) jar.note(url, { "set-cookie": setCookie }, NOW_MS);
  const names = jar.headerFor(url, { own: undefined, nowMs: NOW_MS })?.split("; ") ?? [];
  expect([names.length, names[0], names.at(-1)]).toEqual([50, "n150=v", "n199=v"]);
  for (let index = 0; index < 10; index++) jar.note(url, { "set-cookie": `n${index}=${"v".repeat(3_000)}` }, NOW_MS);
  expect(jar.headerFor(url, { own: undefined, nowMs: NOW_MS })?.length).toBeLessThan(8_300);
  jar.note(url, { "set-cookie": `large=${"v".repeat(5_000)}` }, NOW_MS);
  jar.note(url, { "set-cookie": `long=v; Path=/${"v".repeat(9_000)}` }, NOW_MS);
  expect(jar.headerFor(url, { own: undefined, nowMs: NOW_MS })).not.toMatch(/large|long/);
});

it("a jar reports whether a request carried any of its cookies", () => {
  const jar = new CookieJar();
  jar.note(new URL("https://a.example/"), { "set-cookie": "n=v" }, NOW_MS);
  jar.headerFor(new URL("https://b.example/"), { own: "m=w", nowMs: NOW_MS });
  expect(jar.hasSent).toBe(false);
  jar.headerFor(new URL("https://a.example/"), { own: undefined, nowMs: NOW_MS });
  expect(jar.hasSent).toBe(true);
});
