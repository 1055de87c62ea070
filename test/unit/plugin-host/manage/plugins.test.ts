import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LinkRequest } from "../../../../src/bridge/playable-link.ts";
import type { PluginEvent, PluginLink, PluginManifest } from "../../../../src/bridge/plugin-messages.ts";
import { allowedSources, UNLIMITED } from "../../../../src/control/access/identity.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import { type LoadOptions, TrackLoader } from "../../../../src/control/sources/track-loader.ts";
import { NodeError } from "../../../../src/errors.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { type PluginPlan, Plugins } from "../../../../src/plugin-host/manage/plugins.ts";
import type { Track } from "../../../../src/track/track.ts";
import { writeTracks } from "../../../../src/track/written-tracks.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type FakePluginThread, FakePluginThreads, manifestOf } from "../../../support/fake-plugin-threads.ts";
import { settle } from "../../../support/fake-workers.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const OWNER = ["address test"];
/** A key that may only play from `songs`. */
const LIMITED = ["key bot", "key bot, client"];
const ONLY_SONGS = allowedSources({ name: "bot", limits: { ...UNLIMITED, sources: new Set(["songs"]) } });

const SIGNAL = new AbortController().signal;
const HTTP_TRACK = buildTrack();
const LINK: PluginLink = {
  kind: "link",
  url: "https://cdn.example/1",
  headers: {},
  container: undefined,
  expiresAtEpochMs: undefined,
  egress: "machine",
  variant: undefined,
  rangeStep: undefined,
};

let clock: FakeClock;
let threads: FakePluginThreads;
let plugins: Plugins;
let loader: TrackLoader;
let dataFolder: string | undefined;

beforeEach(() => {
  clock = new FakeClock();
  threads = new FakePluginThreads(clock);
  dataFolder = undefined;
});
afterEach(() => plugins.close());

/** Built-in plugins with known manifests, unless stated otherwise. */
function create(...plans: (Partial<PluginPlan> & { readonly name: string })[]): void {
  const http = { userAgent: "x", proxyUrl: undefined, connectTimeoutMs: 1, socketTimeoutMs: 1 };
  plugins = new Plugins({
    entry: new URL("file:///plugin"),
    threads,
    clock,
    logger: silentLogger,
    dataFolder,
    allowedFor: ([account]) => (account === "key bot" ? ONLY_SONGS : undefined),
    plans: plans.map((plan) => ({
      rank: "middle",
      isBuiltIn: true,
      isRequired: false,
      isReloadedOnChange: false,
      problem: undefined,
      optionsOf: () => ({ of: plan.name }),
      manifest: manifestOf(plan.name),
      settings: {
        module: plan.name,
        allow: [],
        hosts: {},
        http,
        ownProxyUrl: undefined,
        ownUserAgent: undefined,
        routing: undefined,
      },
      ...plan,
    })),
  });
  const files = {
    name: "http",
    isClaimed: () => true,
    load: async ({ identifier }: { readonly identifier: string }) => {
      if (identifier === "http:broken") throw new NodeError("input-unreachable", "nobody there");
      return identifier.startsWith("http:") ? ({ kind: "track", track: HTTP_TRACK } as const) : undefined;
    },
    playableInput: () => ({ kind: "http", url: "https://media.example/", container: undefined }) as const,
  };
  loader = new TrackLoader({ listSources: () => [...plugins.sources("middle"), files], clock });
  plugins.loader = loader;
}

/** The thread of that plugin, the last one. */
function threadOf(name: string): FakePluginThread {
  const thread = threads.started.findLast(({ start }) => start.settings.module === name);
  return thread ?? expect.fail(`${name} has no thread`);
}

function trackOf(sourceName: string, identifier = "1"): Track {
  return buildTrack({ sourceName, identifier });
}

function requestFor(track: Track, more: Partial<LinkRequest> = {}): LinkRequest {
  const { encoded, userData } = track;
  return { track: { sourceName: track.info.sourceName, encoded, userData }, owner: OWNER, reason: "start", ...more };
}

function load(identifier: string, options: Partial<LoadOptions> = {}): Promise<LoadResult> {
  return loader.load(identifier, { owner: OWNER, signal: SIGNAL, ...options });
}

/** The thread has a source that always returns this answer. */
async function answer(name: string, value: Extract<PluginEvent, { type: "reply" }>["value"]): Promise<void> {
  await settle();
  await threadOf(name).reply(value);
}

describe("loading", () => {
  test("loading starts a plugin's thread for identifiers that it claims, and for no others", async () => {
    create({ name: "songs" }, { name: "tunes" });
    expect(await load("http:x")).toMatchObject({ kind: "track" });
    expect(threads.started).toHaveLength(0);
    const found = load("tunes:1");
    await answer("tunes", { kind: "track", track: trackOf("tunes") });
    expect(await found).toMatchObject({ kind: "track", track: { info: { sourceName: "tunes" } } });
    expect(threads.started).toHaveLength(1);
    expect(threadOf("tunes").all("load")).toMatchObject([{ source: "tunes", identifier: "tunes:1", depth: 0 }]);
  });

  test("loading tries the next plugin when one declines, and passes lists on unchanged", async () => {
    create(
      { name: "songs" },
      { name: "tunes", manifest: manifestOf("tunes", { sources: [{ name: "tunes", prefixes: ["s"], fields: [] }] }) },
    );
    const found = load("songs:1");
    await answer("songs", { kind: "none" });
    const tracks = writeTracks([trackOf("tunes")]);
    await answer("tunes", { kind: "playlist", name: "P", selectedTrack: 0, pluginInfo: { a: 1 }, tracks });
    expect(await found).toEqual({
      kind: "playlist",
      playlist: { name: "P", selectedTrack: 0, pluginInfo: { a: 1 }, tracks },
    });
  });

  test("loading follows a reference to another source", async () => {
    create({ name: "songs" });
    const found = load("songs:1");
    await answer("songs", { kind: "reference", identifier: "http:x" });
    expect(await found).toMatchObject({ kind: "track", track: { info: { sourceName: "http" } } });
  });

  test("a failed load is reported and counted", async () => {
    create({ name: "songs" });
    const found = load("songs:1");
    await settle();
    await threadOf("songs").replyError(new NodeError("site-busy", "songs: 429"));
    expect(await found).toMatchObject({ kind: "error", error: { code: "site-busy", message: "songs: 429" } });
    expect(plugins.sourcesJson()).toMatchObject([
      { name: "songs", plugin: "songs", loads: { succeeded: 0, failed: 1, lastError: { code: "site-busy" } } },
    ]);
  });

  test("loading takes 20 s at most, and the plugin is notified of the abort", async () => {
    create({ name: "songs" });
    const found = load("songs:1");
    await settle();
    await threadOf("songs").ready(manifestOf("songs"));
    clock.advance(20_000);
    expect(await found).toMatchObject({ kind: "error", error: { code: "load-timeout" } });
    expect(threadOf("songs").all("abort")).toHaveLength(1);
  });
});

describe("a link", () => {
  test("a link is the plugin's answer for the complete track", async () => {
    create({ name: "songs" });
    const track = { ...trackOf("songs"), userData: { a: 1 } };
    const found = plugins.link(requestFor(track, { reason: "refused", status: 403, variant: "r" }), {
      signal: SIGNAL,
    });
    await answer("songs", LINK);
    expect(await found).toEqual({ ...LINK, isOwnServer: false });
    expect(threadOf("songs").all("resolve")).toMatchObject([
      {
        source: "songs",
        linkRequest: { encoded: track.encoded, userData: { a: 1 }, reason: "refused", status: 403, variant: "r" },
      },
    ]);
    expect(plugins.sourcesJson()[0]?.links).toMatchObject({ succeeded: 1 });
  });

  test("a link by reference is that of the referenced identifier: an input, or a link of another source", async () => {
    create({ name: "songs" }, { name: "tunes" });
    const direct = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    await answer("songs", { kind: "reference", identifier: "http:x" });
    expect(await direct).toMatchObject({ kind: "input", input: { kind: "http", url: "https://media.example/" } });
    const other = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    await answer("songs", { kind: "reference", identifier: "tunes:1" });
    await answer("tunes", { kind: "track", track: trackOf("tunes", "2") });
    expect(threadOf("tunes").all("load")).toMatchObject([{ depth: 1 }]);
    await answer("tunes", LINK);
    expect(await other).toEqual({ ...LINK, isOwnServer: false });
  });

  test.each(["http:x", "tunes:1"])(
    "a key limited to one source does not get %s by a reference of it",
    async (other) => {
      create({ name: "songs" }, { name: "tunes" });
      const found = plugins.link(requestFor(trackOf("songs"), { owner: LIMITED }), { signal: SIGNAL });
      await answer("songs", { kind: "reference", identifier: other });
      await expect(found).rejects.toMatchObject({
        code: "key-forbidden",
        message: expect.stringMatching(/key bot may/),
      });
      expect(threadOf("songs").all("resolve")).toMatchObject([{ sources: ["songs"] }]);
      expect(threads.started).toHaveLength(1);
    },
  );

  test("a link of a client without a limit is asked for without one", async () => {
    create({ name: "songs" });
    const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    await answer("songs", LINK);
    await found;
    expect(threadOf("songs").all("resolve")).toMatchObject([{ sources: undefined }]);
  });

  test("a link by a reference to a search is that of the first result", async () => {
    create({ name: "songs" }, { name: "tunes" });
    const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    await answer("songs", { kind: "reference", identifier: "tunes:search" });
    const [first, second] = [trackOf("tunes", "2"), trackOf("tunes", "3")];
    await answer("tunes", { kind: "search", tracks: writeTracks([first, second]) });
    await answer("tunes", LINK);
    expect(await found).toEqual({ ...LINK, isOwnServer: false });
    expect(threadOf("tunes").all("resolve")).toMatchObject([{ linkRequest: { encoded: first.encoded } }]);
  });

  test("a track whose source has no audio needs a mirror, also by a reference, and its ISRC can be asked for", async () => {
    create({ name: "songs" }, { name: "tunes" });
    const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    await answer("songs", { kind: "reference", identifier: "tunes:1" });
    await answer("tunes", { kind: "track", track: trackOf("tunes", "2") });
    await answer("tunes", { kind: "mirror", isrc: "GBARL9300135" });
    await expect(found).rejects.toMatchObject({ code: "mirror-needed", message: expect.stringContaining("tunes") });
    const { track, owner } = requestFor(trackOf("tunes"));
    const isrc = plugins.isrcOf(track, { owner, signal: SIGNAL });
    await answer("tunes", { kind: "mirror", isrc: "GBARL9300135" });
    expect(await isrc).toBe("GBARL9300135");
    const none = plugins.isrcOf(track, { owner, signal: SIGNAL });
    await answer("tunes", LINK);
    expect(await none).toBeUndefined();
  });

  test("a link by a reference to a playlist fails with an error that names the playlist", async () => {
    create({ name: "songs" }, { name: "tunes" });
    const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    await answer("songs", { kind: "reference", identifier: "tunes:list" });
    const tracks = writeTracks([trackOf("tunes")]);
    await answer("tunes", { kind: "playlist", name: "P", selectedTrack: 0, pluginInfo: {}, tracks });
    const error = { code: "source-unavailable", message: expect.stringContaining("leads to a playlist") };
    await expect(found).rejects.toMatchObject(error);
  });

  test("a chain of references to searches ends after three, too", async () => {
    create({ name: "songs" });
    const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    for (let hop = 0; hop < 3; hop++) {
      await answer("songs", { kind: "reference", identifier: "songs:search" });
      await answer("songs", { kind: "search", tracks: writeTracks([trackOf("songs")]) });
    }
    await expect(found).rejects.toMatchObject({ message: expect.stringMatching(/^more than 3 /) });
  });

  test("a chain of references ends after three", async () => {
    create({ name: "songs" });
    const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    for (let hop = 0; hop < 3; hop++) {
      await answer("songs", { kind: "reference", identifier: "songs:1" });
      await answer("songs", { kind: "track", track: trackOf("songs") });
    }
    await expect(found).rejects.toMatchObject({
      code: "source-unavailable",
      message: expect.stringMatching(/^more than 3 /),
    });
    expect(threadOf("songs").all("resolve")).toHaveLength(3);
  });

  test.each([
    ["nothing", "nothing:there", { code: "source-unavailable" }],
    ["an error", "http:broken", { code: "input-unreachable", message: "nobody there" }],
  ])("a link by a reference to %s fails", async (_what, identifier, error) => {
    create({ name: "songs" });
    const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
    await answer("songs", { kind: "reference", identifier });
    await expect(found).rejects.toMatchObject(error);
  });

  test("a link of a missing source, or of a plugin that is off, fails", async () => {
    create({ name: "songs", problem: "an option is wrong" });
    for (const name of ["songs", "others"]) {
      const message = `the source of this track is not available on this node: ${name}`;
      const found = plugins.link(requestFor(trackOf(name)), { signal: SIGNAL });
      await expect(found).rejects.toMatchObject({ code: "source-unavailable", message });
    }
  });

  test("a link whose caller no longer waits is aborted", async () => {
    create({ name: "songs" });
    const abort = new AbortController();
    const found = plugins.link(requestFor(trackOf("songs")), { signal: abort.signal });
    abort.abort(new Error("gone"));
    await expect(found).rejects.toThrow("gone");
    await settle();
    expect(threadOf("songs").all("abort")).toHaveLength(1);
  });
});

describe("requests of plugins to other sources", () => {
  beforeEach(async () => {
    create({ name: "songs" }, { name: "tunes" });
    void load("songs:1");
    await settle();
    await threadOf("songs").ready(manifestOf("songs"));
  });

  function requestLoad(identifier: string, { askId = 1, depth = 1, owner = OWNER } = {}): void {
    threadOf("songs").say({ type: "loadRequested", askId, identifier, depth, owner });
  }

  test("a plugin's request is loaded like a client's, with its depth", async () => {
    requestLoad("tunes:1", { depth: 3 });
    await answer("tunes", { kind: "track", track: trackOf("tunes") });
    expect(threadOf("tunes").all("load")).toMatchObject([{ depth: 3 }]);
    await settle();
    expect(threadOf("songs").all("loaded")).toMatchObject([{ askId: 1, answer: { kind: "track" } }]);
  });

  test("a plugin's request for a client whose key is limited fails for another source", async () => {
    threadOf("songs").say({ type: "loadRequested", askId: 7, identifier: "tunes:1", depth: 1, owner: LIMITED });
    await settle();
    expect(threadOf("songs").all("loadFailed")).toMatchObject([{ askId: 7, error: { code: "key-forbidden" } }]);
    expect(threads.started).toHaveLength(1);
  });

  test("a plugin's request returns the same as for a client: lists, nothing, errors", async () => {
    requestLoad("tunes:1");
    await answer("tunes", { kind: "search", tracks: writeTracks([trackOf("tunes")]) });
    requestLoad("nothing:there", { askId: 2 });
    requestLoad("http:broken", { askId: 3 });
    await settle();
    expect(threadOf("songs").all("loaded")).toMatchObject([
      { askId: 1, answer: { kind: "search", tracks: { count: 1 } } },
      { askId: 2, answer: { kind: "empty" } },
    ]);
    expect(threadOf("songs").all("loadFailed")).toMatchObject([{ askId: 3, error: { code: "input-unreachable" } }]);
  });

  test("a plugin can abort its request, without effect on others", async () => {
    requestLoad("tunes:1", { askId: 1 });
    requestLoad("tunes:2", { askId: 2 });
    await settle();
    threadOf("songs").say({ type: "loadAborted", askId: 1 });
    await settle();
    expect(threadOf("tunes").all("abort")).toMatchObject([{ requestId: 1 }]);
  });

  test("the result is sent to the requesting thread, not to its successor, whose request ids may be equal", async () => {
    requestLoad("tunes:1");
    await settle();
    const [before] = threads.started;
    before?.exit(1);
    clock.advance(2000);
    void load("songs:2");
    await settle();
    expect(threadOf("songs")).not.toBe(before);
    await answer("tunes", { kind: "empty" });
    await settle();
    expect(threadOf("songs").all("loaded")).toEqual([]);
  });

  test("requests of plugins are refused beyond 256 at once", async () => {
    for (let askId = 1; askId <= 257; askId++) requestLoad(`tunes:${askId}`, { askId });
    await settle();
    expect(threadOf("songs").all("loadFailed")).toMatchObject([{ askId: 257, error: { code: "load-busy" } }]);
  });

  test("above 256 requests of plugins, one of the client with most is refused, not another's", async () => {
    for (let askId = 1; askId <= 256; askId++) requestLoad(`tunes:${askId}`, { askId, owner: ["a", "a, 1"] });
    requestLoad("tunes:of-another", { askId: 257, owner: ["b", "b, 1"] });
    requestLoad("tunes:of-another-client", { askId: 258, owner: ["a", "a, 2"] });
    await settle();
    expect(threadOf("songs").all("loadFailed")).toMatchObject([
      { askId: 256, error: { code: "load-busy" } },
      { askId: 255, error: { code: "load-busy" } },
    ]);
  });

  test("a load that a plugin asks for within another waits for no permit behind those of its client", async () => {
    const asked: string[] = [];
    const slow = {
      name: "slow",
      isClaimed: () => true,
      load: ({ identifier }: { readonly identifier: string }) => {
        asked.push(identifier);
        return new Promise<undefined>(() => undefined);
      },
      playableInput: () => expect.fail(),
    };
    plugins.loader = loader = new TrackLoader({ listSources: () => [slow], clock });
    for (let count = 0; count < 512; count++) void load(`slow:${count}`);
    for (let step = 0; step < 16; step++) {
      clock.advance(100);
      await settle();
    }
    expect(asked).toHaveLength(256);
    requestLoad("within");
    await settle();
    expect(asked.at(-1)).toBe("within");
  });

  test("requests of plugins end when the node closes", async () => {
    requestLoad("tunes:1");
    await settle();
    await plugins.close();
    await settle();
    expect(threads.alive).toHaveLength(0);
  });
});

describe("the list of plugins", () => {
  test("plugins are listed in the order of ranks and plans, without those that are off", () => {
    const off = { name: "off", problem: "an option is wrong" };
    create({ name: "songs" }, { name: "early", rank: "first" }, off, { name: "tunes" }, { name: "late", rank: "last" });
    const names = (rank: "first" | "middle" | "last") => plugins.sources(rank).map(({ name }) => name);
    expect([names("first"), names("middle"), names("last")]).toEqual([["early"], ["songs", "tunes"], ["late"]]);
    expect(plugins.infos.map(({ name }) => name)).toEqual(["songs", "early", "tunes", "late"]);
    expect(plugins.pluginsJson()).toMatchObject([
      {},
      {},
      { name: "off", state: "off", trouble: "an option is wrong" },
      {},
      {},
    ]);
  });

  test("plugins are listed to clients with their aliases", () => {
    create({ name: "songs", manifest: manifestOf("songs", { aliases: [{ name: "songs-plugin", version: "4.0.0" }] }) });
    expect(plugins.infos).toEqual([
      { name: "songs", version: "1.0.0" },
      { name: "songs-plugin", version: "4.0.0" },
    ]);
  });

  test("plugins of unknown manifest are started to learn it", async () => {
    create({ name: "songs" }, { name: "songs.mjs", isBuiltIn: false, manifest: undefined });
    expect(plugins.infos).toHaveLength(1);
    const started = plugins.start();
    expect(threads.started).toHaveLength(1);
    await threads.last.ready(manifestOf("tunes"));
    await started;
    expect(plugins.infos).toContainEqual({ name: "tunes", version: "1.0.0" });
    expect(threads.last.all("options")).toMatchObject([{ given: { options: { of: "songs.mjs" } } }]);
    expect(plugins.pluginsJson()[1]).toEqual({
      name: "tunes",
      version: "1.0.0",
      isBuiltIn: false,
      state: "running",
      trouble: null,
      losses: 0,
      sources: ["tunes"],
      counts: {},
      changedOptions: [],
    });
  });

  test("the counters of a plugin continue when it is set up again", async () => {
    create({ name: "songs" });
    const found = load("songs:1");
    await settle();
    await threadOf("songs").ready(manifestOf("songs"));
    await answer("songs", { kind: "empty" });
    await found;
    expect(plugins.sourcesJson()).toMatchObject([{ loads: { succeeded: 1 }, state: "running" }]);
  });

  test("backends are reported with null where JSON has no undefined", async () => {
    create({ name: "songs" });
    void load("songs:1");
    await settle();
    const backend = {
      name: "api",
      state: "open",
      succeeded: 1,
      failed: 0,
      lastError: undefined,
      openUntilMs: undefined,
    } as const;
    threadOf("songs").say({ type: "report", backends: [backend], counts: { pages: 2 } });
    expect(plugins.sourcesJson()).toMatchObject([{ backends: [{ name: "api", lastError: null, openUntilMs: null }] }]);
    expect(plugins.pluginsJson()).toMatchObject([{ counts: { pages: 2 } }]);
  });
});

describe("starting", () => {
  const unknown = { isBuiltIn: false, manifest: undefined };

  test("the node starts without a plugin that cannot be set up, unless it is required", async () => {
    for (const isRequired of [false, true]) {
      create({ name: "a.mjs", ...unknown, isRequired });
      const started = plugins.start();
      started.catch(() => undefined);
      threads.last.say({ type: "unusable", name: undefined, problem: "no default export", areOptionsWrong: false });
      if (isRequired) await expect(started).rejects.toMatchObject({ code: "plugin-off" });
      else await started;
      expect(plugins.infos).toEqual([]);
    }
  });

  test("the start fails for a required plugin with a known error", async () => {
    create({ name: "a.mjs", ...unknown, isRequired: true, problem: "it is not installed" });
    const message = "the plugin a.mjs is off: it is not installed";
    await expect(plugins.start()).rejects.toMatchObject({ code: "plugin-off", message });
  });

  test("a plugin name that is taken, or has just been reported by another, is refused", async () => {
    create(
      { name: "songs" },
      { name: "a.mjs", ...unknown },
      { name: "b.mjs", ...unknown },
      { name: "c.mjs", ...unknown },
    );
    const started = plugins.start();
    const given = () => threads.started.map((thread) => thread.all("options")[0]?.given);
    for (const [index, name] of ["songs", "tunes", "tunes"].entries())
      threads.started[index]?.say({ type: "named", name });
    await settle();
    expect(given()).toEqual([
      { problem: "there is a plugin named songs already" },
      { options: { of: "b.mjs" }, changes: {}, persisted: [] },
      { problem: "there is a plugin named tunes already" },
    ]);
    for (const thread of threads.started)
      thread.say({ type: "unusable", name: undefined, problem: "as reported", areOptionsWrong: false });
    await started;
  });
});

describe("reloading a plugin by name", () => {
  test("a plugin is reloaded by name, and an unknown name gives undefined", async () => {
    create({ name: "songs" });
    expect(await plugins.reload("tunes")).toBeUndefined();
    const reloaded = plugins.reload("songs");
    const manifest: PluginManifest = manifestOf("songs", {
      version: "2.0.0",
      sources: [{ name: "other", prefixes: ["o:"], fields: [] }],
    });
    await threads.last.ready(manifest);
    expect(await reloaded).toMatchObject({ name: "songs", version: "2.0.0", state: "running", sources: ["other"] });
    expect(loader.sourceNames).toEqual(["other", "http"]);
    // Its own name does not conflict with itself.
    expect(threads.last.all("options")).toMatchObject([{ given: { options: {} } }]);
  });

  test("a failed reload rejects with plugin-off, and keeps the old plugin", async () => {
    create({ name: "songs" });
    const reloaded = plugins.reload("songs");
    threads.last.say({ type: "unusable", name: "songs", problem: "no", areOptionsWrong: false });
    await expect(reloaded).rejects.toMatchObject({ code: "plugin-off" });
    expect(loader.sourceNames).toEqual(["songs", "http"]);
  });
});

/** Options that the thread got after it reported its name. */
const givenTo = (thread: FakePluginThread) => thread.all("options")[0]?.given;

/** The next life of that plugin begins: what the thread is given. */
async function named(name: string): Promise<ReturnType<typeof givenTo>> {
  await settle();
  threadOf(name).say({ type: "named", name });
  await settle();
  return givenTo(threadOf(name));
}

describe("changing options", () => {
  test("changed options set the plugin up again, and the old one works until then", async () => {
    create({ name: "songs" });
    void load("songs:1");
    await settle();
    await threadOf("songs").ready(manifestOf("songs"));
    const [before] = threads.started;
    const changed = plugins.change("songs", { limit: 5, pot: { token: "hunter2" } });
    expect(await named("songs")).toEqual({
      options: { of: "songs" },
      changes: { limit: "5", pot: { token: "hunter2" } },
      persisted: [],
    });
    expect(before?.isEnded).toBe(false);
    await threadOf("songs").ready(manifestOf("songs", { ownServers: ["192.0.2.7:80"] }));
    const json = await changed;
    expect(json).toMatchObject({ name: "songs", state: "running", changedOptions: ["limit", "pot.token"] });
    expect(JSON.stringify([json, plugins.pluginsJson(), plugins.sourcesJson()])).not.toContain("hunter2");
    expect(await plugins.change("nobody", {})).toBeUndefined();
  });

  test("changed options hold for later lives of the plugin, whether idle, lost or reloaded, and accumulate", async () => {
    create({ name: "songs" });
    for (const [changes, all] of [
      [{ a: "1" }, { a: "1" }],
      [{ b: 2 }, { a: "1", b: "2" }],
      [{ a: null }, { b: "2" }],
    ] as const) {
      const changed = plugins.change("songs", changes);
      expect(await named("songs")).toMatchObject({ changes: all });
      await threadOf("songs").ready(manifestOf("songs"));
      await changed;
    }
    clock.advance(10 * 60_000);
    void load("songs:1");
    expect(await named("songs")).toMatchObject({ changes: { b: "2" } });
    threadOf("songs").exit(1);
    clock.advance(2000);
    void load("songs:2");
    expect(await named("songs")).toMatchObject({ changes: { b: "2" } });
    const reloaded = plugins.reload("songs");
    expect(await named("songs")).toMatchObject({ changes: { b: "2" } });
    await threadOf("songs").ready(manifestOf("songs"));
    await reloaded;
  });

  test("changed options allow tracks to reach the new own servers, and no longer the old ones", async () => {
    create({ name: "songs", manifest: manifestOf("songs", { ownServers: ["old.example:443"] }) });
    const linkTo = async (url: string) => {
      const found = plugins.link(requestFor(trackOf("songs")), { signal: SIGNAL });
      await answer("songs", { ...LINK, url });
      return found;
    };
    expect(await linkTo("https://old.example/1")).toMatchObject({ isOwnServer: true });
    const changed = plugins.change("songs", { site: "https://new.example" });
    await settle();
    await threadOf("songs").ready(manifestOf("songs", { ownServers: ["new.example:443"] }));
    await changed;
    expect(await linkTo("https://new.example/1")).toMatchObject({ isOwnServer: true });
    expect(await linkTo("https://old.example/1")).toMatchObject({ isOwnServer: false });
  });

  test.each([
    [
      "options are wrong",
      true,
      { code: "plugin-options-wrong", message: "plugins.songs.lmit: there is no such option" },
    ],
    [
      "set-up fails",
      false,
      {
        code: "plugin-off",
        message: expect.stringMatching(/^reloading the plugin songs failed: .*; the old one stays in use$/),
      },
    ],
  ])("changed options whose %s reports so, and nothing is changed", async (_what, areOptionsWrong, error) => {
    create({ name: "songs" });
    void load("songs:1");
    await settle();
    await threadOf("songs").ready(manifestOf("songs"));
    const changed = plugins.change("songs", { lmit: 1 });
    await settle();
    const problem = "plugins.songs.lmit: there is no such option";
    threadOf("songs").say({ type: "unusable", name: "songs", problem, areOptionsWrong });
    await expect(changed).rejects.toMatchObject(error);
    expect(plugins.pluginsJson()).toMatchObject([{ state: "running", changedOptions: [] }]);
    threads.started[0]?.exit(1);
    clock.advance(2000);
    void load("songs:2");
    expect(await named("songs")).toMatchObject({ changes: {} });
  });

  test("a thread that starts while options are tried gets the previous options", async () => {
    create({ name: "songs" });
    const changed = plugins.change("songs", { lmit: 1 });
    await settle();
    const [tried] = threads.started;
    void load("songs:1");
    expect(await named("songs")).toMatchObject({ changes: {} });
    tried?.say({ type: "unusable", name: "songs", problem: "no", areOptionsWrong: true });
    await expect(changed).rejects.toMatchObject({ code: "plugin-options-wrong" });
  });

  test("changed options fix a plugin that is off because of its options", async () => {
    create({ name: "songs", problem: "an option is wrong" });
    const changed = plugins.change("songs", { limit: 5 });
    await settle();
    await threadOf("songs").ready(manifestOf("songs"));
    expect(await changed).toMatchObject({ state: "running", trouble: null });
  });

  test("changes of options run one after the other, after a reload, and 16 wait at most", async () => {
    create({ name: "songs" });
    const reloaded = plugins.reload("songs");
    const changes = Array.from({ length: 16 }, (_, index) => plugins.change("songs", { [`a${index}`]: 1 }));
    await expect(plugins.change("songs", {})).rejects.toMatchObject({ code: "requests-busy" });
    const again = plugins.reload("songs");
    expect(threads.started).toHaveLength(1);
    for (let count = 0; count < 18; count++) {
      await settle();
      await threadOf("songs").ready(manifestOf("songs"));
    }
    await Promise.all([reloaded, ...changes, again]);
    expect(plugins.pluginsJson()[0]?.changedOptions).toHaveLength(16);
    expect(Object.keys((givenTo(threadOf("songs")) as { readonly changes: object }).changes)).toHaveLength(16);
  });
});

describe("persisted values of a plugin", () => {
  const VALUE = { cache: "ids", key: "a", json: '"1"', untilMs: Number.POSITIVE_INFINITY };

  test("a persisted value is given to the plugin's next thread, and to no other plugin", async () => {
    create({ name: "songs" }, { name: "tunes" });
    void load("songs:1");
    await named("songs");
    threadOf("songs").say({ type: "persist", value: VALUE });
    threadOf("songs").say({ type: "persist", value: { ...VALUE, key: "b" } });
    threadOf("songs").say({ type: "forget", cache: "ids", key: "b" });
    threadOf("songs").exit(1);
    clock.advance(2000);
    void load("songs:2");
    expect(await named("songs")).toMatchObject({ persisted: [VALUE] });
    void load("tunes:1");
    expect(await named("tunes")).toMatchObject({ persisted: [] });
  });

  test("a persisted value survives the node if a folder is configured", async () => {
    const folder = mkdtempSync(join(tmpdir(), "persisted-"));
    dataFolder = join(folder, "data");
    try {
      create({ name: "songs" });
      void load("songs:1");
      await expect.poll(() => named("songs")).toMatchObject({ persisted: [] });
      threadOf("songs").say({ type: "persist", value: VALUE });
      await plugins.close();
      create({ name: "songs" });
      void load("songs:1");
      await expect.poll(() => named("songs")).toMatchObject({ persisted: [VALUE] });
      expect(readdirSync(dataFolder)).toEqual(["songs.json"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("a call of a plugin", () => {
  test("a call of a plugin returns its answer", async () => {
    create({ name: "songs" });
    const called = plugins.call("songs", "login", { a: 1 });
    await settle();
    await threadOf("songs").ready(manifestOf("songs"));
    const [call] = threadOf("songs").all("call");
    expect(call).toMatchObject({ name: "login", argument: { a: 1 } });
    await threadOf("songs").reply({ kind: "return", value: "token" }, call?.requestId);
    expect(await called).toBe("token");
  });

  test("a call returns undefined if there is no such plugin, or it is off", async () => {
    create({ name: "songs", problem: "an option is wrong" });
    expect(await plugins.call("songs", "login", null)).toBeUndefined();
    expect(await plugins.call("tunes", "login", null)).toBeUndefined();
  });
});
