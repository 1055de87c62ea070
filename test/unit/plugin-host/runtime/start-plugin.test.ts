import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { SiteServer } from "../../../../lab/sites/site-server.ts";
import type { PluginCommand, PluginEvent } from "../../../../src/bridge/plugin-messages.ts";
import type { PlainTree, PlainTreeMap } from "../../../../src/lib/plain-tree.ts";
import {
  definePlugin,
  type Filter,
  type Plugin,
  type PluginHost,
  type SourceAnswer,
  SourceError,
} from "../../../../src/plugin-api/plugin.ts";
import { startPlugin } from "../../../../src/plugin-host/runtime/start-plugin.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";
import { PluginBench, troubleWith } from "../../../support/plugin-bench.ts";

const OWNER = ["address test"];

type Load = (
  identifier: string,
  host: PluginHost<{ readonly key: string | undefined }>,
  signal: AbortSignal,
) => unknown;

/** With one source that claims everything and does that. */
function pluginThat(load: Load) {
  return definePlugin({
    name: "songs",
    version: "1.2.3",
    apiVersion: 1,
    config: { key: { type: "secret", meaning: "A key." }, site: { type: "server", meaning: "A server." } },
    setup(host) {
      host.addAlias("songs-plugin", "4.0.0");
      host.addSource({
        name: "songs",
        prefixes: ["songs:"],
        hosts: ["songs.example"],
        fields: [{ name: "album", type: "text" }],
        load: async ({ identifier, signal }) => (await load(identifier, host, signal)) as SourceAnswer,
        resolve: async () => ({ kind: "reference", identifier: "x" }),
      });
    },
  });
}

const LIMIT = { type: "integer", min: 1, max: 50, meaning: "x" } as const;
const FIXED = "plugins.songs.key: can only be set in the configuration, not while the node runs";
const TOO_LARGE = "plugins.songs.limit: expected a whole number from 1 to 50";
const GOOD = pluginThat(() => ({ kind: "empty" }));

const benches: PluginBench[] = [];
afterEach(() => {
  for (const bench of benches.splice(0)) bench.close();
});

async function start(plugin: unknown, options: Parameters<typeof PluginBench.start>[1] = {}): Promise<PluginBench> {
  const bench = await PluginBench.start(plugin as Plugin, options); // as a plugin without types may be
  benches.push(bench);
  return bench;
}

describe("filters of a plugin", () => {
  const MODULE = new URL("../../../fixtures/filter-plugin/filter.mjs", import.meta.url);
  const FILTER: Filter = {
    name: "wobble",
    module: MODULE,
    settings: { depth: { type: "number", default: 0.5, min: 0, max: 1, meaning: "x" } },
  };
  const withFilters = (...filters: readonly unknown[]) =>
    definePlugin({
      ...{ name: "songs", version: "1.2.3", apiVersion: 1, config: {} },
      setup: (host) => {
        for (const filter of filters) host.addFilter(filter as Filter); // as a plugin without types may
      },
    });

  test("the manifest names their modules, by another URL once the file has changed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tonearm-filter-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const module = pathToFileURL(join(folder, "filter.mjs"));
    const filter = { ...FILTER, module };
    const urls: (string | undefined)[] = [];
    for (const text of ["export default () => ({});", undefined, "export default () => ({ process() {} });"]) {
      if (text !== undefined) await writeFile(module, text);
      const { manifest } = await start(withFilters(filter));
      expect(manifest.filters).toEqual([
        { name: FILTER.name, settings: FILTER.settings, module: expect.stringContaining(`${module}?version=`) },
      ]);
      urls.push(manifest.filters?.[0]?.module);
    }
    expect(urls[1]).toBe(urls[0]);
    expect(urls[2]).not.toBe(urls[0]);
  });

  test("modules that take much CPU time to import are refused: they would stop the audio of their workers", async () => {
    let readCount = 0;
    const perImport = (ms: number) => () => (readCount++ % 2) * ms;
    const two = withFilters(FILTER, { ...FILTER, name: "wibble" });
    await expect(start(two, { cpuMs: perImport(25) })).resolves.toBeDefined();
    await expect(start(two, { cpuMs: perImport(26) })).rejects.toThrow(
      "importing the module of the filter wibble would stop audio: 52 ms of CPU time, at most 50 for all filters; compute",
    );
  });

  test.each([
    [
      { ...FILTER, name: "W" },
      "a filter's name is a lower-case letter, then up to 39 letters, digits and dashes, not W",
    ],
    [{ ...FILTER, name: "high-pass" }, "the filter high-pass needs another name: the node uses that one"],
    [{ ...FILTER, module: "./filter.mjs" }, "the filter wobble has no module; give it new URL("],
    [{ ...FILTER, module: "https://example.org/x.mjs" }, "the filter wobble has no module"],
    [{ ...FILTER, settings: undefined }, "the filter wobble has no settings"],
    [{ ...FILTER, settings: { depth: { type: "text" } } }, "the setting depth of the filter wobble: its type must be"],
    [
      { ...FILTER, settings: { depth: { type: "number", default: 2, min: 0, max: 1 } } },
      "the setting depth of the filter wobble: its default is not from min to max",
    ],
    [
      { ...FILTER, settings: { Q: { type: "flag" } } },
      "the setting Q of the filter wobble: its name is not a lower-case",
    ],
    [{ ...FILTER, settings: { on: null } }, "the setting on of the filter wobble: it must be an object with a type"],
    [{ ...FILTER, settings: { kind: { type: "choice", default: "b" } } }, "it needs names, a list of texts"],
    [
      { ...FILTER, settings: { count: { type: "integer", default: 0.5, min: 0, max: 1 } } },
      "its default must be a whole number",
    ],
    [{ ...FILTER, settings: { on: { type: "flag" } } }, "its default must be true or false"],
    [{ ...FILTER, settings: { kind: { type: "choice", names: ["a"], default: "b" } } }, "its default is none of its"],
    [
      {
        ...FILTER,
        module: new URL("./start-plugin.ts", new URL("../../../../src/plugin-host/runtime/", import.meta.url)),
      },
      "the module of the filter wobble has no function as its default export",
    ],
  ])("%o is refused", async (filter, problem) => {
    await expect(start(withFilters(filter))).rejects.toThrow(problem);
  });

  test("names may be one letter", async () => {
    const q = { type: "number", default: 1, min: 0.1, max: 10, meaning: "x" };
    const { manifest } = await start(withFilters({ ...FILTER, name: "f", settings: { q } }));
    expect(manifest.filters).toMatchObject([{ name: "f", settings: { q } }]);
  });

  test("two of one name are refused", async () => {
    await expect(start(withFilters(FILTER, FILTER))).rejects.toThrow("the filter wobble was added twice");
  });
});

describe("setting a plugin up", () => {
  test("a plugin that is set up reports its manifest, and the operator's own servers", async () => {
    const { manifest } = await start(GOOD, { options: { site: "http://192.0.2.7:8080/x" } });
    expect(manifest).toEqual({
      name: "songs",
      version: "1.2.3",
      aliases: [{ name: "songs-plugin", version: "4.0.0" }],
      sources: [
        {
          name: "songs",
          prefixes: ["songs:"],
          hosts: ["songs.example"],
          endings: [],
          words: [],
          fields: [{ name: "album", type: "text" }],
        },
      ],
      ownServers: ["192.0.2.7:8080"],
    });
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "no plugin as its default export"],
    ["a function", () => undefined, "no plugin as its default export"],
    ["no setup", { ...GOOD, setup: undefined }, "no plugin as its default export"],
    ["a name in upper case", { ...GOOD, name: "Songs" }, "lower case letters"],
    ["a long name", { ...GOOD, name: "a".repeat(41) }, "lower case letters"],
    ["no version", { ...GOOD, version: undefined }, "the plugin songs has no version"],
    ["another interface", { ...GOOD, apiVersion: 2 }, "is for version 2 of the interface, this node has 1"],
    ["no config", { ...GOOD, config: undefined }, "the plugin songs has no config"],
    ["a setup that throws", { ...GOOD, setup: () => Promise.reject(new Error("no key")) }, "no key"],
    ["a setup that throws a text", { ...GOOD, setup: () => Promise.reject("no") }, "no"],
    [
      "a source that makes no sense",
      { ...GOOD, setup: (host: PluginHost) => host.addSource({} as never) },
      "a source has a name",
    ],
  ])("setting up fails with %s, and reports it", async (_what, plugin, problem) => {
    await expect(start(plugin)).rejects.toThrow(problem);
  });

  test("setting up fails for unknown or wrong options, listing all and showing none", async () => {
    const failed = start(GOOD, { options: { kye: "hunter2", site: "hunter2" } });
    await expect(failed).rejects.toThrow(
      /^plugins\.songs\.site: expected .+; plugins\.songs\.kye: there is no such option; did you/,
    );
    await expect(failed).rejects.not.toThrow("hunter2");
  });

  test("setting up uses the changed options", async () => {
    const seen: unknown[] = [];
    const plugin = { ...GOOD, setup: ({ options }: PluginHost) => void seen.push(options) };
    const { manifest } = await start(plugin, {
      options: { key: "one", site: "http://192.0.2.7/" },
      changes: { SITE: "http://192.0.2.8:81" },
    });
    expect(seen).toEqual([{ key: "one", site: "http://192.0.2.8:81" }]);
    expect(manifest.ownServers).toEqual(["192.0.2.8:81"]);
  });

  test.each([
    ["what only the configuration sets", { key: "hunter2" }, [FIXED]],
    ["a wrong value", { limit: "51" }, [TOO_LARGE]],
    ["both", { key: "hunter2", limit: "51" }, [FIXED, TOO_LARGE]],
  ])("setting up fails if an option was changed to %s", async (_what, changes, problems) => {
    const config = { key: { type: "secret", meaning: "A key.", isFixed: true }, limit: LIMIT } as const;
    const { events, give, setUp } = await manualWith(definePlugin({ ...GOOD, config, setup: () => undefined }));
    give({ options: { key: "one" }, changes });
    await setUp;
    const problem = problems.join("; ");
    expect(events.at(-1)).toEqual({ type: "unusable", name: "songs", problem, areOptionsWrong: true });
  });

  test("a failed set-up is reported without the plugin's secrets", async () => {
    const setup = ({ options }: PluginHost<{ readonly key?: string }>) => {
      throw new Error(`the site refuses ${options.key}`);
    };
    const failed = start({ ...GOOD, setup }, { options: { key: "hunter2" } });
    await expect(failed).rejects.toThrow("the site refuses <redacted>");
  });

  test("setting up fails after 10 s", async () => {
    const clock = new FakeClock();
    const failed = start({ ...GOOD, setup: () => new Promise(() => undefined) }, { clock });
    failed.catch(() => undefined);
    await settle();
    clock.advance(9999);
    await settle();
    clock.advance(1);
    await expect(failed).rejects.toThrow("setting it up took more than 10000 ms");
  });

  test.each([
    ["succeeds", () => undefined],
    [
      "throws before it returns a promise",
      () => {
        throw new Error("no key");
      },
    ],
  ])("no timer keeps running when the setup of a plugin %s", async (_how, setup) => {
    const clock = new FakeClock();
    await start({ ...GOOD, setup }, { clock }).catch(() => undefined);
    await settle();
    expect(clock.pendingCount).toBe(0);
  });

  test("requests received before the set-up are answered after it", async () => {
    const { events, send, give, setUp } = await manualWith(GOOD);
    send({ type: "load", requestId: 1, source: "songs", identifier: "songs:1", depth: 0, owner: OWNER });
    give();
    await setUp;
    await settle();
    expect(events.map(({ type }) => type)).toEqual(["named", "ready", "reply"]);
  });

  test("setting up ends if the main thread refuses its name", async () => {
    const { events, send, setUp } = await manualWith(GOOD);
    send({ type: "options", given: { problem: "there is a plugin named songs already" } });
    await setUp;
    const problem = "there is a plugin named songs already";
    expect(events.at(-1)).toEqual({ type: "unusable", name: "songs", problem, areOptionsWrong: false });
  });
});

describe("requests of a plugin to other sources", () => {
  test("a plugin receives results of other sources in its own form", async () => {
    const seen: unknown[] = [];
    const plugin = pluginThat(async (_identifier, host, signal) => {
      seen.push(await host.load("other:1", { signal }));
      return { kind: "empty" };
    });
    const bench = await start(plugin, { elsewhere: () => ({ kind: "reference", identifier: "x" }) });
    await bench.load("songs", "songs:1");
    expect(seen).toEqual([{ kind: "reference", identifier: "x" }]);
  });

  test("a failure of another source is a SourceError", async () => {
    const { events, send, give, setUp } = await manualWith(
      pluginThat((_identifier, host, signal) => host.load("other:1", { signal })),
    );
    give();
    await setUp;
    send({ type: "load", requestId: 1, source: "songs", identifier: "songs:1", depth: 0, owner: OWNER });
    await settle();
    const error = {
      code: "site-busy",
      message: "other: 429",
      severity: "common",
      cause: "",
      causeStackTrace: "",
    } as const;
    send({ type: "loadFailed", askId: 1, error });
    await settle();
    expect(events.at(-1)).toMatchObject({
      type: "replyError",
      error: { code: "site-unavailable", message: "other: 429" },
    });
    // One that it does not wait for.
    send({ type: "loadFailed", askId: 99, error });
    send({ type: "loaded", askId: 99, answer: { kind: "empty" } });
  });

  test("requests to other sources are five deep at most, including the depth of the load they belong to", async () => {
    const plugin = pluginThat((_identifier, host, signal) => host.load("other:1", { signal }));
    const { events, send, give, setUp } = await manualWith(plugin);
    give();
    await setUp;
    for (const depth of [0, 4, 5]) {
      send({ type: "load", requestId: depth + 1, source: "songs", identifier: `songs:${depth}`, depth, owner: OWNER });
    }
    await settle();
    const requested = events.filter((event) => event.type === "loadRequested");
    expect(requested.map(({ depth }) => depth)).toEqual([1, 5]);
    const message = "more than 5 sources ask each other in a row";
    expect(events.at(-1)).toMatchObject({
      type: "replyError",
      requestId: 6,
      error: { code: "site-unavailable", message },
    });
  });

  test("a request to another source is aborted once its caller no longer waits", async () => {
    const plugin = pluginThat((_identifier, host, signal) => host.load("other:1", { signal }));
    const { events, send, give, setUp } = await manualWith(plugin);
    give();
    await setUp;
    send({ type: "load", requestId: 1, source: "songs", identifier: "songs:1", depth: 0, owner: OWNER });
    await settle();
    send({ type: "abort", requestId: 1 });
    await settle();
    expect(events.at(-1)).toEqual({ type: "loadAborted", askId: 1 });
  });
});

/** As the main thread sees it, word by word. */
async function manualWith(plugin: unknown) {
  const events: PluginEvent[] = [];
  let listener = (_command: PluginCommand): void => undefined;
  const http = { userAgent: "x", proxyUrl: undefined, connectTimeoutMs: 1, socketTimeoutMs: 1 };
  const setUp = startPlugin({
    port: {
      postMessage: (event) => void events.push(event),
      on: (_name, listen) => {
        listener = listen;
      },
    },
    clock: new FakeClock(),
    settings: {
      module: "in this thread",
      hosts: {},
      allow: [],
      http,
      ownProxyUrl: undefined,
      ownUserAgent: undefined,
      routing: undefined,
    },
    importModule: () => Promise.resolve({ default: plugin }),
  });
  await settle();
  const send = (command: PluginCommand) => listener(command);
  const give = (given: { readonly options?: PlainTree; readonly changes?: PlainTreeMap } = {}) =>
    send({ type: "options", given: { options: undefined, changes: {}, persisted: [], ...given } });
  return { events, setUp, send, give };
}

describe("secrets of the options", () => {
  const KEY = "hunter2+/=x";

  test("secrets appear in no error, log line or report, also in their encoded forms", async () => {
    const clock = new FakeClock();
    const plugin = pluginThat((identifier, host) => {
      const { key } = host.options;
      host.log.info(`with ${key}`, { key, address: `https://a.example/${encodeURIComponent(String(key))}` });
      const error = new SourceError("busy", `the key ${key} is used up`, { cause: new Error(String(key)) });
      if (identifier === "songs:crash") throw new TypeError(`odd ${key}`);
      return host.backend("api").run(() => Promise.reject(error));
    });
    const bench = await start(plugin, { clock, options: { key: KEY } });
    const troubles = [
      await troubleWith(bench.load("songs", "songs:1")),
      await troubleWith(bench.load("songs", "songs:crash")),
    ];
    clock.advance(1000);
    expect(troubles[0]?.message).toBe("songs: the key <redacted> is used up");
    expect(bench.backends).toMatchObject([{ name: "api", failed: 1, lastError: "the key <redacted> is used up" }]);
    const lines = bench.lines.map(({ message, fields }) => [
      message,
      fields,
      String((fields.error as Error | undefined)?.stack),
    ]);
    expect(lines.length).toBeGreaterThan(2);
    const reported = JSON.stringify([troubles, lines, bench.report]);
    for (const form of [KEY, encodeURIComponent(KEY), "hunter2"]) expect(reported).not.toContain(form);
  });

  test("secrets do not appear in the reason of a failed set-up", async () => {
    const text = `no answer for https://user:pass@a.example/ with the key ${KEY}`;
    const failed = start({ ...GOOD, setup: () => Promise.reject(new Error(text)) }, { options: { key: KEY } });
    await expect(failed).rejects.toThrow("no answer for https://<redacted>@a.example/ with the key <redacted>");
  });

  test("secrets are found in JSON, too", async () => {
    const key = 'hun"ter\\2';
    const plugin = pluginThat((_identifier, host) => void host.log.info("x", { o: { key } }));
    const bench = await start(plugin, { options: { key } });
    await bench.load("songs", "songs:1");
    expect(bench.lines.map(({ fields }) => fields)).toEqual([{ o: '{"key":"<redacted>"}' }]);
  });

  test("a secret that begins like another is removed completely, and very short ones are kept as words", async () => {
    const plugin = definePlugin({
      name: "songs",
      version: "1.0.0",
      apiVersion: 1,
      config: Object.fromEntries(["a", "b", "c"].map((name) => [name, { type: "secret", meaning: "A key." }] as const)),
      setup: (host) => host.log.info("secret-one, secret-one-more, the"),
    });
    const { events, give, setUp } = await manualWith(plugin);
    give({ options: { a: "secret-one", b: "secret-one-more", c: "the" } });
    await setUp;
    expect(events[1]).toMatchObject({ type: "log", message: "<redacted>, <redacted>, the" });
  });
});

test("a report is sent once a second, when there is something new", async () => {
  const clock = new FakeClock();
  const plugin = pluginThat((_identifier, host) => {
    for (let index = 0; index < 100; index++) host.count("pages");
    return { kind: "empty" };
  });
  const bench = await start(plugin, { clock });
  await bench.load("songs", "songs:1");
  expect(bench.report).toBeUndefined();
  clock.advance(1000);
  expect(bench.report).toMatchObject({ backends: [], counts: { pages: 100 } });
  clock.advance(10_000);
  await bench.load("songs", "songs:2");
  clock.advance(999);
  expect(bench.report?.counts).toEqual({ pages: 100 });
  clock.advance(1);
  expect(bench.report?.counts).toEqual({ pages: 200 });
});

test("a plugin reaches its site through the guard, and an own server of the operator at any address", async () => {
  const site = await SiteServer.start(() => ({ text: "fine" }));
  try {
    const plugin = (address: string) =>
      pluginThat(async (_identifier, host, signal) => {
        const title = await host.http.text(address, { signal });
        return { kind: "track", track: { identifier: "1", title } };
      });
    const mapped = await start(plugin("https://songs.example/"), { hosts: site.hosts("songs.example") });
    expect(await mapped.loadTracks("songs", "songs:1")).toMatchObject([{ info: { title: "fine" } }]);
    const inside = await start(plugin("http://10.255.255.1/"));
    expect(await troubleWith(inside.load("songs", "songs:1"))).toMatchObject({ code: "site-unreachable" });
  } finally {
    await site.close();
  }
});

test("the end lets the plugin clean up, and is reported", async () => {
  let isDisposed = false;
  const plugin = {
    ...GOOD,
    setup: (host: PluginHost) => {
      host.onDispose(() => {
        isDisposed = true;
      });
    },
  };
  const { events, send, give, setUp } = await manualWith(plugin);
  give();
  await setUp;
  send({ type: "dispose" });
  await settle();
  expect(isDisposed).toBe(true);
  expect(events.at(-1)).toEqual({ type: "disposed" });
});
