import { beforeEach, describe, expect, test } from "vitest";
import type { PluginEvent, PluginLinkRequest, PluginReply } from "../../../../src/bridge/plugin-messages.ts";
import { createLogger } from "../../../../src/log/log.ts";
import {
  type Json,
  type LoadRequest,
  type Playable,
  type ResolveRequest,
  type Source,
  type SourceAnswer,
  SourceError,
} from "../../../../src/plugin-api/plugin.ts";
import { currentWork } from "../../../../src/plugin-host/runtime/current-work.ts";
import { Extensions } from "../../../../src/plugin-host/runtime/host/extensions.ts";
import { HostPlayers } from "../../../../src/plugin-host/runtime/host/host-players.ts";
import { OwnLimitError } from "../../../../src/plugin-host/runtime/host/own-limit-error.ts";
import { PluginWorker } from "../../../../src/plugin-host/runtime/plugin-worker.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const OWNER = ["address test"];

const ENCODED = buildTrack({ sourceName: "songs", identifier: "one" }).encoded;
const TRACK: SourceAnswer = { kind: "track", track: { identifier: "one", title: "One", lengthMs: 1000 } };

let clock: FakeClock;
let worker: PluginWorker;
let events: PluginEvent[];
let lines: { readonly message: string; readonly fields: object }[];
let lastId: number;
let loads: LoadRequest[];
let resolves: ResolveRequest[];
/** The plugin's calls for routes of the node. */
let calls: Map<string, (argument: Json, signal: AbortSignal) => Promise<Json>>;
/** The source's load. */
let onLoad: (request: LoadRequest) => unknown;
let onResolve: (request: ResolveRequest) => unknown;

beforeEach(() => {
  clock = new FakeClock();
  [events, lines, loads, resolves, lastId] = [[], [], [], [], 0];
  calls = new Map();
  onLoad = () => TRACK;
  onResolve = () => link("https://cdn.example/1");
  const source: Source = {
    name: "songs",
    // Answers of a plugin without types are checked, too.
    load: async (request) => {
      loads.push(request);
      return (await onLoad(request)) as SourceAnswer;
    },
    resolve: async (request) => {
      resolves.push(request);
      return (await onResolve(request)) as Playable;
    },
  };
  const log = createLogger((_level, message, fields) => lines.push({ message, fields }));
  const players = new HostPlayers({ log, ask: () => Promise.reject(new Error("no")), send: () => undefined });
  const extensions = new Extensions("songs");
  worker = new PluginWorker({
    host: { sources: new Map([["songs", source]]), modifiers: [], calls, extensions, players },
    log,
    clock,
    hide: (text) => text.replaceAll("hunter2", "<redacted>"),
    send: (event) => events.push(structuredClone(event)),
    proxyUrl: undefined,
    userAgent: "Own/1",
    routeFor: () => undefined,
  });
});

function link(url: string, more: object = {}): Playable {
  return { kind: "link", url, ...more };
}

/** Asks, and returns the number of it. */
function load(identifier: string, { source = "songs", depth = 0 } = {}): number {
  worker.execute({ type: "load", requestId: ++lastId, source, identifier, depth, owner: OWNER });
  return lastId;
}

function resolve(linkRequest: Partial<PluginLinkRequest> = {}): number {
  const whole: PluginLinkRequest = { encoded: ENCODED, userData: {}, reason: "start", ...linkRequest };
  worker.execute({ type: "resolve", requestId: ++lastId, source: "songs", linkRequest: whole, owner: OWNER });
  return lastId;
}

/** The reply to it; undefined if there is none yet. */
async function answerTo(requestId: number): Promise<PluginEvent | undefined> {
  await settle();
  const found = events.filter((event) => "requestId" in event && event.requestId === requestId);
  expect(found.length).toBeLessThan(2);
  return found[0];
}

async function replyTo(requestId: number): Promise<PluginReply> {
  const answer = await answerTo(requestId);
  return answer?.type === "reply" ? answer.value : expect.fail(`${JSON.stringify(answer)} is no reply`);
}

async function troubleOf(requestId: number) {
  const answer = await answerTo(requestId);
  return answer?.type === "replyError" ? answer.error : expect.fail(`${JSON.stringify(answer)} is no error`);
}

/** A promise, and what settles it. */
function open<Value>() {
  let settleIt = (_value: Value): void => undefined;
  const promise = new Promise<Value>((resolveIt) => (settleIt = resolveIt));
  return { promise, settle: settleIt };
}

describe("loading an identifier", () => {
  test("equal concurrent loads are one", async () => {
    const answer = open<SourceAnswer>();
    onLoad = () => answer.promise;
    const ids = [load("one"), load("one"), load("two")];
    await settle();
    expect(loads.map(({ identifier }) => identifier)).toEqual(["one", "two"]);
    answer.settle(TRACK);
    for (const id of ids) expect(await replyTo(id)).toMatchObject({ kind: "track", track: { info: { title: "One" } } });
  });

  test("a load's result is cached for a minute", async () => {
    await replyTo(load("one"));
    clock.advance(59_999);
    expect(await replyTo(load("one"))).toMatchObject({ kind: "track" });
    expect(loads).toHaveLength(1);
    clock.advance(1);
    await replyTo(load("one"));
    expect(loads).toHaveLength(2);
  });

  test("a declined load, a failed one and a large list are not cached", async () => {
    const tracks = Array.from({ length: 2000 }, (_, index) => ({ identifier: String(index), title: "x".repeat(100) }));
    const answers = [undefined, new SourceError("busy", "429"), { kind: "search", tracks }];
    for (const answer of answers) {
      loads = [];
      onLoad = () => (answer instanceof Error ? Promise.reject(answer) : answer);
      for (let index = 0; index < 2; index++) await answerTo(load(`x${answers.indexOf(answer)}`));
      expect(loads).toHaveLength(2);
    }
    expect(await replyTo(load("x2"))).toMatchObject({ kind: "search", tracks: { count: 2000 } });
  });

  test("an empty result is cached, in each of its forms", async () => {
    for (const [identifier, found] of [
      ["a", { kind: "empty" }],
      ["b", { kind: "search", tracks: [] }],
    ] as const) {
      onLoad = () => found;
      expect(await replyTo(load(identifier))).toEqual({ kind: "empty" });
      await replyTo(load(identifier));
    }
    onLoad = () => Promise.reject(new SourceError("not-found", "404"));
    expect(await replyTo(load("c"))).toEqual({ kind: "empty" });
    await replyTo(load("c"));
    expect(loads).toHaveLength(3);
  });

  test("a load that a plugin makes to itself does not wait for itself", async () => {
    const depths: (number | undefined)[] = [];
    onLoad = async ({ identifier }) => {
      depths.push(currentWork()?.depth);
      if (loads.length === 1) await replyTo(load(identifier, { depth: 1 }));
      return TRACK;
    };
    const id = load("one");
    await settle();
    await settle();
    await settle();
    expect(await replyTo(id)).toMatchObject({ kind: "track" });
    expect(depths).toEqual([0, 1]);
  });

  test("a load ends with its last caller, which gets no answer, and leaves no line in the log", async () => {
    onLoad = ({ signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const [first, second] = [load("one"), load("one")];
    await settle();
    worker.abort(first);
    await settle();
    expect(loads[0]?.signal.aborted).toBe(false);
    worker.abort(second);
    await settle();
    expect(loads[0]?.signal.aborted).toBe(true);
    expect(events).toEqual([]);
    expect(lines).toEqual([]);
    worker.abort(99);
  });

  test("a load of an unknown source is an error without consequences", async () => {
    expect(await troubleOf(load("one", { source: "others" }))).toMatchObject({ code: "source-unavailable" });
  });
});

describe("failures of a plugin", () => {
  test.each([
    ["unavailable", "site-unavailable", "it is private"],
    ["invalid", "site-unavailable", "it is private"],
    ["busy", "site-busy", "songs: it is private"],
    ["changed", "site-changed", "songs: it is private"],
    ["unreachable", "site-unreachable", "songs: it is private"],
  ] as const)("a failure reaches the client when the site is %s", async (kind, code, message) => {
    onLoad = () => Promise.reject(new SourceError(kind, "it is private"));
    expect(await troubleOf(load("one"))).toMatchObject({ code, message });
    expect(lines).toEqual([]);
  });

  test("a limit of the plugin itself is not the site's failure", async () => {
    onLoad = () => Promise.reject(new OwnLimitError("too much waits"));
    expect(await troubleOf(load("one"))).toMatchObject({ code: "load-busy", message: "songs: too much waits" });
  });

  test("a resolve that finds nothing fails", async () => {
    onResolve = () => Promise.reject(new SourceError("not-found", "it was removed"));
    expect(await troubleOf(resolve())).toMatchObject({ code: "site-unavailable", message: "it was removed" });
  });

  test("a failure of the plugin itself is reported with its name, and logged", async () => {
    onLoad = () => Promise.reject(new TypeError("x is not a function"));
    const message = "songs: its plugin failed unexpectedly; the log has more";
    expect(await troubleOf(load("one"))).toMatchObject({ code: "plugin-failed", message, severity: "fault" });
    expect(lines).toMatchObject([
      { message: "source failed: unexpected error in its plugin", fields: { sourceName: "songs" } },
    ]);
  });

  test("a failure is reported without the secrets of the options", async () => {
    onLoad = () => Promise.reject(new SourceError("busy", "hunter2 is used up", { cause: new Error("of hunter2") }));
    const wire = await troubleOf(load("one"));
    expect(wire.message).toBe("songs: <redacted> is used up");
    expect(JSON.stringify(wire)).not.toContain("hunter2");
  });

  test("an answer that cannot leave the thread is the plugin's fault", async () => {
    onResolve = () => ({ kind: "link", url: "https://cdn.example/", variant: () => 1 });
    expect(await troubleOf(resolve())).toMatchObject({ code: "plugin-failed" });
  });

  test.each<[string, unknown]>([
    ["a number", 7],
    ["a text", "track"],
    ["nothing known", { kind: "tracks" }],
    ["no kind", {}],
    ["a track that is a number", { kind: "track", track: 7 }],
    ["no track", { kind: "track" }],
    ["a track without an identifier", { kind: "track", track: { title: "One" } }],
    ["tracks that are no list", { kind: "search", tracks: { length: 0 } }],
    ["tracks that are a text", { kind: "playlist", name: "x", tracks: "abc" }],
    ["no tracks", { kind: "search" }],
    ["a list with a hole", { kind: "search", tracks: [undefined] }],
    ["a reference to nothing", { kind: "reference" }],
    ["a long reference", { kind: "reference", identifier: "x".repeat(4097) }],
    [
      "much more than was asked",
      { kind: "track", track: { identifier: "a", title: "a", pluginInfo: { a: "x".repeat(70_000) } } },
    ],
    ["a value that is not JSON", { kind: "track", track: { identifier: "a", title: "a", pluginInfo: { a: 1n } } }],
  ])("an invalid answer fails as plugin-failed: %s", async (_what, answer) => {
    onLoad = () => answer;
    expect(await troubleOf(load("one"))).toMatchObject({ code: "plugin-failed" });
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a file", { kind: "link", url: "file:///etc/passwd" }],
    ["no address", { kind: "link" }],
    ["a long address", { kind: "link", url: `https://cdn.example/${"x".repeat(65_536)}` }],
    ["no time", { kind: "link", url: "https://cdn.example/", expiresAtMs: Number.NaN }],
    ["tiny steps", { kind: "link", url: "https://cdn.example/", rangeStep: { bytes: 65_535, by: "header" } }],
    ["huge steps", { kind: "link", url: "https://cdn.example/", rangeStep: { bytes: 2 ** 30 + 1, by: "header" } }],
    ["broken steps", { kind: "link", url: "https://cdn.example/", rangeStep: { bytes: 65_536.5, by: "header" } }],
    [
      "steps by an unknown method",
      { kind: "link", url: "https://cdn.example/", rangeStep: { bytes: 65_536, by: "post" } },
    ],
    ["an invalid variant", { kind: "link", url: "https://cdn.example/", variant: 7 }],
    ["a reference to nothing", { kind: "reference" }],
  ])("an invalid link fails as plugin-failed: it is %s", async (_what, answer) => {
    onResolve = () => answer;
    expect(await troubleOf(resolve())).toMatchObject({ code: "plugin-failed" });
  });

  test("the error for an invalid range step lists the valid ones", async () => {
    onResolve = () => link("https://cdn.example/", { rangeStep: { bytes: 4096, by: "header" } });
    expect(await troubleOf(resolve())).toMatchObject({ cause: expect.stringContaining("65536 to 1073741824 bytes") });
  });

  test("a plugin's secret is hidden before a long text is cut, so that no half of it remains", async () => {
    onLoad = () => {
      const text = `${"x".repeat(1996)}hunter2`;
      throw new SourceError("unavailable", text, { cause: new Error(text) });
    };
    const { message, cause, causeStackTrace } = await troubleOf(load("one"));
    expect(message).toBe(`${"x".repeat(1996)}<red…`);
    expect(`${cause}${causeStackTrace}`).not.toContain("hun");
  });
});

describe("links", () => {
  test("links are requested with the track's known data", async () => {
    await replyTo(resolve({ userData: { a: 1 }, reason: "refused", status: 403, variant: "r1" }));
    expect(resolves).toMatchObject([
      {
        track: { identifier: "one" },
        userData: { a: 1 },
        reason: "refused",
        status: 403,
        variant: "r1",
      },
    ]);
  });

  test("links are sent with headers in lower case, 50 at most, and without unknown members", async () => {
    const headers = {
      "User-Agent": "x",
      "X-None": undefined,
      ...Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`h${n}`, n])),
    };
    const rangeStep = { bytes: 65_536, by: "query", secret: 1 };
    onResolve = () => link("https://cdn.example/", { headers, rangeStep, more: 1, expiresAtMs: 5 });
    const found = await replyTo(resolve());
    const { headers: sent, ...rest } = found.kind === "link" ? found : expect.fail("no link");
    expect(sent).toMatchObject({ "user-agent": "x", h0: "0" });
    expect(Object.keys(sent)).toHaveLength(50);
    expect(rest).toEqual({
      kind: "link",
      url: "https://cdn.example/",
      container: undefined,
      variant: undefined,
      rangeStep: { bytes: 65_536, by: "query" },
      expiresAtEpochMs: 5,
      egress: "machine",
    });
  });

  test("a link to a part of the track says so", async () => {
    onResolve = () => link("https://cdn.example/", { isPreview: true });
    expect(await replyTo(resolve())).toMatchObject({ kind: "link", isPreview: true });
  });

  test("a link that names no User-Agent is requested with the plugin's", async () => {
    onResolve = () => link("https://cdn.example/", { headers: { Referer: "https://b.example/" } });
    expect(await replyTo(resolve())).toMatchObject({
      headers: { "user-agent": "Own/1", referer: "https://b.example/" },
    });
  });

  test("a link is cached until a minute before it expires", async () => {
    onResolve = () => link("https://cdn.example/", { expiresAtMs: clock.epochMs() + 100_000 });
    await replyTo(resolve());
    clock.advance(39_999);
    await replyTo(resolve());
    expect(resolves).toHaveLength(1);
    clock.advance(1);
    await replyTo(resolve());
    expect(resolves).toHaveLength(2);
  });

  test("a link that expires within a minute is given out once", async () => {
    onResolve = () => link("https://cdn.example/", { expiresAtMs: clock.epochMs() + 30_000 });
    expect(await replyTo(resolve())).toMatchObject({ kind: "link" });
    await replyTo(resolve());
    expect(resolves).toHaveLength(2);
  });

  test("a link without an expiry is valid for five minutes, and so is a reference", async () => {
    for (const found of [link("https://cdn.example/"), { kind: "reference", identifier: "x" }]) {
      resolves = [];
      onResolve = () => found;
      const userData = { found: resolves.length, kind: found.kind };
      await replyTo(resolve({ userData }));
      clock.advance(299_999);
      await replyTo(resolve({ userData }));
      expect(resolves).toHaveLength(1);
      clock.advance(1);
      await replyTo(resolve({ userData }));
      expect(resolves).toHaveLength(2);
    }
  });

  test("links are cached per track, including the client's user data", async () => {
    await replyTo(resolve());
    await replyTo(resolve({ userData: { quality: "low" } }));
    await replyTo(resolve({ encoded: buildTrack({ sourceName: "songs", identifier: "two" }).encoded }));
    expect(resolves).toHaveLength(3);
  });

  test.each(["refused", "expiring"] as const)(
    "a link that is %s is requested again, and the new one is given out",
    async (reason) => {
      let count = 0;
      onResolve = () => link(`https://cdn.example/${++count}`);
      expect(await replyTo(resolve())).toMatchObject({ url: "https://cdn.example/1" });
      expect(await replyTo(resolve({ reason }))).toMatchObject({ url: "https://cdn.example/2" });
      expect(await replyTo(resolve())).toMatchObject({ url: "https://cdn.example/2" });
      expect(await replyTo(resolve({ reason }))).toMatchObject({ url: "https://cdn.example/3" });
      expect(resolves.map((request) => request.reason)).toEqual(["start", reason, reason]);
    },
  );

  test("a link that many players report as refused at the same time is requested once", async () => {
    await replyTo(resolve());
    const found = open<Playable>();
    onResolve = () => found.promise;
    const ids = Array.from({ length: 20 }, () => resolve({ reason: "refused", status: 403 }));
    await settle();
    expect(resolves).toHaveLength(2);
    found.settle(link("https://cdn.example/2"));
    for (const id of ids) expect(await replyTo(id)).toMatchObject({ url: "https://cdn.example/2" });
  });

  test("a refused link is given to no one, also when there is no new one", async () => {
    await replyTo(resolve());
    onResolve = () => Promise.reject(new SourceError("unavailable", "no"));
    await troubleOf(resolve({ reason: "refused" }));
    await troubleOf(resolve());
    expect(resolves).toHaveLength(3);
  });

  test("an encoded track that cannot be read is an error of the client", async () => {
    expect(await troubleOf(resolve({ encoded: "nonsense" }))).toMatchObject({ code: "track-undecodable" });
  });
});

describe("a call", () => {
  function call(name: string, argument: Json = null): number {
    worker.execute({ type: "call", requestId: ++lastId, name, argument });
    return lastId;
  }

  test("a call returns the plugin's answer", async () => {
    calls.set("double", async (argument) => Number(argument) * 2);
    expect(await replyTo(call("double", 21))).toEqual({ kind: "return", value: 42 });
  });

  test("a failed call has the plugin's message, without its secrets", async () => {
    calls.set("login", () => Promise.reject(new SourceError("unavailable", "hunter2 was refused")));
    expect(await troubleOf(call("login"))).toMatchObject({
      code: "site-unavailable",
      message: "<redacted> was refused",
    });
  });

  test("a call whose caller no longer waits is aborted", async () => {
    let seen: AbortSignal | undefined;
    calls.set("wait", (_argument, signal) => {
      seen = signal;
      return new Promise(() => undefined);
    });
    const id = call("wait");
    await settle();
    worker.abort(id);
    expect(seen?.aborted).toBe(true);
  });

  test("a call of an unknown name is an error", async () => {
    expect(await troubleOf(call("nothing"))).toMatchObject({ message: "this plugin has no call nothing" });
  });
});
