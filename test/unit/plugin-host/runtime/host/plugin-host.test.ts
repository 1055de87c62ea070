import { getEventListeners } from "node:events";
import { beforeEach, describe, expect, test } from "vitest";
import type { PersistedValue, PluginEvent } from "../../../../../src/bridge/plugin-messages.ts";
import { unlessAborted } from "../../../../../src/lib/unless-aborted.ts";
import { silentLogger } from "../../../../../src/log/log.ts";
import {
  type HttpAnswer,
  type HttpRequest,
  type PoolOptions,
  type Source,
  type SourceAnswer,
  SourceError,
} from "../../../../../src/plugin-api/plugin.ts";
import { PersistedCaches } from "../../../../../src/plugin-host/runtime/host/persisted-caches.ts";
import { LivingHost } from "../../../../../src/plugin-host/runtime/host/plugin-host.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { settle } from "../../../../support/fake-workers.ts";

const STATUS_ERROR = new SourceError("busy", "429");
const LEFT: PersistedValue = { cache: "ids", key: "a", json: '"left"', untilMs: Number.POSITIVE_INFINITY };

let clock: FakeClock;
let host: LivingHost<unknown>;
let reportCount: number;
/** The node's received requests, with their signals. */
let requests: string[];
let loads: { readonly identifier: string; readonly signal: AbortSignal }[];

/** Events of persisted caches. */
let persisted: PluginEvent[];

beforeEach(() => {
  clock = new FakeClock();
  persisted = [];
  reportCount = 0;
  [loads, requests] = [[], []];
  host = new LivingHost({
    plugin: "songs",
    options: { a: 1 },
    userAgent: "Tonearm/test",
    clock,
    log: silentLogger,
    hide: (text) => text,
    http: {
      request: hang,
      json: hang,
      text: hang,
      statusError: () => STATUS_ERROR,
      address: (request) => hang("its own address", request),
    },
    persisted: new PersistedCaches({ values: [LEFT], clock, send: (event) => persisted.push(event) }),
    load: (identifier, signal) => {
      loads.push({ identifier, signal });
      if (identifier === "hang") return unlessAborted(new Promise(() => undefined), signal);
      return Promise.resolve({ kind: "empty" } satisfies SourceAnswer);
    },
    askPlayer: () => Promise.reject(new Error("not part of these tests")),
    sendEvent: () => undefined,
    onProgram: () => undefined,
    onReport: () => {
      reportCount += 1;
    },
  });
});

/** A request that ends only with its signal. */
function hang(url: string, { signal }: HttpRequest): Promise<never> {
  requests.push(url);
  return unlessAborted(new Promise(() => undefined), signal);
}

function source(name: string): Source {
  return { name, load: async () => undefined, resolve: async () => ({ kind: "reference", identifier: "x" }) };
}

describe("registering", () => {
  test("a plugin can register only within setup", () => {
    host.addSource(source("one"));
    host.addAlias("sc-plugin", "1.0.0");
    host.addPluginInfo({});
    host.endSetUp();
    expect(() => host.addSource(source("two"))).toThrow("addSource can only be called within setup");
    expect(() => host.addAlias("x", "1")).toThrow("addAlias can only be called within setup");
    expect(() => host.addPluginInfo({})).toThrow("addPluginInfo can only be called within setup");
    expect([...host.sources.keys()]).toEqual(["one"]);
    expect(host.aliases).toEqual([{ name: "sc-plugin", version: "1.0.0" }]);
  });

  test("a duplicate source name and an invalid source are refused", () => {
    host.addSource(source("one"));
    expect(() => host.addSource(source("one"))).toThrow("the source one was added twice");
    expect(() => host.addSource(source(""))).toThrow("a source has a name");
  });

  test("registrations are limited: 100 sources, 50 aliases, whose texts are cut", () => {
    for (let index = 0; index < 100; index++) host.addSource(source(`s${index}`));
    expect(() => host.addSource(source("more"))).toThrow("more than 100 sources");
    for (let index = 0; index < 50; index++) host.addAlias("a".repeat(1000), "1");
    expect(() => host.addAlias("more", "1")).toThrow("more than 50 aliases");
    expect(host.aliases[0]?.name).toHaveLength(100);
  });
});

describe("counters", () => {
  test("counters increase by whole numbers, and are reported", () => {
    host.count("pages");
    host.count("pages", 4);
    for (const by of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) host.count("pages", by);
    host.count("pages", "7" as unknown as number);
    expect(host.counts).toEqual({ pages: 5 });
    expect(reportCount).toBe(2);
  });

  test("at most 64 counters exist, with names of 100 characters at most", () => {
    for (let index = 0; index < 100; index++) host.count(`event ${index}`);
    host.count("event 0");
    expect(Object.keys(host.counts)).toHaveLength(64);
    expect(host.counts["event 0"]).toBe(2);
  });

  test("counters with long names are cut", () => {
    host.count("x".repeat(1000));
    expect(host.counts).toEqual({ ["x".repeat(100)]: 1 });
  });
});

describe("services of the host", () => {
  test("a persisted cache gets stored values and sends new ones, and other caches do neither", () => {
    const options = { ttlMs: 1000, entriesMax: 10 };
    host.cache("others", options).set("k", "v");
    expect(persisted).toEqual([]);
    const ids = host.cache<string>("ids", { ...options, persist: true });
    expect(ids.get("a")).toBe("left");
    ids.set("k", "v");
    expect(persisted).toMatchObject([{ type: "persist", value: { cache: "ids", key: "k", json: '"v"' } }]);
  });

  test("caches with the same name are the same, and there are 64 at most", () => {
    const options = { ttlMs: 1000, entriesMax: 10 };
    host.cache<string>("a", options).set("k", "v");
    expect(host.cache<string>("a", options).get("k")).toBe("v");
    expect(host.cache<string>("b", options).get("k")).toBeUndefined();
    for (let index = 2; index < 64; index++) host.cache(`c${index}`, options);
    expect(() => host.cache("more", options)).toThrow("more than 64 caches");
    expect(host.cache<string>("a", options).get("k")).toBe("v");
  });

  test("pools with the same name are the same, and there are 64 at most", () => {
    const pool = host.pool("pages", { concurrencyMax: 1, waitingMax: 1 });
    expect(host.pool("pages", { concurrencyMax: 9, waitingMax: 9 })).toBe(pool);
    for (let count = 1; count < 64; count++) host.pool(`pages ${count}`, { concurrencyMax: 1, waitingMax: 1 });
    expect(() => host.pool("one more", { concurrencyMax: 1, waitingMax: 1 })).toThrow("more than 64 pools");
  });

  test.each([
    [{ concurrencyMax: 0, waitingMax: 1 }, /^concurrencyMax of the pool "pages" must be a whole number of 1 or more$/],
    [{ waitingMax: 1 }, /^concurrencyMax/],
    [{ concurrencyMax: 1, waitingMax: -1 }, /^waitingMax of the pool "pages" must be a whole number of 0 or more$/],
    [{ concurrencyMax: 1 }, /^waitingMax/],
  ])("a pool with the limits %j is refused", (limits, message) => {
    // JavaScript may leave them out.
    expect(() => host.pool("pages", limits as PoolOptions)).toThrow(message);
  });

  test("a pool runs as many calls at once as it allows, further ones in order, and refuses the rest", async () => {
    const pool = host.pool("pages", { concurrencyMax: 2, waitingMax: 1 });
    const { signal } = new AbortController();
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const run = (name: string) =>
      pool.run(
        () => {
          started.push(name);
          return new Promise<string>((resolve) => ends.push(() => resolve(name)));
        },
        { signal },
      );
    const calls = ["first", "second", "third"].map((name) => run(name));
    const refused = { kind: "busy", message: "more than 1 pages of this plugin wait already" };
    await expect(run("fourth")).rejects.toMatchObject(refused);
    expect(started).toEqual(["first", "second"]);
    ends[0]?.();
    expect(await calls[0]).toBe("first");
    await settle();
    expect(started).toEqual(["first", "second", "third"]);
  });

  test("a call that fails frees its permit, and one that is aborted while it waits is not made", async () => {
    const pool = host.pool("pages", { concurrencyMax: 1, waitingMax: 2 });
    const { signal } = new AbortController();
    const abort = new AbortController();
    let fail = (): void => undefined;
    const failing = pool.run(
      () =>
        new Promise<never>((_, reject) => {
          fail = () => reject(new Error("broken"));
        }),
      { signal },
    );
    const aborted = pool.run(() => expect.fail("it was made"), { signal: abort.signal });
    const next = pool.run(() => Promise.resolve("next"), { signal });
    abort.abort(new Error("gone"));
    await expect(aborted).rejects.toThrow("gone");
    fail();
    await expect(failing).rejects.toThrow("broken");
    expect(await next).toBe("next");
  });

  test("backends report through the host", async () => {
    await host.backend("api").run(async () => 1);
    expect(host.backendReports).toMatchObject([{ name: "api", succeeded: 1 }]);
    expect(reportCount).toBe(1);
  });

  test("the host's clock sleeps for the given time, or until the signal", async () => {
    let isAwake = false;
    const slept = host.clock.sleep(1000, new AbortController().signal).then(() => {
      isAwake = true;
    });
    clock.advance(999);
    await settle();
    expect(isAwake).toBe(false);
    clock.advance(1);
    await slept;
    const abort = new AbortController();
    const broken = host.clock.sleep(1000, abort.signal);
    abort.abort(new Error("gone"));
    await expect(broken).rejects.toThrow("gone");
    expect(clock.pendingCount).toBe(0);
    expect(host.clock.now()).toBe(clock.epochMs());
  });

  test("a load of other sources ends with its own signal, and with the plugin", async () => {
    const abort = new AbortController();
    const asked = [abort.signal, new AbortController().signal].map((signal) => host.load("hang", { signal }));
    const ends = Promise.allSettled(asked);
    abort.abort();
    expect(loads.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await host.dispose();
    expect(loads[1]?.signal.aborted).toBe(true);
    expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

describe("the end of a plugin", () => {
  test("the end rejects all pending requests, and all later ones", async () => {
    const signal = new AbortController().signal;
    const pool = host.pool("pages", { concurrencyMax: 1, waitingMax: 2 });
    void pool.run(() => new Promise(() => undefined), { signal });
    const calls = [
      () => host.http.request("https://a.example/", { signal }),
      () => host.http.json("https://a.example/", { signal }),
      () => host.http.text("https://a.example/", { signal }),
      () => host.http.address({ signal }),
      () => host.load("hang", { signal }),
      () => host.clock.sleep(1000, signal),
      () => pool.run(() => expect.fail("it was made"), { signal }),
      () => host.run(process.execPath, { signal, args: ["-e", "setInterval(() => {}, 1000)"] }),
    ];
    const asked = calls.map((call) => call());
    const ends = Promise.allSettled(asked);
    await settle();
    const count = requests.length;
    await host.dispose();
    const reason = { name: "AbortError", message: "the plugin is ended" };
    for (const end of await ends) expect(end).toMatchObject({ status: "rejected", reason });
    for (const call of calls) await expect(call()).rejects.toMatchObject(reason);
    expect([requests.length, count]).toEqual([4, 4]);
  });

  test("finished requests leave no listener on the signals of their callers or of the plugin", async () => {
    const abort = new AbortController();
    const asked = host.http.text("https://a.example/", { signal: abort.signal });
    abort.abort(new Error("gone"));
    await expect(asked).rejects.toThrow("gone");
    expect(host.http.statusError({} as HttpAnswer)).toBe(STATUS_ERROR);
    expect(getEventListeners(host.signal, "abort")).toHaveLength(0);
  });

  test("the end aborts the signal, runs every clean-up, and ignores their errors", async () => {
    const disposed: string[] = [];
    host.onDispose(() => void disposed.push("one"));
    host.onDispose(() => {
      throw new Error("no");
    });
    host.onDispose(async () => void disposed.push("three"));
    await host.dispose();
    expect(disposed).toEqual(["one", "three"]);
    expect(host.signal.reason).toMatchObject({ name: "AbortError" });
  });

  test("the end waits for 1 s at most", async () => {
    host.onDispose(() => new Promise(() => undefined));
    let isOver = false;
    const over = host.dispose().then(() => {
      isOver = true;
    });
    clock.advance(999);
    await settle();
    expect(isOver).toBe(false);
    clock.advance(1);
    await over;
  });
});
