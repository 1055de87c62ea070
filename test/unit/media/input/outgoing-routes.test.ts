// Real requests over loopback: Linux can send from every address of 127.0.0.0/8, so the site sees the source address.

import type { LookupAddress } from "node:dns";
import { afterEach, describe, expect, it } from "vitest";
import { plainPlan, statusPlan } from "../../../../lab/media-server/answer-plan.ts";
import { MediaServer, type MediaServerOptions } from "../../../../lab/media-server/media-server.ts";
import { EventChannel, type PlainCommand, type ThreadEnd } from "../../../../src/bridge/channel.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { HttpClient } from "../../../../src/media/input/http-client.ts";
import { type OpenedInput, openInput } from "../../../../src/media/input/open-input.ts";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { OutboundGuard } from "../../../../src/network/outbound-guard.ts";
import { OutgoingRoutes, type OutgoingRoutesOptions } from "../../../../src/network/outgoing-routes.ts";
import { SiteRefusals } from "../../../../src/network/site-refusals.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeRoutePlanner } from "../../../support/fake-route-planner.ts";
import { hurry, inputSettings, noLinks, patternBytes, until } from "../../../support/input-builders.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const FILE = patternBytes(700_000);

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

interface BenchOptions extends MediaServerOptions {
  readonly planner?: FakeRoutePlanner;
  readonly retriesMax?: number | undefined;
  /** Addresses of names. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly requestRoute?: OutgoingRoutesOptions["requestRoute"];
}

interface Bench {
  readonly routes: OutgoingRoutes;
  readonly site: MediaServer;
  readonly clock: FakeClock;
  readonly planner: FakeRoutePlanner;
  readonly client: HttpClient;
  /** Log lines as `level message`. */
  readonly lines: string[];
  open(path: string): Promise<OpenedInput>;
  /** Status of a GET, its body thrown away. */
  get(path: string, signal?: AbortSignal): Promise<number>;
  /** Source addresses of the site's requests so far. */
  senders(): string[];
}

async function start(options: BenchOptions = {}): Promise<Bench> {
  const { planner = FakeRoutePlanner.loopback(5), names = {} } = options;
  const site = await MediaServer.start({ files: { "song.mp3": FILE }, ...options });
  const clock = new FakeClock();
  const lines: string[] = [];
  const logger = createLogger((level, message) => lines.push(`${level} ${message}`));
  const guard = new OutboundGuard(["127.0.0.0/8", "::1"], {
    resolve: (host, { family }, callback) => callback(null, resolvedAddresses(names[host] ?? [], Number(family ?? 0))),
  });
  const routes = new OutgoingRoutes({
    guard,
    clock,
    logger,
    retriesMax: "retriesMax" in options ? options.retriesMax : 3,
    isTriggeredBySearch: true,
    resolveTimeoutMs: 5_000,
    requestRoute: options.requestRoute ?? planner.requestRoute,
    send: planner.send,
  });
  const client = new HttpClient({ guard, settings: inputSettings.http, clock, routes });
  cleanups.push(
    () => site.close(),
    () => client.close(),
  );
  const urlOf = (path: string): string => (path.includes("://") ? path : `${site.url}${path}`);
  return {
    routes,
    site,
    clock,
    planner,
    client,
    lines,
    senders: () => site.requests.map(({ from }) => from),
    async open(path) {
      const signal = new AbortController().signal;
      const budget = createTrackBudget({ clock });
      const deps = { client, settings: inputSettings, clock, logger, signal, budget, requestLink: noLinks };
      const input = await openInput({ kind: "http", url: urlOf(path), container: undefined }, deps);
      cleanups.push(() => input.source.close());
      return input;
    },
    async get(path, signal = new AbortController().signal) {
      const answer = await client.get({
        url: new URL(urlOf(path)),
        signal,
        pace: new RequestPace(createTrackBudget({ clock })),
      });
      answer.body.cancel();
      return answer.status;
    },
  };
}

function resolvedAddresses(addresses: readonly string[], family: number): LookupAddress[] {
  return addresses
    .map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    .filter((found) => family === 0 || found.family === family);
}

describe("egress addresses of requests", () => {
  it("each request is sent from the address named for it, also after a redirect and at a seek", async () => {
    const { open, senders, planner } = await start();
    const { source } = await open("/redirect/song.mp3");
    expect(Buffer.compare(await source.read(600_000, 1_000), FILE.subarray(600_000, 601_000))).toBe(0);
    expect(senders()).toEqual(["127.16.0.1", "127.16.0.2", "127.16.0.3"]);
    expect(planner.reports).toEqual([]);
  });

  it("old Shoutcast servers are requested from that address as well", async () => {
    const { get, senders } = await start({ planner: FakeRoutePlanner.loopback(1) });
    expect(await get("/shoutcast/song.mp3")).toBe(200);
    expect(senders()).toEqual(["127.16.0.1", "127.16.0.1"]);
  });

  it("a name is connected to at an address of the egress family", async () => {
    const names = { "dual.example": ["::1", "127.0.0.1"] };
    const { get, site, senders, planner } = await start({ names });
    expect(await get(site.url.replace("127.0.0.1", "dual.example"))).toBe(404);
    expect(planner.asked).toEqual([[6, 4]]);
    expect(senders()).toEqual(["127.16.0.1"]);
  });

  it("a host of a family without a block is requested unbound, with one warning per host", async () => {
    const names = { "old.example": ["127.0.0.1"] };
    const { get, site, senders, planner, lines } = await start({
      names,
      planner: new FakeRoutePlanner(["2001:db8::1"]),
    });
    const url = site.url.replace("127.0.0.1", "old.example");
    for (const each of [url, url, site.url]) expect(await get(each)).toBe(404);
    expect(planner.asked).toEqual([[4], [4], [4]]);
    expect(senders()).toEqual(["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
    expect(lines.filter((line) => line.startsWith("warn route planner: host has no address"))).toHaveLength(2);
  });

  it.each(["http://192.168.0.1/", "http://inside.example/"])(
    "no egress address is requested for %s, which the guard refuses",
    async (url) => {
      const { get, planner } = await start({ names: { "inside.example": ["192.168.0.1"] } });
      await expect(get(url)).rejects.toMatchObject({ code: "address-refused" });
      expect(planner.asked).toEqual([]);
    },
  );

  it("a name that does not resolve is reported as unreachable", async () => {
    const { get } = await start();
    await expect(get("http://nowhere.example/")).rejects.toMatchObject({ code: "input-unreachable" });
  });

  it("resolving a name is bounded, and can be aborted", async () => {
    const { client, clock } = await start();
    const silent = new OutboundGuard([], { resolve: () => undefined });
    const planner = FakeRoutePlanner.loopback(1);
    const { requestRoute, send } = planner;
    const logger = createLogger(() => undefined);
    const routes = new OutgoingRoutes({
      guard: silent,
      clock,
      logger,
      retriesMax: 1,
      isTriggeredBySearch: true,
      resolveTimeoutMs: 5_000,
      requestRoute,
      send,
    });
    client.close();
    const abort = new AbortController();
    const ask = (signal: AbortSignal) =>
      routes.request({
        url: new URL("http://slow.example/"),
        sendFrom: () => Promise.reject(new Error("never")),
        signal,
      });
    await expect(hurry(clock, ask(abort.signal))).rejects.toThrow("looking the name up took more than 5000 ms");
    const given = ask(abort.signal);
    abort.abort(new Error("given up"));
    await expect(given).rejects.toThrow("given up");
    expect([planner.asked, clock.pendingCount]).toEqual([[], 0]);
  });
});

describe("an address that fails", () => {
  it("a 429 bars the address, and another one is used", async () => {
    const { site, open, senders, planner } = await start({ planner: FakeRoutePlanner.loopback(5, "first") });
    site.ban("127.16.0.1");
    site.ban("127.16.0.2");
    const { source } = await open("/song.mp3");
    expect(Buffer.compare(await source.read(0, 1_000), FILE.subarray(0, 1_000))).toBe(0);
    const { host } = new URL(site.url);
    const banned = { type: "routeFailed", reason: "banned", site: host, account: "address test" };
    expect(planner.reports).toEqual([
      { ...banned, address: "127.16.0.1" },
      { ...banned, address: "127.16.0.2" },
    ]);
    expect(senders()).toEqual(["127.16.0.1", "127.16.0.2", "127.16.0.3"]);
  });

  it("an address that this machine cannot send from is reported", async () => {
    // TEST-NET-3 (RFC 5737): no machine has it, binding fails before anything is sent.
    const planner = new FakeRoutePlanner(["203.0.113.1", "127.16.0.9"]);
    const { get, senders } = await start({ planner });
    expect(await get("/song.mp3")).toBe(200);
    expect(planner.reports).toMatchObject([{ address: "203.0.113.1", reason: "unusable" }]);
    expect(senders()).toEqual(["127.16.0.9"]);
  });

  it.each([401, 403, 404, 500, 503])("HTTP %i does not count against the address", async (status) => {
    const { get, planner, site } = await start();
    expect(await get(`/${status}`)).toBe(status);
    expect([planner.reports, site.requests.length]).toEqual([[], 1]);
  });

  it.each(["drop", "refused"])("a connection that is %s does not count against the address", async (how) => {
    const { get, planner, site } = await start({ script: () => "drop" });
    const { url } = site;
    if (how === "refused") await site.close();
    await expect(get(`${url}/song.mp3`)).rejects.toMatchObject({ code: "input-unreachable" });
    expect(planner.reports).toEqual([]);
  });

  it.each(["EADDRNOTAVAIL", "EADDRINUSE", "ENETUNREACH"])(
    "a connection that ends with %s does not count against the address",
    async (code) => {
      const { routes, planner } = await start();
      const error = Object.assign(new Error(code), { code, syscall: "connect" });
      const pending = routes.request({
        url: new URL("http://127.0.0.1/"),
        sendFrom: () => Promise.reject(error),
        signal: new AbortController().signal,
      });
      await expect(pending).rejects.toBe(error);
      expect(planner.reports).toEqual([]);
    },
  );

  it("a request without an egress address reports no failure", async () => {
    const { get, planner } = await start({ planner: new FakeRoutePlanner([]) });
    expect(await get("/429")).toBe(429);
    expect(planner.reports).toEqual([]);
  });
});

describe("bounds", () => {
  it("a request is retried retriesMax times, then fails with the last status", async () => {
    const { get, planner, senders } = await start({ retriesMax: 2 });
    await expect(get("/429")).rejects.toMatchObject({
      code: "routes-exhausted",
      message: expect.stringMatching(/tried from 3 addresses.*HTTP 429/),
    });
    expect(senders()).toEqual(["127.16.0.1", "127.16.0.3", "127.16.0.5"]);
    expect(planner.failed).toEqual(senders());
  });

  it("a request without a retry limit is retried for a minute: ten times at once, then twice a second", async () => {
    const { get, clock, senders } = await start({ retriesMax: undefined, planner: FakeRoutePlanner.loopback(500) });
    const pending = get("/429");
    await expect(hurry(clock, pending)).rejects.toMatchObject({ code: "routes-exhausted" });
    expect(senders().length).toBeGreaterThan(20);
    expect(senders().length).toBeLessThanOrEqual(11 + 120);
    expect(clock.now()).toBeLessThan(70_000);
  });

  it("a request that runs out of addresses fails with the last status", async () => {
    const { get, senders } = await start({ planner: FakeRoutePlanner.loopback(2), retriesMax: 10 });
    await expect(get("/429")).rejects.toMatchObject({
      code: "routes-exhausted",
      message: expect.stringMatching(/every address is failing.*HTTP 429/),
    });
    await expect(get("/song.mp3")).rejects.toMatchObject({
      code: "routes-exhausted",
      message: "every address is failing",
    });
    expect(senders()).toHaveLength(2);
  });

  it("a silent main thread fails the request, and nothing is sent", async () => {
    const endpoint: ThreadEnd<PlainCommand> = { postMessage: () => undefined, on: () => undefined };
    const channelClock = new FakeClock();
    const channel = new EventChannel(endpoint, { clock: channelClock, onCommand: () => undefined });
    const { get, site } = await start({ requestRoute: (families) => channel.requestRoute(families) });
    const pending = get("/song.mp3");
    await expect(hurry(channelClock, pending)).rejects.toMatchObject({ code: "worker-timeout" });
    expect(site.requests).toEqual([]);
  });

  it("an aborted request does not wait for the main thread or the next attempt", async () => {
    const abort = new AbortController();
    const { get } = await start({ requestRoute: () => new Promise(() => undefined) });
    const pending = get("/song.mp3", abort.signal);
    abort.abort(new Error("given up"));
    await expect(pending).rejects.toThrow("given up");
  });
});

describe("a site that refuses everyone", () => {
  const exhausted = { code: "routes-exhausted" };

  it("a site that refuses everyone costs eleven addresses a minute, not all of them", async () => {
    const { get, planner, clock, senders } = await start({ planner: FakeRoutePlanner.loopback(50), retriesMax: 3 });
    for (let load = 0; load < 2; load++) await expect(get("/429")).rejects.toMatchObject(exhausted);
    expect([planner.reports.length, senders().length]).toEqual([8, 8]);
    await expect(get("/429")).rejects.toMatchObject(exhausted);
    // The twelfth is not trusted any more, and from then on each request is sent once.
    expect([planner.reports.length, senders().length]).toEqual([11, 12]);
    for (let load = 0; load < 5; load++) await expect(get("/429")).rejects.toMatchObject(exhausted);
    expect([planner.reports.length, senders().length]).toEqual([11, 17]);
    clock.advance(60_000);
    await expect(get("/429")).rejects.toMatchObject(exhausted);
    expect(planner.reports).toHaveLength(15);
  });

  it("a site's refusals are trusted again after any other answer, and do not count for other sites", async () => {
    const { get, planner, site } = await start({
      planner: FakeRoutePlanner.loopback(50),
      retriesMax: 10,
      names: { "other.example": ["127.0.0.1"] },
    });
    await expect(get("/429")).rejects.toMatchObject(exhausted);
    expect(planner.reports).toHaveLength(11);
    const other = `${site.url.replace("127.0.0.1", "other.example")}/429`;
    await expect(get(other)).rejects.toMatchObject(exhausted);
    expect(planner.reports).toHaveLength(22);
    expect(await get("/song.mp3")).toBe(200);
    await expect(get("/429")).rejects.toMatchObject(exhausted);
    expect(planner.reports).toHaveLength(33);
  });

  it("another account's sites do not push a site's refusals out", () => {
    const refusals = new SiteRefusals({ clock: new FakeClock(), retriesMax: 3 });
    for (let index = 0; index < 11; index++) expect(refusals.note("honest.example", `${index}`, "honest")).toBe(true);
    for (let index = 0; index < 1000; index++) refusals.note(`site-${index}.example`, "0", "flood");
    expect(refusals.note("honest.example", "11", "honest")).toBe(false);
    for (let index = 0; index < 11; index++) expect(refusals.noteUnusable(`${index}`)).toBe(true);
    for (let index = 0; index < 1000; index++) refusals.note(`more-${index}.example`, "0", "flood");
    expect(refusals.noteUnusable("11")).toBe(false);
  });

  it("a site that refuses a shared address does not count as refusing everyone", async () => {
    const { get, planner, site, senders } = await start({
      planner: FakeRoutePlanner.loopback(5, "first"),
      retriesMax: 3,
    });
    site.ban("127.16.0.1");
    const statuses = await Promise.all(Array.from({ length: 30 }, () => get("/song.mp3")));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(new Set(planner.failed)).toEqual(new Set(["127.16.0.1"]));
    expect(senders().filter((from) => from === "127.16.0.2")).toHaveLength(30);
  });

  it("this machine is treated as such a site while its network is down", async () => {
    const addresses = Array.from({ length: 50 }, (_, index) => `203.0.113.${index}`);
    const { get, planner, clock, site } = await start({ planner: new FakeRoutePlanner(addresses), retriesMax: 3 });
    for (let load = 0; load < 8; load++) await expect(get("/song.mp3")).rejects.toMatchObject(exhausted);
    expect([planner.reports.length, site.requests.length]).toEqual([11, 0]);
    clock.advance(60_000);
    await expect(get("/song.mp3")).rejects.toMatchObject(exhausted);
    expect(planner.reports).toHaveLength(15);
  });

  it("a site's refusals are trusted as often as one request may be retried", async () => {
    const { get, planner, clock } = await start({ planner: FakeRoutePlanner.loopback(50), retriesMax: 20 });
    await expect(hurry(clock, get("/429"))).rejects.toMatchObject(exhausted);
    expect(planner.reports).toHaveLength(21);
  });
});

describe("a song", () => {
  it("a song is read completely while its addresses are banned one after the other", async () => {
    const { site, open, clock, planner } = await start({
      planner: FakeRoutePlanner.loopback(40, "first"),
      script: ({ path, headers }) => {
        const at = Number(/^bytes=(\d+)-/.exec(String(headers.range))?.[1] ?? 0);
        // Every connection breaks after a while.
        const plan = { ...plainPlan(FILE, "audio/mpeg"), fault: { kind: "cut", afterBytes: 60_000 } } as const;
        return path === "/song" && at + 60_000 < FILE.length ? plan : undefined;
      },
      files: { song: FILE },
    });
    const input = await open("/song");
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < FILE.length; at += 10_000) {
      if (at % 50_000 === 0) site.ban(site.requests.at(-1)?.from ?? "");
      pieces.push(await hurry(clock, input.source.read(at, 10_000)));
    }
    expect(Buffer.concat(pieces).equals(FILE)).toBe(true);
    expect(planner.reports.length).toBeGreaterThan(5);
    expect(planner.reports.every(({ reason }) => reason === "banned")).toBe(true);
  });

  it("a song survives a moment without any free address", async () => {
    const planner = FakeRoutePlanner.loopback(1);
    const { site, open, clock } = await start({
      planner,
      script: ({ earlierRequests }) =>
        earlierRequests === 0
          ? { ...plainPlan(FILE, "audio/mpeg"), fault: { kind: "cut", afterBytes: 100_000 } }
          : undefined,
    });
    const { source } = await open("/song.mp3");
    site.ban("127.16.0.1");
    const pending = source.read(300_000, 1_000);
    await until(() => planner.reports.length > 0);
    site.unban("127.16.0.1");
    planner.reports.length = 0;
    expect(Buffer.compare(await hurry(clock, pending), FILE.subarray(300_000, 301_000))).toBe(0);
  });
});

it("a status that is not a ban is returned as without rotation", async () => {
  const { open } = await start({ script: () => statusPlan(503) });
  await expect(open("/song.mp3")).rejects.toMatchObject({ code: "input-http-status" });
});
