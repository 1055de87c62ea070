// A plugin whose sources use address blocks, with a real planner and a site on loopback: Linux can send from every
// address of 127.0.0.0/8, so the site sees the source address.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SiteScript, SiteServer } from "../../../../lab/sites/site-server.ts";
import type { PluginLink } from "../../../../src/bridge/plugin-messages.ts";
import type { RoutingSettings } from "../../../../src/bridge/worker-settings.ts";
import type { NodeConfig } from "../../../../src/config/node-config.ts";
import type { RoutePlanner } from "../../../../src/control/route-planner/route-planner.ts";
import type { RouteSource } from "../../../../src/control/workers/route-source.ts";
import { definePlugin, type Playable, type PluginHost } from "../../../../src/plugin-api/plugin.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";
import { until } from "../../../support/input-builders.ts";
import { createPlanner } from "../../../support/planner-builders.ts";
import { PluginBench, troubleWith } from "../../../support/plugin-bench.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const SONG = buildTrack({ sourceName: "songs", identifier: "one" }).encoded;
const OTHER_SONG = buildTrack({ sourceName: "songs", identifier: "two" }).encoded;
const SITE = "http://site.example";
const LINK: Playable = { kind: "link", url: "https://cdn.example/1" };

let site: SiteServer;
let script: SiteScript;
let planner: RoutePlanner;
/** The plugin's requests to its site for a load or a link. */
let ask: (host: PluginHost, signal: AbortSignal) => Promise<unknown>;
let benches: PluginBench[];

beforeEach(async () => {
  script = () => ({ text: "fine" });
  site = await SiteServer.start((request) => script(request));
  benches = [];
  ask = async (host, signal) => {
    await Promise.all(["a", "b"].map((path) => host.http.text(`${SITE}/${path}`, { signal })));
    return host.http.text(`${SITE}/c`, { signal });
  };
  createRoutes();
});
afterEach(async () => {
  for (const bench of benches) bench.close();
  await site.close();
});

function createRoutes(settings: Partial<NodeConfig["routePlanner"]> = {}): void {
  ({ planner } = createPlanner({ ipBlocks: ["127.16.0.0/16"], strategy: "LoadBalance", ...settings }));
}

interface StartOptions {
  readonly routing?: Partial<RoutingSettings> | undefined;
  readonly routes?: RouteSource;
  readonly clock?: FakeClock;
  readonly proxyUrl?: string;
  /** A server of the operator's own. */
  readonly server?: string;
  readonly setUp?: (host: PluginHost) => Promise<unknown>;
}

/** A plugin with the sources `songs`, which is named for the blocks, and `quiet`, which is not. */
async function start({
  routes = planner,
  clock,
  proxyUrl,
  server,
  setUp,
  ...more
}: StartOptions = {}): Promise<PluginBench> {
  const plugin = definePlugin({
    name: "songs",
    version: "1.0.0",
    apiVersion: 1,
    config: { server: { type: "server", meaning: "A server of the operator's own." } },
    async setup(host) {
      for (const name of ["songs", "quiet"]) {
        host.addSource({
          name,
          prefixes: [`${name}:`, `${name}search:`],
          load: async ({ signal }) => {
            await ask(host, signal);
            return { kind: "empty" };
          },
          resolve: async ({ signal }) => {
            await ask(host, signal);
            return LINK;
          },
        });
      }
      await setUp?.(host);
    },
  });
  const routing = { ipBlocks: ["127.16.0.0/16"], retriesMax: 10, isTriggeredBySearch: true, sources: ["songs"] };
  const bench = await PluginBench.start(plugin, {
    hosts: site.hosts("site.example"),
    ...(server !== undefined && { options: { server } }),
    routes,
    ...(clock !== undefined && { clock }),
    settings: {
      routing: "routing" in more && more.routing === undefined ? undefined : { ...routing, ...more.routing },
      http: { userAgent: "Tonearm/test", proxyUrl, connectTimeoutMs: 3000, socketTimeoutMs: 3000 },
      allow: ["127.0.0.0/8", "192.0.2.0/24"],
    },
  });
  benches.push(bench);
  return bench;
}

/** Source addresses of the requests since then. */
function senders(sinceCount = 0): string[] {
  return [...new Set(site.requests.slice(sinceCount).map(({ from }) => from))];
}

function failing(): string[] {
  return planner.status().details.failingAddresses.map(({ failingAddress }) => failingAddress.slice(1));
}

function egressOf(link: PluginLink) {
  return link.kind === "link" ? link.egress : expect.fail("it is no link");
}

const IN_BLOCK = expect.stringMatching(/^127\.16\./);

describe("a load or a resolve", () => {
  test("a load or resolve uses one address, the next another, and its link names the address", async () => {
    const bench = await start();
    await bench.load("songs", "songs:1");
    const [first] = senders();
    expect(senders()).toEqual([IN_BLOCK]);
    const link = await bench.resolve("songs", SONG);
    expect(senders(3)).toEqual([IN_BLOCK]);
    expect(egressOf(link)).toEqual({ address: senders(3)[0] });
    expect(senders(3)[0]).not.toBe(first);
    // Cached unchanged for equal requests.
    expect(await bench.resolve("songs", SONG)).toEqual(link);
    expect(egressOf(await bench.resolve("songs", OTHER_SONG))).not.toEqual(egressOf(link));
  });

  test("a source without routing uses the machine's own address, and so does its link", async () => {
    const bench = await start();
    await bench.load("quiet", "quiet:1");
    expect(egressOf(await bench.resolve("quiet", SONG))).toBe("machine");
    expect(senders()).toEqual(["127.0.0.1"]);
  });

  test("a resolve without requests leaves its link to any of the blocks", async () => {
    ask = async () => undefined;
    expect(egressOf(await (await start()).resolve("songs", SONG))).toBe("blocks");
  });

  test("a load that is refused bars the address, and all its requests move on without the plugin's notice", async () => {
    createRoutes({ strategy: "RotateOnBan" });
    const bench = await start();
    await bench.load("songs", "songs:1");
    const [first = ""] = senders();
    site.fail({ at: /./, from: first, outcome: { status: 429 } });
    const link = await bench.resolve("songs", SONG);
    expect(failing()).toEqual([first]);
    const address = site.requests.at(-1)?.from;
    expect(address).not.toBe(first);
    expect(egressOf(link)).toEqual({ address });
  });

  test("a load requests an own server of the operator from the machine's own address", async () => {
    ask = (host, signal) => host.http.text(`${site.url}/own`, { signal });
    await (await start({ server: site.url })).load("songs", "songs:1");
    expect(senders()).toEqual(["127.0.0.1"]);
  });

  test("a plugin can read the current address, and store site data per address", async () => {
    const known: (string | undefined)[] = [];
    ask = async (host, signal) => {
      known.push(await host.http.address({ signal }));
      await host.http.text(`${SITE}/a`, { signal });
    };
    const bench = await start();
    await bench.load("songs", "songs:1");
    await bench.load("quiet", "quiet:1");
    expect(known).toEqual([senders()[0], undefined]);
    expect(senders()).toEqual([IN_BLOCK, "127.0.0.1"]);
  });
});

describe("a load when every address is barred", () => {
  const wholeBlock = ["127.16.0.0", "127.16.0.1", "127.16.0.2", "127.16.0.3"];

  test("exhausted addresses are reported as such, whatever the plugin makes of it, and no site is requested", async () => {
    createRoutes({ ipBlocks: ["127.16.0.0/30"] });
    const banned = { type: "routeFailed", reason: "banned", site: "site.example" } as const;
    for (const address of wholeBlock) planner.onFailure({ ...banned, address });
    ask = async (host, signal) => {
      await host.http.text(`${SITE}/a`, { signal }).catch(() => undefined);
      throw new Error("something else");
    };
    const bench = await start();
    const trouble = await troubleWith(bench.load("songs", "songs:1"));
    expect(trouble).toMatchObject({ code: "routes-exhausted", message: expect.stringContaining("free/all") });
    expect(await troubleWith(bench.resolve("songs", SONG))).toEqual(expect.objectContaining({ code: trouble.code }));
    expect(site.requests).toEqual([]);
    planner.freeAll();
    ask = (host, signal) => host.http.text(`${SITE}/a`, { signal });
    await bench.load("songs", "songs:1");
    expect(senders()).toEqual([expect.stringMatching(/^127\.16\.0\.[0-3]$/)]);
  });

  test("a site that refuses every address costs no more attempts than there are, or are allowed", async () => {
    script = () => ({ status: 429 });
    ask = (host, signal) => host.http.request(`${SITE}/a`, { signal });
    const trouble = await troubleWith((await start({ routing: { retriesMax: 2 } })).load("songs", "songs:1"));
    expect(trouble).toMatchObject({
      code: "routes-exhausted",
      message: expect.stringMatching(/3 addresses.*HTTP 429/),
    });
    expect([site.requests.length, failing().length]).toEqual([3, 3]);
  });
});

describe("a search that is refused", () => {
  test.each<[string, boolean, number]>([
    ["songssearch:words", true, 3],
    ["songssearch:words", false, 0],
    ["songssearch[0,5]:words", false, 0],
    ["songs:search:words", false, 3],
  ])(
    "a refused search %s, with searchTriggersFail %s, bars the expected number of addresses",
    async (identifier, isTriggeredBySearch, barredCount) => {
      script = () => ({ status: 429 });
      ask = (host, signal) => host.http.text(`${SITE}/a`, { signal });
      const bench = await start({ routing: { isTriggeredBySearch, retriesMax: 2 } });
      const { code } = await troubleWith(bench.load("songs", identifier));
      expect([failing().length, code]).toEqual([barredCount, barredCount === 0 ? "site-busy" : "routes-exhausted"]);
    },
  );
});

describe("requests outside of loads", () => {
  test("a request outside of loads uses the blocks, too, if one of the plugin's sources is routed, also in setup", async () => {
    await start({ setUp: (host) => host.http.text(`${SITE}/token`, { signal: host.signal }) });
    expect(senders()).toEqual([IN_BLOCK]);
    await start({
      routing: { sources: ["others"] },
      setUp: (host) => host.http.text(`${SITE}/token`, { signal: host.signal }),
    });
    expect(senders()).toEqual([IN_BLOCK, "127.0.0.1"]);
  });
});

describe("without blocks", () => {
  test("no address is requested without blocks", async () => {
    let requestCount = 0;
    const routes: RouteSource = {
      answer: (routeEvent) => {
        requestCount += 1;
        return planner.answer(routeEvent);
      },
      onFailure: () => undefined,
    };
    const bench = await start({ routing: undefined, routes });
    await bench.load("songs", "songs:1");
    expect(egressOf(await bench.resolve("songs", SONG))).toBe("machine");
    expect([requestCount, senders()]).toEqual([0, ["127.0.0.1"]]);
    await (await start({ routes })).load("songs", "songs:1");
    expect(requestCount).toBe(3);
  });
});

test("a configured proxy is used, without addresses of the blocks", async () => {
  const through: string[] = [];
  const proxy = createServer((request, response) => {
    through.push(`${request.method} ${request.url}`);
    response.end("from afar");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  try {
    ask = (host, signal) => host.http.text("http://192.0.2.80/song", { signal });
    const { port } = proxy.address() as AddressInfo; // listens on TCP
    const link = await (await start({ proxyUrl: `http://127.0.0.1:${port}` })).resolve("songs", SONG);
    expect(through).toEqual(["GET http://192.0.2.80/song"]);
    expect(egressOf(link)).toBe("machine");
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test("a main thread that names no address times out after 5 s, and nothing is sent", async () => {
  const clock = new FakeClock();
  const routes = {
    answer: () => ({ type: "route", routeId: -1, address: undefined }) as const,
    onFailure: () => undefined,
  };
  ask = (host, signal) => host.http.text(`${SITE}/a`, { signal });
  const bench = await start({ clock, routes });
  const failed = troubleWith(bench.load("songs", "songs:1"));
  let isOver = false;
  void failed.finally(() => {
    isOver = true;
  });
  await settle();
  clock.advance(4999);
  await settle();
  expect(isOver).toBe(false);
  clock.advance(1);
  await until(() => isOver);
  expect(await failed).toMatchObject({
    message: expect.stringContaining("no egress address was assigned within 5000 ms"),
  });
  expect(site.requests).toEqual([]);
});
