// The tokens that Apple Music's API is asked with, and the errors of the site.

import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { AppleMusicSite, appleToken } from "../../../lab/sites/apple-music.ts";
import plugin from "../../../plugins/applemusic/plugin.ts";
import type { PlainTreeMap } from "../../../src/lib/plain-tree.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const SOURCE = "applemusic";
const PAGE = "music.apple.com";
const API = "api.music.apple.com";
const OTHER_API = "amp-api.music.apple.com";
const SONG = "https://music.apple.com/us/song/5";
const DAY_MS = 24 * 60 * 60_000;
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const PEM = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
const MUSIC_KIT = { keyID: "KEY1234567", teamID: "TEAM123456", musicKitKey: PEM };
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Stand {
  readonly site: AppleMusicSite;
  readonly bench: PluginBench;
  readonly clock: FakeClock;
}

async function stand(options: PlainTreeMap = {}, prepare?: (site: AppleMusicSite) => void): Promise<Stand> {
  const site = await AppleMusicSite.start();
  closing.push(() => site.close());
  prepare?.(site);
  const clock = new FakeClock();
  const bench = await PluginBench.start(plugin, { options, hosts: site.hosts, clock });
  closing.push(() => bench.close());
  return { site, bench, clock };
}

function load({ bench }: Stand, identifier = SONG) {
  return bench.load(SOURCE, identifier);
}

function warnings({ bench }: Stand): string[] {
  return bench.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
}

function requested({ site }: Stand): string[] {
  return site.server.requests.map(({ host, path }) => (host === PAGE ? path : host));
}

function sentToken({ site }: Stand): string {
  const { headers } = site.server.requestsTo(API).at(-1) ?? {};
  return headers?.authorization?.replace("Bearer ", "") ?? "";
}

const PAGE_TOKEN = ["/us/browse", "/assets/index~4cc3bbca1d.js"];

test("the token is read from the web site once, also for requests at the same time", async () => {
  const all = await stand();
  await Promise.all([load(all), load(all, "https://music.apple.com/us/song/6"), load(all, "amsearch:t5")]);
  expect(requested(all).filter((path) => path.startsWith("/"))).toEqual(PAGE_TOKEN);
  expect(all.bench.persisted.size).toBe(1);
});

test.each([
  '<script type="module" crossorigin src="/assets/index-0a1b2c3d.js"></script>',
  '<script type="module" src="/assets/index_0a1b2c3d.js"></script>',
  '<script type="module" src="/assets/indexB1c2.js"></script>',
  '<script type="module" src="/assets/index%7E0a1b2c3d.js"></script>',
  '<script crossorigin="anonymous" src="/assets/index~0a1b2c3d.js" type="module"></script>',
  "<script src='/assets/index-legacy~0a.js'></script>",
  "<SCRIPT async src=/assets/index.0a1b2c3d.js></SCRIPT>",
  '<link rel="modulepreload" crossorigin href="https://music.apple.com/assets/index~0a.js">',
  '<script src="/assets/polyfills.js"></script><script\n  src="/assets/index-0a.js?v=1"\n></script>',
])("the script is found as %s", async (scriptTag) => {
  const all = await stand({}, (site) => Object.assign(site, { scriptTag }));
  expect(await load(all)).toMatchObject({ kind: "track" });
});

test("the home page is read where the other page has no token", async () => {
  const all = await stand();
  const text = all.site.scriptTag;
  all.site.scriptTag = "";
  all.site.server.fail({ at: /^music\.apple\.com\/$/, outcome: { text } });
  expect(await load(all)).toMatchObject({ kind: "track" });
  expect(requested(all)).toEqual(["/us/browse", "/", "/assets/index~4cc3bbca1d.js", API]);
});

test.each([
  ["has no script", { text: "<html>nothing</html>" }],
  ["names a script elsewhere", { text: '<script src="https://elsewhere.example/assets/index~1.js"></script>' }],
  ["is gone", { status: 404 }],
  ["refuses", { status: 403 }],
])("a web site that %s leads to an error that names the option", async (_what, outcome) => {
  const all = await stand();
  all.site.server.fail({ at: /^music\.apple\.com/, outcome });
  expect(await troubleWith(load(all))).toMatchObject({
    code: "site-changed",
    message: expect.stringMatching(
      /com\/us\/browse .*; https:\/\/music\.apple\.com\/ .*set plugins\.applemusic\.media/,
    ),
  });
  const count = all.site.server.requests.length;
  await troubleWith(load(all, "amsearch:t5"));
  expect(all.site.server.requests).toHaveLength(count);
  all.clock.advance(60_000);
  await troubleWith(load(all, "amsearch:t5"));
  expect(all.site.server.requests.length).toBeGreaterThan(count);
  expect(all.site.server.requests.every(({ host }) => host === PAGE)).toBe(true);
});

test.each(["const x = 1", `"eyJhbGciOiJFUzI1NiJ9.bm90IGpzb24gYXQgYWxs.c2lnbmVkIGJ5"`, "eyJ".repeat(100_000)])(
  "a script without a token is an error: %.40s",
  async (text) => {
    const all = await stand();
    all.site.server.fail({ at: /assets/, outcome: { text } });
    expect(await troubleWith(load(all))).toMatchObject({ code: "site-changed" });
  },
);

test("a script that cannot be read is passed over for the next", async () => {
  const all = await stand();
  all.site.scriptTag = ["a", "b"].map((name) => `<script src="/assets/index-${name}.js"></script>`).join("");
  for (const outcome of [{ status: 404 }, { status: 500 }, "cut" as const]) {
    const other = await stand({}, (site) => Object.assign(site, { scriptTag: all.site.scriptTag }));
    other.site.server.fail({ at: /index-a/, outcome });
    expect(await load(other)).toMatchObject({ kind: "track" });
  }
});

test("of all tokens in the scripts, one for the web site is used, and modules are asked first", async () => {
  const all = await stand();
  const good = appleToken(DAY_MS, all.clock.epochMs());
  const [head = "", , signature = ""] = good.split(".");
  const nobodys = Buffer.from(JSON.stringify({ exp: all.clock.epochMs() / 1000 + 999 })).toString("base64url");
  const texts = new Map([
    ["a", `"${appleToken(-1, all.clock.epochMs())}"`],
    ["b", `"${head}.${nobodys}.${signature}"`],
    ["c", `"${good}"`],
  ]);
  const tags = ["c", "a", "b"].map((name) => `<script src="/assets/index-${name}.js"></script>`);
  all.site.scriptTag = `${tags.join("")}<script type="module" src="/assets/index-a.js"></script>`;
  for (const [name, text] of texts) all.site.server.fail({ at: new RegExp(`index-${name}`), outcome: { text } });
  all.site.tokens.add(good);
  await load(all);
  expect(sentToken(all)).toBe(good);
  expect(requested(all).slice(0, 2)).toEqual(["/us/browse", "/assets/index-a.js"]);
});

test("a token that has expired is passed over for the one behind it", async () => {
  const all = await stand();
  const good = appleToken(DAY_MS, all.clock.epochMs());
  const text = `a="${appleToken(-1, all.clock.epochMs())}",b="${good}"`;
  all.site.tokens.add(good);
  all.site.server.fail({ at: /assets/, outcome: { text } });
  await load(all);
  expect(sentToken(all)).toBe(good);
});

test("the token is renewed when 90 % of its life are over", async () => {
  const all = await stand();
  const [first, second] = [appleToken(10 * DAY_MS, all.clock.epochMs()), appleToken(30 * DAY_MS, all.clock.epochMs())];
  all.site.changeToken(first);
  await load(all);
  all.site.changeToken(second);
  all.site.tokens.add(first);
  all.clock.advance(9.5 * DAY_MS);
  await load(all);
  expect(sentToken(all)).toBe(first);
  // In the background. Equal loads are answered once.
  let id = 10;
  const renewed = async () => {
    await load(all, `https://music.apple.com/us/song/${id++}`);
    return sentToken(all);
  };
  await expect.poll(renewed).toBe(second);
  expect(requested(all).filter((path) => path === "/us/browse")).toHaveLength(2);
});

test("a refused token is read again once, and used by all that follow", async () => {
  const all = await stand();
  await load(all);
  all.site.changeToken(appleToken(DAY_MS));
  await Promise.all([6, 7].map((id) => load(all, `https://music.apple.com/us/song/${id}`)));
  expect(requested(all).filter((path) => path.startsWith("/"))).toEqual([...PAGE_TOKEN, ...PAGE_TOKEN]);
  expect(all.site.server.requestsTo(OTHER_API)).toHaveLength(0);
});

test("twelve requests that are under way when the token changes all get their answer", async () => {
  const all = await stand();
  await load(all);
  let release = (): void => undefined;
  all.site.held = new Promise((resolve) => {
    release = resolve;
  });
  const ids = Array.from({ length: 12 }, (_, at) => at + 10);
  const work = ids.map((id) => load(all, `https://music.apple.com/us/song/${id}`));
  await expect.poll(() => all.site.server.requestsTo(API)).toHaveLength(13);
  all.site.changeToken(appleToken(DAY_MS));
  release();
  const found = await Promise.all(work);
  expect(found.map((answer) => answer?.kind)).toEqual(ids.map(() => "track"));
  expect(requested(all).filter((path) => path === "/us/browse")).toHaveLength(2);
});

test("a site that refuses its own token is asked on both hosts, and not for the page over and over", async () => {
  const all = await stand();
  all.site.tokens.clear();
  expect(await troubleWith(load(all))).toMatchObject({
    code: "site-changed",
    message: expect.stringContaining("refuses the token (HTTP 401); set plugins.applemusic.mediaAPIToken"),
  });
  expect(requested(all).filter((path) => path === OTHER_API)).toHaveLength(1);
  const pages = requested(all).filter((path) => path === "/us/browse").length;
  await troubleWith(load(all));
  expect(requested(all).filter((path) => path === "/us/browse")).toHaveLength(pages);
});

test.each([
  ["refuses", { status: 403 }],
  ["cannot be reached", "cut" as const],
])("the web site's host is asked where the public one %s, and first from then on", async (_what, outcome) => {
  const all = await stand();
  all.site.server.fail({ at: /^api\.music/, outcome });
  expect(await load(all)).toMatchObject({ kind: "track" });
  expect(await load(all, "amsearch:t5")).toMatchObject({ kind: "search" });
  expect(requested(all).at(-3)).toBe(API);
  expect(requested(all).slice(-2)).toEqual([OTHER_API, OTHER_API]);
});

test("the operator's token is used without the web site", async () => {
  const mediaAPIToken = appleToken(DAY_MS);
  const all = await stand({ mediaAPIToken: `Bearer ${mediaAPIToken}`, ...MUSIC_KIT });
  all.site.tokens.add(mediaAPIToken);
  await load(all);
  expect(requested(all)).toEqual([API]);
  expect([sentToken(all), warnings(all)]).toEqual([mediaAPIToken, []]);
});

test("an operator's token that says nothing of itself is used", async () => {
  const mediaAPIToken = "opaque.token.text";
  const all = await stand({ mediaAPIToken });
  all.site.tokens.add(mediaAPIToken);
  await load(all);
  expect([requested(all), warnings(all)]).toEqual([[API], []]);
});

test("an operator's token with an impossible expiry is used while Apple takes it", async () => {
  const payload = Buffer.from(JSON.stringify({ exp: -1e30 })).toString("base64url");
  const mediaAPIToken = `eyJhbGciOiJFUzI1NiJ9.${payload}.c2ln`;
  const all = await stand({ mediaAPIToken });
  expect(await load(all)).toMatchObject({ kind: "track" });
  expect(all.site.server.requestsTo(API)[0]?.headers.authorization).toBe(`Bearer ${mediaAPIToken}`);
});

test("an operator's token that is refused is given up for the web site's, with one warning", async () => {
  const mediaAPIToken = appleToken(DAY_MS);
  const all = await stand({ mediaAPIToken });
  await Promise.all([load(all), load(all, "amsearch:t5")]);
  await load(all, "amsearch:t6");
  expect(warnings(all)).toEqual(["Apple refuses the mediaAPIToken: the token of Apple's web site is used instead"]);
  expect(requested(all).filter((path) => path === "/us/browse")).toHaveLength(1);
  expect(JSON.stringify(all.bench.lines)).not.toContain(mediaAPIToken);
});

test("an operator's token that both hosts answer with 403, and not the web site's, is given up with one warning", async () => {
  const mediaAPIToken = appleToken(DAY_MS);
  const all = await stand({ mediaAPIToken });
  all.site.tokens.add(mediaAPIToken);
  for (const at of [/^api\.music/, /^amp-api/]) all.site.server.fail({ at, outcome: { status: 403 }, times: 1 });
  expect(await load(all)).toMatchObject({ kind: "track" });
  await load(all, "amsearch:t5");
  expect(sentToken(all)).not.toBe(mediaAPIToken);
  expect(warnings(all)).toEqual(["Apple refuses the mediaAPIToken: the token of Apple's web site is used instead"]);
});

test.each([
  ["of one host", [/^api\.music/], 1],
  ["of both hosts for every token", [/^api\.music/, /^amp-api/], 2],
])("403 %s does not put an operator's token aside", async (_what, hosts, times) => {
  const mediaAPIToken = appleToken(DAY_MS);
  const all = await stand({ mediaAPIToken });
  all.site.tokens.add(mediaAPIToken);
  for (const at of hosts) all.site.server.fail({ at, outcome: { status: 403 }, times });
  await load(all).catch(() => undefined);
  await load(all, "amsearch:t5");
  expect([sentToken(all), warnings(all)]).toEqual([mediaAPIToken, []]);
});

test("a refused mediaAPIToken is replaced by one that is signed, and tried again after half an hour", async () => {
  const mediaAPIToken = appleToken(100 * DAY_MS);
  const all = await stand({ mediaAPIToken, ...MUSIC_KIT });
  const isSigned = (token = "") => token.startsWith(Buffer.from('{"alg":"ES256","kid":"KE').toString("base64url"));
  let isTaken = false;
  all.site.server.fail({
    at: /api\.music/,
    outcome: ({ headers }) => {
      const token = headers.authorization?.replace("Bearer ", "");
      return isSigned(token) || isTaken ? { json: { data: [all.site.song(5)] } } : { status: 401 };
    },
  });
  expect(await load(all)).toMatchObject({ kind: "track" });
  expect(isSigned(sentToken(all))).toBe(true);
  expect(warnings(all)).toEqual(["Apple refuses the mediaAPIToken: the token signed with musicKitKey is used instead"]);
  isTaken = true;
  await load(all, "https://music.apple.com/us/song/6");
  expect(isSigned(sentToken(all))).toBe(true);
  all.clock.advance(30 * 60_000);
  await load(all, "https://music.apple.com/us/song/7");
  expect(sentToken(all)).toBe(mediaAPIToken);
  expect(requested(all)).not.toContain("/us/browse");
});

test("an operator's token that has expired is not sent, and warned of with its option and date", async () => {
  // The clock starts at 2023-11-14.
  const mediaAPIToken = appleToken(0, Date.UTC(2023, 10, 20));
  const all = await stand({ mediaAPIToken });
  all.site.tokens.add(mediaAPIToken);
  await load(all);
  expect([requested(all), warnings(all)]).toEqual([[API], []]);
  all.clock.advance(6 * DAY_MS);
  await load(all);
  await load(all, "amsearch:t5");
  expect(requested(all)).toEqual([API, ...PAGE_TOKEN, API, API]);
  expect(warnings(all)).toEqual([
    "mediaAPIToken expired on 2023-11-20; set a new one: the token of Apple's web site is used instead",
  ]);
});

test.each([
  [{ mediaAPIToken: "your apple music api token" }, ["mediaAPIToken is not a token"]],
  [
    {
      mediaAPIToken: "your apple music api token",
      keyID: "your key id",
      teamID: "your team id",
      musicKitKey: "-----BEGIN PRIVATE KEY-----\nyour key\n-----END PRIVATE KEY-----",
    },
    ["mediaAPIToken is not a token (eyJ….….…), and musicKitKey is not a MusicKit key"],
  ],
  [{ mediaAPIToken: "YOUR_MEDIA_API_TOKEN" }, ["mediaAPIToken is not a token"]],
  [{ ...MUSIC_KIT, musicKitKey: "garbage" }, ["musicKitKey is not a MusicKit key"]],
  [{ ...MUSIC_KIT, keyID: "" }, []],
  [{ mediaAPIToken: "" }, []],
])("placeholders (%j) mean the web site's token, with one warning at most", async (options, expected) => {
  const all = await stand(options);
  expect(await load(all)).toMatchObject({ kind: "track" });
  expect(requested(all)).toEqual([...PAGE_TOKEN, API]);
  expect(warnings(all)).toEqual(expected.map((text) => expect.stringContaining(text)));
});

test.each([
  ["as it is", PEM],
  ["with escaped line breaks", PEM.replaceAll("\n", "\\n")],
  ["in one line", PEM.replaceAll("\n", " ")],
])("a MusicKit key %s signs a token of less than six months", async (_what, musicKitKey) => {
  const all = await stand({ ...MUSIC_KIT, musicKitKey });
  all.site.server.fail({ at: /^api\.music/, outcome: { json: { data: [all.site.song(5)] } } });
  await load(all);
  expect([requested(all), warnings(all)]).toEqual([[API], []]);
  const token = sentToken(all);
  const [header, payload, signature = ""] = token.split(".");
  const [head, body] = [header, payload].map((part = "") => JSON.parse(Buffer.from(part, "base64url").toString()));
  expect(head).toMatchObject({ alg: "ES256", kid: "KEY1234567" });
  expect(body.iss).toBe("TEAM123456");
  expect(body.exp - body.iat).toBeLessThan(15_777_000);
  const key = { key: createPublicKey(privateKey), dsaEncoding: "ieee-p1363" as const };
  expect(verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  await load(all, "https://music.apple.com/us/song/6");
  expect(sentToken(all)).toBe(token);
  all.clock.advance(DAY_MS);
  await load(all, "https://music.apple.com/us/song/7");
  expect(sentToken(all)).not.toBe(token);
});

test.each([
  ["HTTP 204", { status: 204 }, undefined],
  ["an error 404 in an answer", { json: { errors: [{ status: "404", title: "Resource Not Found" }] } }, undefined],
  ["HTTP 429", { status: 429, headers: { "retry-after": "5" } }, "site-busy"],
  ["HTTP 500", { status: 500 }, "site-busy"],
  ["HTTP 400", { status: 400, json: { errors: [{}] } }, "site-unavailable"],
  ["a redirect", { status: 302, headers: { location: "https://elsewhere.example/" } }, "site-unavailable"],
  ["a page", { text: "<html>Apple Music</html>" }, "site-changed"],
  ["a list", { json: [] }, "site-changed"],
  ["another error", { json: { errors: [{ status: "500", detail: "x" }] } }, "site-changed"],
])("%s is what it is to the client", async (_what, outcome, code) => {
  const all = await stand();
  await load(all, "amsearch:t6");
  all.site.server.fail({ at: /v1\/catalog/, outcome });
  for (const identifier of [SONG, "https://music.apple.com/us/playlist/p/pl.9", "amsearch:t5"]) {
    if (code === undefined) expect(await load(all, identifier)).toEqual({ kind: "empty" });
    else expect(await troubleWith(load(all, identifier))).toMatchObject({ code });
  }
});

test("a search in a country that Apple does not have names the option, and other items are not found", async () => {
  const all = await stand({ countryCode: "uk" });
  all.site.server.fail({ at: /catalog\/uk/, outcome: { status: 404, json: { errors: [{ title: "Not Found" }] } } });
  expect(await troubleWith(load(all, "amsearch:t5"))).toMatchObject({
    code: "site-unavailable",
    message: expect.stringContaining("no storefront `uk`: set plugins.applemusic.countryCode (United Kingdom is gb)"),
  });
  expect(await load(all, "https://music.apple.com/song/5")).toEqual({ kind: "empty" });
});

test.each([
  [{ title: "Bad Request", detail: "Parameter x" }, /answered HTTP 400: Parameter x$/],
  [{ title: "T".repeat(300) }, /answered HTTP 400: T{200}$/],
  [{ detail: 5 }, /answered HTTP 400$/],
])("an error status comes with what Apple says of it: %#", async (error, message) => {
  const all = await stand();
  all.site.server.fail({ at: /v1\/catalog/, outcome: { status: 400, json: { errors: [error] } } });
  expect(await troubleWith(load(all))).toMatchObject({ message: expect.stringMatching(message) });
});

test("what Apple asks to be left alone is left alone", async () => {
  const all = await stand();
  await load(all);
  all.site.server.fail({ at: /catalog/, outcome: { status: 429, headers: { "retry-after": "60" } } });
  for (const _host of [API, OTHER_API]) await troubleWith(load(all, "amsearch:t5"));
  const count = all.site.server.requests.length;
  expect(await troubleWith(load(all, "amsearch:t5"))).toMatchObject({ code: "site-busy" });
  expect(all.site.server.requests).toHaveLength(count);
});
