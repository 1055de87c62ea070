import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { definePlugin, type Plugin, type PluginHost, SourceError } from "../../../../src/plugin-api/plugin.ts";
import { readPart } from "../../../../src/track/written-tracks.ts";
import { extendedPlugin } from "../../../support/extended-plugin.ts";
import { PluginBench, troubleWith } from "../../../support/plugin-bench.ts";

let bench: PluginBench;
beforeEach(async () => {
  bench = await PluginBench.start(extendedPlugin);
});
afterEach(() => bench.close());

describe("a search", () => {
  test("a search has the plugin's tracks with its pluginInfo, and lists as LavaSrc describes them", async () => {
    const { tracks, ...lists } = await bench.search("xsearch:harbour");
    expect(tracks.parts.flatMap(readPart)).toMatchObject([
      { info: { title: "First Light", sourceName: "songs" }, pluginInfo: { isExtended: true } },
    ]);
    const list = (type: string) => ({
      name: "Harbour",
      pluginInfo: {
        type,
        url: "https://songs.example/harbour",
        artworkUrl: null,
        author: "Mira Vale",
        totalTracks: 9,
      },
    });
    const artist = { type: "artist", url: null, artworkUrl: null, author: null, totalTracks: null };
    expect(lists).toEqual({
      kind: "found",
      albums: [list("album")],
      artists: [{ name: "Mira Vale", pluginInfo: artist }],
      playlists: [list("playlist")],
      texts: [{ text: "harbour lights", pluginInfo: { rank: 1 } }],
    });
  });

  test("lists of kinds that nobody wants are dropped", async () => {
    const { tracks, albums, texts } = await bench.search("xsearch:harbour", ["text"]);
    expect([tracks.count, albums.length, texts.length]).toEqual([0, 0, 1]);
  });

  test("a search that finds nothing has empty lists, and a broken one is a fault of the plugin", async () => {
    expect((await bench.search("xsearch:nothing")).albums).toEqual([]);
    expect(await troubleWith(bench.search("xsearch:broken"))).toMatchObject({
      code: "plugin-failed",
      message: expect.stringContaining("songs"),
    });
  });
});

describe("lyrics", () => {
  test("lyrics are sorted by time and complete, and the plugin gets the fields of its own tracks", async () => {
    const [track] = await bench.loadTracks("songs", "song:1");
    expect(await bench.lyrics(track?.encoded ?? "")).toEqual({
      sourceName: "extended",
      provider: null,
      text: "First Light\nlabel ",
      lines: [
        { timestamp: 1000, duration: 500, line: "First Light" },
        { timestamp: 2000, duration: null, line: "label " },
      ],
    });
  });

  test("lyrics without a word are none, and too many lines are cut", async () => {
    const line = { timestampMs: 1, line: "x".repeat(1000) };
    for (const [lyrics, count] of [
      [{ sourceName: "x" }, undefined],
      [{ sourceName: "x", text: "  ", lines: [{ timestampMs: 1, line: "" }] }, undefined],
      [{ sourceName: "x", lines: Array.from({ length: 9000 }, () => ({ timestampMs: 1, line: "a" })) }, 5000],
      [{ sourceName: "x", lines: Array.from({ length: 1000 }, () => line) }, 262],
    ] as const) {
      const odd = await start((host) => host.addLyricsProvider({ name: "odd", load: async () => lyrics }));
      const found = await odd.lyrics({ identifier: "1", title: "x", lengthMs: 1 });
      expect(found?.lines?.length).toBe(count);
      odd.close();
    }
  });
});

describe("a route", () => {
  test("a route's answer has its status and its JSON", async () => {
    const path = "/v4/extended/rooms/:room";
    expect(await bench.serve(path, { segments: { room: "a" }, query: { limit: 5 } })).toEqual({
      kind: "served",
      status: 200,
      json: { room: "a", limit: 5, order: null },
    });
    expect(await bench.serve(path, { method: "DELETE" })).toEqual({ kind: "served", status: 204 });
  });

  test("a SourceError and a refusal are answers, everything else is a fault of the plugin", async () => {
    const serve = (room: string) => bench.serve("/v4/extended/rooms/:room", { segments: { room } });
    expect(await serve("gone")).toEqual({ kind: "served", status: 404, message: "no such room" });
    expect(await serve("full")).toEqual({ kind: "served", status: 409, message: "the room is full" });
    for (const room of ["broken", "wrong"]) {
      expect(await troubleWith(serve(room))).toMatchObject({ code: "plugin-failed" });
    }
  });
});

test("a route that another version of the plugin does not have, or only for others, is not served", async () => {
  const ask = (path: string, request?: object) => troubleWith(bench.serve(`/v4/extended/rooms${path}`, request));
  const gone = { code: "plugin-lost", message: expect.stringContaining("no longer has this route") };
  expect(await ask("")).toMatchObject(gone);
  expect(await ask("/:room", { method: "POST" })).toMatchObject(gone);
  expect(await ask("/:room", { method: "PUT", access: "client" })).toMatchObject(gone);
});

test("a provider that another version of the plugin has under another name is not asked", async () => {
  const gone = (what: string) => ({
    code: "plugin-lost",
    message: expect.stringContaining(`no longer has this ${what}`),
  });
  expect(await troubleWith(bench.search("xsearch:harbour", ["track"], "limited"))).toMatchObject(gone("search"));
  const [track] = await bench.loadTracks("songs", "song:1");
  expect(await troubleWith(bench.lyrics(track?.encoded ?? "", "limited"))).toMatchObject(gone("lyrics"));
});

test("the messages of a route are cut, and have no secret of the plugin", async () => {
  const config = { key: { type: "secret", meaning: "key of the site" } } as const;
  const setup = (host: PluginHost): void => {
    const rest = { method: "GET", summary: "x" } as const;
    const message = `/api/hunter2-key/tracks failed ${"x".repeat(5000)}`;
    host.addRoute({ ...rest, path: "/a", handle: async () => ({ status: 409, message }) });
    host.addRoute({ ...rest, path: "/b", handle: () => Promise.reject(new SourceError("busy", message)) });
  };
  const plugin = definePlugin({ name: "odd", version: "1.0.0", apiVersion: 1, config, setup });
  const secretive = await PluginBench.start(plugin, { options: { key: "hunter2-key" } });
  for (const path of ["/v4/odd/a", "/v4/odd/b"]) {
    const { message } = await secretive.serve(path);
    expect(message).toMatch(/^\/api\/<redacted>\/tracks failed x+$/);
    expect(message).toHaveLength(4096);
  }
  secretive.close();
});

describe("registering", () => {
  const handle = async () => ({ json: null });
  const route = { method: "GET", path: "/a", summary: "x", handle } as const;
  const search = async () => undefined;
  const load = async () => undefined;
  const source = { name: "s", load, resolve: async () => ({ kind: "link" as const, url: "" }) };

  test.each([
    ["no path", (host: PluginHost) => host.addRoute({ ...route, path: "" }), "1 to 8 segments"],
    ["a path that climbs", (host: PluginHost) => host.addRoute({ ...route, path: "/../info" }), "1 to 8 segments"],
    ["a parameter twice", (host: PluginHost) => host.addRoute({ ...route, path: "/:a/:a" }), "names a parameter twice"],
    ["a body of GET", (host: PluginHost) => host.addRoute({ ...route, body: {} }), "GET has no body"],
    ["no summary", (host: PluginHost) => host.addRoute({ ...route, summary: "" }), "summary"],
    [
      "a secret in the query",
      (host: PluginHost) => host.addRoute({ ...route, query: { key: { type: "secret", meaning: "" } } }),
      "key must not be in the query",
    ],
    [
      "one route twice",
      (host: PluginHost) => {
        host.addRoute({ ...route, path: "/:a" });
        host.addRoute({ ...route, path: "/:b" });
      },
      "GET /:b was added twice",
    ],
    [
      "a provider without its source",
      (host: PluginHost) => host.addSearchProvider({ source: "s", prefixes: ["a:"], search }),
      "add the source s first",
    ],
    [
      "a prefix without a colon",
      (host: PluginHost) => {
        host.addSource(source);
        host.addSearchProvider({ source: "s", prefixes: ["a"], search });
      },
      '"a" is not a prefix',
    ],
    ["lyrics without a name", (host: PluginHost) => host.addLyricsProvider({ name: "", load }), "a name of 1 to 64"],
  ])("%s is refused with its reason", async (_what, setup, reason) => {
    await expect(start(setup)).rejects.toThrow(reason);
  });

  const knot: Record<string, unknown> = { type: "groups", meaning: "x" };
  knot.members = { knot };

  test.each<[string, unknown, string]>([
    ["that is none", 7, "query is an object"],
    ["of an unknown type", { a: { type: "string", meaning: "x" } }, "query.a: the type is one of text, secret"],
    ["with an option that is none", { a: null }, "query.a: the type is one of"],
    ["without a meaning", { a: { type: "text" } }, "query.a: meaning is a text"],
    ["with a choice of nothing", { a: { type: "choice", meaning: "x" } }, "query.a: names is a list of texts"],
    ["with names that are none", { a: { type: "texts", meaning: "x", names: [1] } }, "query.a: names is a list"],
    ["without bounds", { a: { type: "integer", meaning: "x", max: 1 } }, "query.a: min and max are finite"],
    ["without an end", { a: { type: "number", meaning: "x", min: 0, max: 1 / 0 } }, "query.a: min and max are finite"],
    ["with a wrong default", { a: { type: "texts", meaning: "x", default: 5 } }, "query.a: the default"],
    ["without members", { a: { type: "group", meaning: "x" } }, "query.a is an object"],
    ["that contains itself", { knot }, "query.knot.knot contains itself"],
    [
      "with too many options",
      Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`a${index}`, { type: "flag", meaning: "x" }])),
      "query has more than 500 options",
    ],
  ])("a schema %s is refused with the place that is wrong", async (_what, schema, reason) => {
    const wrong = { ...route, query: schema } as never; // a plugin may be JavaScript
    await expect(start((host) => host.addRoute(wrong))).rejects.toThrow(`addRoute: ${reason}`);
    const inBody = { ...route, method: "PUT", body: schema } as never;
    await expect(start((host) => host.addRoute(inBody))).rejects.toThrow(reason.replace("query", "body"));
  });

  test.each(["/b/c", "/:any/c", "/oddly"])("the path %s below players is not the plugin's", async (path) => {
    const ofPlayer = { needs: "session" } as const;
    await expect(start((host) => host.addRoute({ ...route, path, ofPlayer }))).rejects.toThrow(
      "addRoute: a path below players starts with /odd",
    );
    const setup = (host: PluginHost) => host.addRoute({ ...route, path: "/odd/c", ofPlayer });
    expect((await start(setup)).manifest.routes).toHaveLength(1);
    await expect(start(setup, "lyrics")).rejects.toThrow("/lyrics below players is the node's own; rename the plugin");
  });

  test("a plugin cannot have routes where the node has its own", async () => {
    const setup = (host: PluginHost) => host.addRoute(route);
    await expect(start(setup, "sessions")).rejects.toThrow("/v4/sessions is the node's own; rename the plugin");
    expect((await start(setup, "free")).manifest.routes).toMatchObject([{ path: "/v4/free/a", access: "operator" }]);
  });
});

function start(setup: (host: PluginHost) => void, name = "odd"): Promise<PluginBench> {
  const plugin: Plugin = definePlugin({ name, version: "1.0.0", apiVersion: 1, config: {}, setup });
  return PluginBench.start(plugin);
}
