import { afterEach, expect, test } from "vitest";
import { RadioBrowserSite, stationEntry, stationUuid } from "../../../lab/sites/radio-browser.ts";
import plugin from "../../../plugins/radio/plugin.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const SOURCE = "radiobrowser";
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand(
  options: PlainTree = {},
  names?: readonly string[],
): Promise<{ site: RadioBrowserSite; bench: PluginBench }> {
  const site = await RadioBrowserSite.start(names);
  closing.push(() => site.close());
  const bench = await PluginBench.start(plugin, { options, hosts: site.hosts });
  closing.push(() => bench.close());
  return { site, bench };
}

function askedServers(site: RadioBrowserSite): string[] {
  return site.server.requests.filter(({ path }) => path !== "/json/servers").map(({ host }) => host);
}

test("a station is found by a part of its name, with the directory's data", async () => {
  const { site, bench } = await stand();
  const [track, ...others] = await bench.loadTracks(SOURCE, "rbsearch:harbour");
  expect(others).toEqual([]);
  expect(track?.info).toMatchObject({
    identifier: `radio:${stationUuid(1)}`,
    title: "Harbour Jazz",
    author: "Germany",
    isStream: true,
    isSeekable: false,
    uri: site.stations[0]?.url_resolved,
    artworkUrl: "https://radio.example/icon.png",
    sourceName: SOURCE,
  });
  expect(track?.pluginInfo).toEqual({
    country: "DE",
    tags: "jazz,soul",
    codec: "MP3",
    bitrate: 128,
    homepage: "https://radio.example/",
  });
});

test("a search asks for working stations, most liked first, with the node's user agent", async () => {
  const { site, bench } = await stand({ searchLimit: "3", country: "de", language: "german", tag: "jazz" });
  await bench.load(SOURCE, "rbsearch: harbour ");
  const asked = site.server.requests.find(({ path }) => path === "/json/stations/search");
  expect(Object.fromEntries(asked?.query ?? [])).toEqual({
    name: "harbour",
    tag: "jazz",
    countrycode: "DE",
    language: "german",
    limit: "3",
    order: "clickcount",
    reverse: "true",
    hidebroken: "true",
  });
  expect(asked?.headers["user-agent"]).toBe("Tonearm/test");
});

test("a search without a station of that name returns those with the tag", async () => {
  const { site, bench } = await stand();
  site.stations.push(stationEntry(3, { name: "Blue Room", tags: "bossa nova" }));
  const tracks = await bench.loadTracks(SOURCE, "rbsearch:Bossa");
  expect(tracks.map(({ info }) => info.title)).toEqual(["Blue Room"]);
  expect(await bench.load(SOURCE, "rbsearch:nothing like it")).toEqual({ kind: "empty" });
  expect(await bench.load(SOURCE, "rbsearch:  ")).toEqual({ kind: "empty" });
});

test("of a list of 5,000 stations only the configured number is returned", async () => {
  const { site, bench } = await stand({ searchLimit: "100" });
  const json = Array.from({ length: 5000 }, (_, index) => stationEntry(index));
  site.server.fail({ at: /stations\/search/, outcome: { json } });
  expect(await bench.loadTracks(SOURCE, "rbsearch:x")).toHaveLength(100);
});

test("entries that are not stations are left out, and others are kept", async () => {
  const { site, bench } = await stand();
  const wrong = [null, 7, [], {}, { stationuuid: 4 }, stationEntry(5, { name: " " })];
  const links = ["ftp://radio.example/", "", "http://", "x".repeat(9000)].map((url) =>
    stationEntry(6, { url_resolved: url, url }),
  );
  const late = stationEntry(7, { url_resolved: "", bitrate: "128", favicon: 1, homepage: "javascript:0", country: "" });
  site.server.fail({ at: /stations\/search/, outcome: { json: [...wrong, ...links, late, late] } });
  const tracks = await bench.loadTracks(SOURCE, "rbsearch:x");
  expect(tracks.map(({ info }) => [info.title, info.author, info.uri, info.artworkUrl])).toEqual([
    ["Station 7", "DE", "http://radio.example/listen.pls", null],
  ]);
  expect(tracks[0]?.pluginInfo).toEqual({ country: "DE", codec: "MP3" });
});

test.each([
  "radio:",
  "radio:jazz",
  `radio:${stationUuid(1)}0`,
  "radio:../../servers",
  "rbsearch",
  "https://radio.example/",
])("the identifier %s is not the radio plugin's", async (identifier) => {
  const { site, bench } = await stand();
  expect(await bench.load(SOURCE, identifier)).toBeUndefined();
  expect(site.server.requests).toEqual([]);
});

test("a station is loaded by its uuid, in any case, and a missing one is an empty result", async () => {
  const { bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, `radio:${stationUuid(2).toUpperCase()}`);
  expect(track?.info).toMatchObject({ identifier: `radio:${stationUuid(2)}`, title: "Night Line" });
  expect(await bench.load(SOURCE, `radio:${stationUuid(99)}`)).toEqual({ kind: "empty" });
});

test("a station's link is its own stream, and each play is counted once", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, "rbsearch:harbour");
  const link = await bench.resolve(SOURCE, track?.encoded ?? "");
  expect(link).toMatchObject({ kind: "link", url: site.stations[0]?.url_resolved });
  await expect.poll(() => site.clicks).toEqual([stationUuid(1)]);
  const response = await fetch(link.kind === "link" ? link.url : "");
  expect(response.headers.get("content-type")).toBe("audio/ogg");
  await response.arrayBuffer();
  await bench.resolve(SOURCE, track?.encoded ?? "", { reason: "refused", status: 403 });
  await bench.resolve(SOURCE, track?.encoded ?? "", { reason: "expiring" });
  expect(site.clicks).toEqual([stationUuid(1)]);
});

test("a refused link is requested again", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, "rbsearch:harbour");
  await bench.resolve(SOURCE, track?.encoded ?? "");
  site.server.expireLinks();
  site.stations[0] = { ...site.stations[0], url_resolved: site.server.link("radio.ogg") };
  const link = await bench.resolve(SOURCE, track?.encoded ?? "", { reason: "refused", status: 403 });
  expect(link).toMatchObject({ url: site.stations[0].url_resolved });
});

test("the operator can disable the counting of plays", async () => {
  const { site, bench } = await stand({ countsClicks: "false" });
  const [track] = await bench.loadTracks(SOURCE, "rbsearch:harbour");
  await bench.resolve(SOURCE, track?.encoded ?? "");
  // A later request has arrived; a click would have come before it.
  await bench.load(SOURCE, "rbsearch:night");
  expect(site.clicks).toEqual([]);
});

test("a station whose stream address is a playlist file plays the file's entry", async () => {
  const { site, bench } = await stand();
  site.stations.push(stationEntry(3, { url_resolved: "http://radio.example/listen.pls?x=1" }));
  site.stations.push(stationEntry(4, { url_resolved: "http://radio.example/live.m3u8" }));
  const tracks = await bench.loadTracks(SOURCE, "rbsearch:station");
  const links = await Promise.all(tracks.map(({ encoded }) => bench.resolve(SOURCE, encoded)));
  expect(links).toMatchObject([
    { kind: "reference", identifier: "http://radio.example/listen.pls?x=1" },
    { kind: "link", url: "http://radio.example/live.m3u8" },
  ]);
});

test("a failing server is replaced by another, and its circuit breaker opens when it keeps failing", async () => {
  const { site, bench } = await stand();
  site.server.fail({ at: /^(de1|fi1)\..*stations/, outcome: { status: 502, text: "bad gateway" } });
  for (let index = 0; index < 40; index++) await bench.load(SOURCE, `rbsearch:harbour ${index}`);
  const asked = askedServers(site);
  const timesAsked = (name: string) => asked.filter((host) => host.startsWith(name)).length;
  expect([timesAsked("de1"), timesAsked("fi1")]).toEqual([5, 5]);
  expect(timesAsked("nl1")).toBeGreaterThanOrEqual(40);
});

test("the server is chosen at random", async () => {
  const { site, bench } = await stand();
  for (let index = 0; index < 60; index++) await bench.load(SOURCE, `radio:${stationUuid(index)}`);
  // One of three is left out sixty times in a row less than once in ten thousand million.
  expect([...new Set(askedServers(site))].sort()).toEqual([...site.serverNames]);
});

test("at most six servers are asked, and only those of the directory", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const { site, bench } = await stand({}, names);
  const hostile = ["127.0.0.1", "evil.example", "x.api.radio-browser.info.evil.example", 5, null].map((name) => ({
    name,
  }));
  const own = site.serverNames.map((name) => ({ name }));
  site.server.fail({ at: /json\/servers/, outcome: { json: [...hostile, ...own] } });
  site.server.fail({ at: /stations\/search/, outcome: { status: 500 } });
  for (let index = 0; index < 8; index++) {
    expect((await troubleWith(bench.load(SOURCE, `rbsearch:${index}`))).code).toBe("site-busy");
  }
  const asked = askedServers(site);
  expect(new Set(asked).size).toBe(6);
  // Each until its circuit breaker opens.
  expect(asked).toHaveLength(30);
});

test("the common name is used while the list of servers is unavailable", async () => {
  const { site, bench } = await stand();
  site.server.fail({ at: /json\/servers/, outcome: { text: "<html>down</html>" } });
  expect(await bench.loadTracks(SOURCE, "rbsearch:harbour")).toHaveLength(1);
  expect(askedServers(site)).toEqual(["all.api.radio-browser.info"]);
});

test("the operator can set the servers, and an invalid name turns the plugin off", async () => {
  const { site, bench } = await stand({ servers: ["FI1.api.radio-browser.info"] });
  expect(await bench.loadTracks(SOURCE, "rbsearch:harbour")).toHaveLength(1);
  expect(site.server.requests.map(({ host }) => host)).toEqual(["fi1.api.radio-browser.info"]);
  await expect(stand({ servers: ["https://x/"] })).rejects.toThrow('servers: "https://x/" is not a host name');
  await expect(stand({ country: "Germany" })).rejects.toThrow("country: expected two letters");
});

test.each([
  ["a page instead of JSON", { text: "<html>hello</html>" }, "site-changed"],
  ["no list", { json: { error: "no" } }, "site-changed"],
  ["a list of something else", { json: [{ id: 1 }] }, "site-changed"],
  ["429", { status: 429, headers: { "retry-after": "30" } }, "site-busy"],
  ["403", { status: 403 }, "site-unavailable"],
  ["a body of 50 MB", { text: "[".padEnd(50_000_000) }, "site-changed"],
  ["redirects in a circle", { status: 302, headers: { location: "/json/stations/search" } }, "site-changed"],
])("an answer of %s from the directory is reported as such", async (_name, outcome, code) => {
  const { site, bench } = await stand();
  site.server.fail({ at: /stations\/search/, outcome });
  expect((await troubleWith(bench.load(SOURCE, "rbsearch:x"))).code).toBe(code);
});

test("a server that requests a pause is not asked during it", async () => {
  const { site, bench } = await stand({ servers: ["de1.api.radio-browser.info"] });
  site.server.fail({ at: /./, outcome: { status: 429, headers: { "retry-after": "600" } }, times: 1 });
  await troubleWith(bench.load(SOURCE, "rbsearch:x"));
  const trouble = await troubleWith(bench.load(SOURCE, "rbsearch:y"));
  expect(trouble.message).toContain("circuit breakers of all radio-browser servers are open");
  expect(site.server.requests).toHaveLength(1);
});

test("a station plays from its known address while the directory is down", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, "rbsearch:harbour");
  site.server.fail({ at: /./, outcome: "cut" });
  const link = await bench.resolve(SOURCE, track?.encoded ?? "", { reason: "refused", status: 503 });
  expect(link).toMatchObject({ url: site.stations[0]?.url_resolved });
});

test("a station that has left the directory is unavailable", async () => {
  const { site, bench } = await stand();
  const [track] = await bench.loadTracks(SOURCE, "rbsearch:harbour");
  site.stations.length = 0;
  const trouble = await troubleWith(bench.resolve(SOURCE, track?.encoded ?? "", { reason: "refused" }));
  expect(trouble).toMatchObject({ code: "site-unavailable", message: expect.stringContaining("not available") });
});

test("the search prefix is declined when the search is off", async () => {
  const { bench } = await stand({ searchEnabled: "false" });
  expect(await bench.load(SOURCE, "rbsearch:harbour")).toBeUndefined();
});
