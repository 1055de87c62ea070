import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { type LoadConfigOptions, loadConfig } from "../../../src/config/load-config.ts";
import { BUILT_IN_FOR_JAVA, hasJavaPlugin } from "../../../src/config/plugin-rules.ts";
import { NodeError } from "../../../src/errors.ts";

function load(text: string, given: Partial<LoadConfigOptions> = {}) {
  return loadConfig({
    args: [],
    env: {},
    cwd: "/app",
    readFile: (path) => (path === "/app/tonearm.yml" ? text : undefined),
    realPath: (path) => path,
    coreCount: 4,
    ...given,
  });
}

function mistakes(text: string, given: Partial<LoadConfigOptions> = {}): string[] {
  try {
    load(text, given);
  } catch (error) {
    if (error instanceof NodeError && error.code === "config-invalid") return error.message.split("\n  ").slice(1);
    throw error;
  }
  return [];
}

function options(text: string, given: Partial<LoadConfigOptions> = {}): unknown {
  return JSON.parse(JSON.stringify(load(text, given).config.plugins.options.reveal()));
}

describe("tonearm.plugins", () => {
  const entries = (text: string, given: Partial<LoadConfigOptions> = {}) => load(text, given).config.plugins.entries;

  test("plugin entries keep their order and get absolute paths and defaults", () => {
    const text = "tonearm.plugins: [{ path: ./a.ts, enabled: no }, { package: '@me/b', required: true }, { path: /c }]";
    expect(entries(text)).toEqual([
      { path: "/app/a.ts", isEnabled: false, isRequired: false },
      { package: "@me/b", isEnabled: true, isRequired: true },
      { path: "/c", isEnabled: true, isRequired: false },
    ]);
  });

  test("there are no plugin entries by default, nor with an empty list", () => {
    expect(entries("")).toEqual([]);
    expect(entries("tonearm.plugins: []")).toEqual([]);
  });

  test("variables and arguments replace the whole list", () => {
    const text = "tonearm.plugins: [{ package: a }, { package: b }]";
    const env = { TONEARM_PLUGINS_1_PATH: "y", TONEARM_PLUGINS_0_PACKAGE: "x", TONEARM_PLUGINS_0_REQUIRED: "true" };
    expect(entries(text, { env })).toEqual([
      { package: "x", isEnabled: true, isRequired: true },
      { path: "/app/y", isEnabled: true, isRequired: false },
    ]);
    expect(entries(text, { env, args: ["--tonearm.plugins[0].package=z"] })).toHaveLength(1);
  });

  test.each([
    ["[{ package: a, path: b }]", "either a package or a path"],
    ["[{ enabled: true }]", "either a package or a path"],
    ["[{ package: ../a }]", "a file or folder is a path"],
    ["[{ package: A }]", "a file or folder is a path"],
    ["[{ path: '' }]", "expected path to be a file or folder"],
    ["[{ path: a, enabled: maybe }]", "expected enabled to be true or false"],
    ["[{ path: a, reqired: true }]", 'an entry has no member "reqired"; did you mean required?'],
    ["[{ path: a, options: { x: 1 } }]", "expected a list of entries"],
    ["[a]", "expected a list of entries"],
    ["a", "expected a list of entries"],
    ["{ a: { path: b } }", "expected a list of entries"],
    ["[{ path: a }, { path: a }]", '"a" is listed twice'],
    [`[${Array.from({ length: 101 }, (_, index) => `{ path: p${index} }`).join(", ")}]`, "more than 100 entries"],
  ])("%s is a mistake", (list, message) => {
    const found = mistakes(`tonearm.plugins: ${list}`);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^tonearm.yml:1:\d+: tonearm.plugins: /);
    expect(found[0]).toContain(message);
  });

  test("a list of 100 entries is accepted", () => {
    const list = Array.from({ length: 100 }, (_, index) => `{ path: p${index} }`).join(", ");
    expect(entries(`tonearm.plugins: [${list}]`)).toHaveLength(100);
  });
});

test("an entry's proxy is secret; an invalid one is a mistake that does not quote it", () => {
  const { config } = load("tonearm.plugins: [{ path: /a, proxy: 'http://me:hunter2@192.0.2.2:3128/' }]");
  expect(config.plugins.entries[0]?.proxy?.reveal()).toBe("http://me:hunter2@192.0.2.2:3128");
  expect(inspect(config, { depth: 9 }) + JSON.stringify(config)).not.toContain("hunter2");
  const [mistake] = mistakes("tonearm.plugins: [{ path: /a, proxy: 'socks5://hunter2@192.0.2.2' }]");
  expect(mistake).toContain("expected proxy to be an address such as http://user:password@192.0.2.7:3128");
  expect(mistake).not.toContain("hunter2");
});

test("an entry's fallback is a list of search prefixes, or one text", () => {
  const read = (text: string) =>
    load(`tonearm.plugins: [{ path: /a, fallback: ${text} }]`).config.plugins.entries[0]?.fallback;
  expect([read("[scsearch, 'bcsearch:']"), read("scsearch"), read("[]")]).toEqual([
    ["scsearch", "bcsearch"],
    ["scsearch"],
    [],
  ]);
  for (const wrong of ["[a, b, c, d, e, f]", "two words", "[{ a: b }]"]) {
    expect(mistakes(`tonearm.plugins: [{ path: /a, fallback: ${wrong} }]`).join()).toContain("expected");
  }
});

describe("plugins.<name>", () => {
  test("options are texts, lists and maps as they were written", () => {
    const text = "plugins.x: { n: 007, on: true, list: [a, [b], { c: d }], empty: [], none: ~, deep: { Er: 'y z' } }";
    expect(options(text)).toEqual({
      x: { n: "007", on: "true", list: ["a", ["b"], { c: "d" }], empty: "", deep: { Er: "y z" } },
    });
  });

  test("a variable sets one option and leaves the others", () => {
    const text = "plugins: { youtube: { allowSearch: true, clients: [A, B], remoteCipher: { url: u, password: p } } }";
    const env = {
      PLUGINS_YOUTUBE_ALLOWSEARCH: "false",
      plugins_youtube_clients_0: "C",
      PLUGINS_YOUTUBE_REMOTECIPHER_PASSWORD: "q",
    };
    expect(options(text, { env, args: ["--plugins.youtube.remote-cipher.password=r"] })).toEqual({
      youtube: { remoteCipher: { url: "u", password: "r" }, allowsearch: "false", clients: ["C"] },
    });
  });

  test("variables may set the entries of a list in any order", () => {
    const env = { PLUGINS_X_LIST_10: "c", PLUGINS_X_LIST_2: "b", PLUGINS_X_LIST_0: "a" };
    expect(options("", { env })).toEqual({ x: { list: ["a", "b", "c"] } });
  });

  test("a text and what stands below the same name replace each other", () => {
    expect(options("plugins.x: { a: 1, b: { c: 1 } }", { args: ["--plugins.x.a.b=2", "--plugins.x.b=2"] })).toEqual({
      x: { a: { b: "2" }, b: "2" },
    });
    expect(options("plugins.x: { a: 1, a.b: 2, c.d: 1, c: 2 }")).toEqual({ x: { a: { b: "2" }, c: "2" } });
  });

  test("names of plugins are found in any spelling, and only those that were written", () => {
    expect(options("plugins: { My-Plugin: { a: 1 } }", { env: { PLUGINS_MYPLUGIN_B: "2" } })).toEqual({
      myplugin: { a: "1", b: "2" },
    });
    const tree = load("plugins.x: { __proto__: { a: 1 } }").config.plugins.options.reveal();
    expect("constructor" in tree).toBe(false);
    expect(Object.keys(tree.x ?? {})).toEqual(["__proto__"]);
  });

  test("are frozen and print as <redacted>", () => {
    const { config } = load("plugins: { youtube: { token: hunter2 } }");
    const tree = config.plugins.options.reveal();
    expect(Object.isFrozen(tree) && Object.isFrozen(tree.youtube)).toBe(true);
    for (const print of [JSON.stringify(config), inspect(config, { depth: 9 }), `${config.plugins.options}`]) {
      expect(print).not.toContain("hunter2");
      expect(print).toContain("<redacted>");
    }
  });

  test("a text where options belong is warned of without showing it", () => {
    const { warnings } = load("plugins: { youtube: hunter2 }", { env: { PLUGINS_DIR: "/hunter2" } });
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).toContain("plugins: expected options below the name of a plugin");
    expect(warnings.join()).not.toContain("hunter2");
  });

  test("more than 32 nested names are a mistake, 32 are accepted", () => {
    const variable = (depth: number) => ({ env: { [`PLUGINS${"_A".repeat(depth)}`]: "hunter2" } });
    expect(mistakes("", variable(32))).toEqual([]);
    expect(mistakes("", variable(33))[0]).toMatch(/: plugins: more than 32 names below each other$/);
  });

  test("options that no plugin uses are reported; those of built-in plugins and of entries are not", () => {
    const text = "plugins: { xm: { a: 1 }, youtube: { a: 1 }, my-own: { a: 1 } }";
    expect(load(text)).toMatchObject({
      warnings: [
        "no effect, because Tonearm has no such plugin and tonearm.plugins is empty: plugins.xm, plugins.myown",
      ],
      notes: [],
    });
    expect(load(`${text}\ntonearm.plugins: [{ package: "@me/tonearm-my-own" }]`)).toMatchObject({
      warnings: [],
      notes: ["no effect unless a plugin in tonearm.plugins has this name: plugins.xm"],
    });
  });
});

describe("tonearm.pluginDataPath", () => {
  const dataPath = (text: string) => load(text).config.plugins.dataPath;

  test("is where the node was started where it is relative, and nowhere unless it is set", () => {
    expect(dataPath("tonearm.pluginDataPath: ./data")).toBe("/app/data");
    expect(dataPath("tonearm.pluginDataPath: /var/lib/tonearm")).toBe("/var/lib/tonearm");
    expect([dataPath(""), dataPath('tonearm.pluginDataPath: ""')]).toEqual([undefined, undefined]);
  });
});

describe("lavalink.plugins", () => {
  const list = (...dependencies: string[]) =>
    `lavalink.plugins: [${dependencies.map((text) => `{ dependency: "${text}", snapshot: false }`).join(", ")}]`;

  test("the artifacts of Java plugins are known, each once", () => {
    const text = list("dev.lavalink.youtube:youtube-plugin:1.18.1", "a:YouTube-Plugin:2", "broken", "x:y z:1");
    const { config, warnings } = load(text);
    expect(config.plugins.javaNames).toEqual(["dev.lavalink.youtube:youtube-plugin", "a:youtube-plugin"]);
    expect(hasJavaPlugin(config.plugins, "lavasrc-plugin", "youtube-plugin")).toBe(true);
    expect(hasJavaPlugin(config.plugins, "lavasrc-plugin")).toBe(false);
    expect(warnings).toEqual([]);
    const env = { LAVALINK_PLUGINS_0_DEPENDENCY: "a:b:1" };
    expect(load("", { env }).config.plugins.javaNames).toEqual(["a:b"]);
  });

  test("Java plugins without a built-in replacement are warned of, once", () => {
    const known = Object.keys(BUILT_IN_FOR_JAVA).map((name) => (name.includes(":") ? `${name}:1` : `g:${name}:1`));
    expect(load(list("a:b:1", ...known, "C:D:1")).warnings).toEqual([
      "lavalink.plugins: Java plugins cannot run in Tonearm (remove them; docs/plugins.md says how to replace one), " +
        "and it has no built-in replacement for a:b, c:d",
    ]);
  });

  test("Java plugins with a partial built-in replacement are noted with that part", () => {
    const text = list("com.github.topi314.lavasrc:lavasrc-plugin:4.8.3", "com.dunctebot:skybot-lavalink-plugin:1.7.1");
    const { warnings, notes } = load(text);
    expect(warnings).toEqual([]);
    expect(notes).toEqual([
      "lavalink.plugins: instead of lavasrc-plugin, Tonearm has only Spotify, Apple Music, Deezer, Tidal, JioSaavn, " +
        "flowery-tts and ytdlp built in",
      "lavalink.plugins: instead of skybot-lavalink-plugin, Tonearm has only speak and getyarn.io built in",
    ]);
    const speech = load(list("com.dunctebot:tts-plugin:1"));
    expect([speech.warnings, speech.notes]).toEqual([[], [expect.stringContaining("voices of Google Translate")]]);
    expect(load(list("dev.schlaubi.lyrics:lavalink:2.5.0", "a:lavalink:1"))).toMatchObject({
      warnings: [expect.stringMatching(/ for a:lavalink$/)],
      notes: [expect.stringMatching(/instead of dev\.schlaubi\.lyrics:lavalink, .* the lyrics routes of lavalyrics/)],
    });
  });

  test("the names of Lavalink's plugins are no mistake, and those of further plugins where there are any", () => {
    const text = "plugins: { lyrics: { a: 1 }, tts: { a: 1 }, lavalink-filter-plugin: { a: 1 } }";
    expect(load(text)).toMatchObject({ warnings: [], notes: [] });
    expect(load(`${text}\ntonearm.plugins: [{ path: lyrics.mjs }]`)).toMatchObject({
      warnings: [],
      notes: ["no effect unless a plugin in tonearm.plugins has this name: plugins.tts, plugins.lavalinkfilterplugin"],
    });
  });

  test("what stands for a Java plugin is a built-in plugin", () => {
    const names = new Set(Object.values(BUILT_IN_FOR_JAVA).flat());
    expect(load([...names].map((name) => `plugins.${name}.a: 1`).join("\n")).warnings).toEqual([]);
  });
});

describe("tonearm.hosts", () => {
  const hosts = (text: string, given: Partial<LoadConfigOptions> = {}) => load(text, given).config.hosts;

  test("base URLs by host, without a slash at the end", () => {
    const text = "tonearm.hosts: { WWW.Example.com: 'http://127.0.0.1:80/', a-v2.test: https://m.test/x/ }";
    expect(hosts(text)).toEqual({ "www.example.com": "http://127.0.0.1", "a-v2.test": "https://m.test/x" });
  });

  test("variables complete them host by host", () => {
    const env = { TONEARM_HOSTS_WWW_EXAMPLE_COM: "http://b.test", TONEARM_HOSTS_C_TEST: "http://c.test" };
    expect(hosts("tonearm.hosts: { www.example.com: http://a.test, d: http://d.test }", { env })).toEqual({
      "www.example.com": "http://b.test",
      "c.test": "http://c.test",
      d: "http://d.test",
    });
  });

  test.each([
    ["a.test: ftp://b.test", "expected an address"],
    ["a.test: b.test", "expected an address"],
    ["a.test: http://b.test?x=1", "expected an address"],
    ["a.test: http://user:hunter2@b.test", "expected an address"],
    [`a.test: http://${"u".repeat(80)}:hunter2@b.test`, "expected an address"],
    ["'a b': http://b.test", 'expected a host name such as www.example.com, found "a b"'],
    ["'a/b': http://b.test", "expected a host name"],
  ])("%s is a mistake", (member, message) => {
    const found = mistakes(`tonearm.hosts: { ${member} }`);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
    expect(found[0]).not.toContain("hunter2");
  });
});

test("plugins stay as they are loaded, unless tonearm.pluginReloadOnChange", () => {
  expect(load("").config.plugins.isReloadedOnChange).toBe(false);
  expect(load("tonearm.pluginReloadOnChange: true").config.plugins.isReloadedOnChange).toBe(true);
});

describe("sources that Lavalink has", () => {
  test("are switched by its keys, with its defaults", () => {
    expect(load("").config).toMatchObject({
      sources: {
        http: true,
        local: false,
        bandcamp: true,
        soundcloud: true,
        twitch: true,
        youtube: undefined,
        vimeo: undefined,
        nico: undefined,
      },
      soundcloud: { isSearchEnabled: true, isPreviewLeftOut: false },
      youtube: { playlistPagesMax: 6 },
    });
    const text = [
      "lavalink.server:",
      "  sources: { bandcamp: false, soundcloud: false, twitch: false }",
      "  soundcloudSearchEnabled: false",
      "  soundcloudFilterOutPreviewTracks: true",
      "  youtubePlaylistLoadLimit: 2",
    ].join("\n");
    expect(load(text)).toMatchObject({
      config: {
        sources: { bandcamp: false, soundcloud: false, twitch: false },
        soundcloud: { isSearchEnabled: false, isPreviewLeftOut: true },
        youtube: { playlistPagesMax: 2 },
      },
      warnings: [],
      notes: [],
    });
  });

  test("those that other plugins play are known as they are written, also in variables", () => {
    const { config, notes } = load("lavalink.server.sources: { youtube: false, vimeo: false, nico: true }");
    expect(config.sources).toMatchObject({ youtube: false, vimeo: false, nico: true });
    expect(notes).toEqual([]);
    const { sources } = load("", { env: { LAVALINK_SERVER_SOURCES_YOUTUBE: "true" } }).config;
    expect(sources.youtube).toBe(true);
  });

  test.each([
    ["sources.local: true", /tonearm\.local\.roots is not set: only files below \S+, where the node was started/],
    ["sources.local: true\ntonearm.local.roots: []", /tonearm\.local\.roots is empty: no file can be played/],
    ["sources.local: true\ntonearm.local.roots: [/srv]", undefined],
    ["sources.local: false", undefined],
  ])("files without folders to look in are warned of: %j", (text, expected) => {
    const { warnings } = load(`lavalink.server.${text}`);
    expect(warnings).toEqual(expected === undefined ? [] : [expect.stringMatching(expected)]);
  });
});
