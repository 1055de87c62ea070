import { describe, expect, test } from "vitest";
import { BUILTIN_PLUGINS, type BuiltinPlugin } from "../../../../plugins/builtin.ts";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { lyricsOrderOf, type PlanOptions, planPlugins } from "../../../../src/plugin-host/plan/plugin-plans.ts";
import { reportSources } from "../../../../src/plugin-host/plan/source-report.ts";

const FOLDER = new URL("file:///app/plugins/");

function builtin(more: Partial<BuiltinPlugin> = {}): BuiltinPlugin {
  return {
    manifest: {
      name: "songs",
      version: "1.0.0",
      sources: [{ name: "songs", prefixes: ["songs:"] }],
      config: {
        limit: { type: "integer", default: 10, min: 1, max: 50, meaning: "x" },
        site: { type: "server", meaning: "x" },
      },
    },
    rank: "first",
    module: "songs/plugin.js",
    isOn: () => true,
    ...more,
  };
}

function configOf(text: string) {
  const { config } = loadConfig({
    args: [],
    env: {},
    cwd: "/app",
    realPath: (path: string) => path,
    coreCount: 4,
    readFile: (path) => (path === "/app/tonearm.yml" ? text : undefined),
  });
  return config;
}

function plan(text: string, { builtins = [builtin()], ...more }: Partial<PlanOptions> = {}) {
  return planPlugins(configOf(text), { cwd: "/nowhere", builtinFolder: FOLDER, builtins, ...more });
}

describe("a built-in plugin", () => {
  test("the hosts of YouTube's audio belong to its site, so that a ban of one counts for all", () => {
    const youtube = plan("plugins: { youtube: { enabled: true } }", { builtins: BUILTIN_PLUGINS }).find(
      ({ name }) => name === "youtube",
    );
    expect(youtube?.siteHosts).toEqual(expect.arrayContaining(["youtube.com", "googlevideo.com"]));
  });

  test.each([
    ["plugins.lrclib.contact: me@bot.example", true],
    ["plugins.lavasrc.lyrics-sources.lrcLib: true", true],
    ['lavalink.plugins: [{ dependency: "com.github.topi314.lavalyrics:lavalyrics-plugin:1.0.0" }]', true],
    ['lavalink.plugins: [{ dependency: "me.duncte123:java-lyrics-plugin:1" }]', true],
    ["{ plugins: { lrclib: { contact: a, enabled: false } } }", false],
    ['lavalink.plugins: [{ dependency: "dev.schlaubi.lyrics:lavalink:2.5.0" }]', true],
    ["plugins.lavalyrics.sources: [spotify]", true],
    ["plugins.lavalyrics.sources: []", false],
    ["plugins.lyrics.countryCode: de", true],
    ["{ plugins: { lyrics: { a: b } }, tonearm: { plugins: [{ path: lyrics.mjs }] } }", false],
    ["plugins: { lavalyrics: { sources: [lrcLib] }, lavasrc: { lyrics-sources: { lrcLib: false } } }", false],
    ["plugins: { lrclib: { enabled: true }, lavasrc: { lyrics-sources: { lrcLib: false } } }", true],
    ["plugins.lavasrc.lyrics-sources: { lrcLib: false, spotify: true }", false],
    ["{}", false],
  ])("with %s LRCLIB is on: %s", (text, isOn) => {
    const lrclib = plan(text, { builtins: BUILTIN_PLUGINS }).find(({ name }) => name === "lrclib");
    expect(lrclib !== undefined).toBe(isOn);
    if (isOn) expect(lrclib?.manifest?.lyricsProviders).toEqual([{ name: "lrclib" }]);
  });

  test("sources of lyrics that a configuration asks for and that are not here are named", () => {
    const linesOf = (text: string) => {
      const config = configOf(`plugins.lavasrc.lyrics-sources: ${text}`);
      return reportSources({ config, plans: [] }, []).filter(({ level }) => level === "warn");
    };
    expect(linesOf("{ spotify: true, deezer: false, lrcLib: true }")).toEqual([
      {
        level: "warn",
        message:
          "plugins.lavasrc.lyrics-sources.spotify is true, but Tonearm has no lyrics of it (set" +
          " plugins.lavasrc.lyrics-sources.lrcLib: true)",
      },
    ]);
    expect(linesOf("{ lrc-lib: true }")).toEqual([]);
  });

  const infosOf = (text: string): string[] => {
    const config = configOf(text);
    const plans = plan(text, { builtins: BUILTIN_PLUGINS });
    const lines = reportSources({ config, plans }, []).filter(({ level }) => level === "info");
    return lines.map(({ message }) => message);
  };

  test("options of Lavalink's plugins that are not read are named in one line, unless a further plugin may have them", () => {
    const text =
      "plugins: { lavasearch: { a: 1 }, lavalink-filter-plugin: { a: 1 }, lyrics: { a: 1 }, tts: { a: '' } }";
    const infos = infosOf(text);
    expect(infos).toContain("lyrics: LRCLIB (lrclib.net; plugins.lrclib.enabled: false turns it off)");
    expect(infos.filter((line) => line.startsWith("no effect"))).toEqual([
      "no effect in Tonearm: plugins.lavalink-filter-plugin, plugins.lavasearch, the options of plugins.lyrics",
    ]);
    expect(infosOf(`${text}\ntonearm.plugins: [{ path: ./mine.mjs }]`).join()).not.toContain("no effect");
  });

  test("lyrics of a plugin whose set-up failed are not among those that there are", () => {
    const text =
      "plugins: { lrclib.enabled: true, lavalyrics.sources: [subsonic], subsonic: { servers: [{ url: 7 }] } }";
    expect(infosOf(text)).toContain("lyrics: LRCLIB (lrclib.net; plugins.lrclib.enabled: false turns it off)");
    expect(infosOf(text)).toContain("no effect in Tonearm: subsonic in plugins.lavalyrics.sources");
  });

  test("the order of lyrics providers is read as a list or as one text", () => {
    const orderOf = (text: string) => lyricsOrderOf(configOf(text));
    expect(orderOf("plugins.lavalyrics.sources: [lrcLib, spotify]")).toEqual(["lrcLib", "spotify"]);
    expect(orderOf("plugins.lavalyrics.sources: lrcLib, deezer")).toEqual(["lrcLib", "deezer"]);
    expect(orderOf("plugins.lavalyrics.sources: { a: 1 }")).toEqual([]);
    expect(orderOf("{}")).toEqual([]);
  });

  test("a built-in plugin is known before it starts", () => {
    const [songs] = plan("tonearm.hosts: { a.example: http://127.0.0.1:1/ }");
    expect(songs).toMatchObject({
      name: "songs",
      rank: "first",
      isBuiltIn: true,
      isRequired: false,
      problem: undefined,
      manifest: {
        name: "songs",
        version: "1.0.0",
        aliases: [],
        ownServers: [],
        sources: [{ name: "songs", fields: [] }],
      },
      settings: { module: "file:///app/plugins/songs/plugin.js", hosts: { "a.example": expect.any(String) } },
    });
    expect(songs?.settings.http.userAgent).toMatch(/^Tonearm\/\d/);
  });

  test.each([
    ["its own rule says so", "{}", true, 1],
    ["its own rule says no", "{}", false, 0],
    ["the operator says yes", "plugins.songs.enabled: yes", false, 1],
    ["the operator says no", "plugins.songs.enabled: false", true, 0],
  ])("a built-in plugin runs or not as %s", (_who, text, isOn, count) => {
    expect(plan(text, { builtins: [builtin({ isOn: () => isOn })] })).toHaveLength(count);
  });

  test("a wrong option of a Lavalink plugin is left out with its path; one of the plugin itself turns it off", () => {
    const builtins = [builtin({ lavalinkOptions: [{ path: ["lavasrc", "songs"], names: ["limit"] }] })];
    const first = (text: string) => plan(text, { builtins })[0];
    const warnings = ["plugins.lavasrc.songs.limit: expected a whole number from 1 to 50; it is left out"];
    const wrong = first("plugins.lavasrc.songs: { LIMIT: 51, other: 1 }");
    expect(wrong).toMatchObject({ problem: undefined, warnings });
    expect(wrong?.optionsOf("songs")).toEqual({});
    const replaced = first("plugins: { lavasrc.songs.limit: 51, songs.limit: 7 }");
    expect(replaced).toMatchObject({ problem: undefined, warnings: [] });
    expect(replaced?.optionsOf("songs")).toEqual({ limit: "7" });
    for (const blank of ["''", "' '"]) {
      const both = first(`plugins: { lavasrc.songs.limit: 9, songs.LIMIT: ${blank} }`);
      expect(both).toMatchObject({ problem: undefined, warnings: [] });
      expect(both?.optionsOf("songs")).toEqual({ limit: "9" });
      const songs = first(`plugins.lavasrc.songs.limit: ${blank}`);
      expect(songs).toMatchObject({ problem: undefined, warnings: [] });
      expect(songs?.optionsOf("songs")).toEqual({});
    }
    expect(first("plugins.songs.limit: 51")?.problem).toContain("plugins.songs.limit: expected a whole number");
    expect(first("plugins.lavasrc.songs.limit: 50")?.optionsOf("songs")).toEqual({ limit: "50" });
  });

  test.each([
    ["{ url: 'http://192.0.2.7:3128', username: 'a@b', password: 'c:50%' }", "http://a%40b:c%3A50%25@192.0.2.7:3128"],
    ["{ url: 'http://a:b@192.0.2.7:3128/' }", "http://a:b@192.0.2.7:3128"],
    ["{ url: '', username: '', password: '' }", undefined],
    ["{ url: 'http://192.0.2.7:3128' }, songs.proxy: 'http://192.0.2.8:1'", "http://192.0.2.8:1"],
  ])("a proxy in the options of a Lavalink plugin is the plugin's: %s", (text, proxyUrl) => {
    const builtins = [builtin({ lavalinkProxy: ["lavasrc", "songs", "proxy"] })];
    const [songs] = plan(`plugins: { lavasrc.songs.proxy: ${text} }`, { builtins });
    expect(songs).toMatchObject({ problem: undefined, warnings: [], settings: { ownProxyUrl: proxyUrl } });
  });

  test.each([
    "'http://192.0.2.7:3128'",
    "['http://192.0.2.7:3128']",
    "{ url: ['http://192.0.2.7:3128'] }",
    "{ url: { host: 192.0.2.7 } }",
    "{ url: 'socks5://192.0.2.7:1080' }",
  ])("one that is written otherwise is named: %s", (text) => {
    const builtins = [builtin({ lavalinkProxy: ["lavasrc", "songs", "proxy"] })];
    const [songs] = plan(`plugins: { lavasrc.songs.proxy: ${text} }`, { builtins });
    const warning =
      "plugins.lavasrc.songs.proxy has no effect, as its url is not that of an HTTP proxy: set plugins.songs.proxy: http://user:password@host:port";
    expect(songs).toMatchObject({ problem: undefined, warnings: [warning], settings: { ownProxyUrl: undefined } });
  });

  test("a built-in plugin has the operator's options, also under Lavalink's names, and its own take precedence", () => {
    const options: BuiltinPlugin["options"] = ({ lavalink }) => ({
      Limit: lavalink("lavasrc", "songs", "playlist-limit") ?? "7",
    });
    const optionsOf = (text: string) => plan(text, { builtins: [builtin({ options })] })[0]?.optionsOf("songs");
    expect(optionsOf("{}")).toEqual({ Limit: "7" });
    expect(optionsOf("plugins.lavasrc.songs.playlistLimit: 9")).toEqual({ Limit: "9" });
    expect(optionsOf("plugins.songs: { limit: '', site: '' }")).toEqual({ Limit: "7", site: "" });
    expect(optionsOf("plugins: { lavasrc: { songs: { playlistLimit: 9 } }, songs: { limit: 8 } }")).toEqual({
      limit: "8",
    });
  });

  test("a built-in plugin uses its own proxy, else the common one", () => {
    const forAll = "lavalink.server.httpConfig: { proxyHost: 192.0.2.1, proxyPort: 8080 }";
    const own = "plugins.songs: { proxy: 'http://me:word@192.0.2.2:3128', limit: 7 }";
    const [songs] = plan(`${forAll}\n${own}`);
    const proxyUrl = "http://me:word@192.0.2.2:3128";
    expect(songs?.settings).toMatchObject({ ownProxyUrl: proxyUrl, http: { proxyUrl } });
    expect(songs?.problem).toBeUndefined();
    expect(songs?.optionsOf("songs")).toEqual({ limit: "7" });
    const [other] = plan(forAll);
    expect(other?.settings).toMatchObject({ ownProxyUrl: undefined, http: { proxyUrl: "http://192.0.2.1:8080" } });
  });

  test.each([
    ["[scsearch, 'bcsearch:']", ["scsearch", "bcsearch"]],
    ["'scsearch, bcsearch:,scsearch'", ["scsearch", "bcsearch"]],
    [`['ytmsearch:"%ISRC%"', 'scsearch:%TITLE%']`, ['ytmsearch:"%ISRC%"', "scsearch:%TITLE%"]],
    ["['scsearch[0,5]:%TITLE%, %AUTHOR%', bcsearch]", ["scsearch[0,5]:%TITLE%, %AUTHOR%", "bcsearch"]],
    ["", []],
    ["[]", []],
    ["false", []],
  ])("a plugin's fallback %s is read as %j", (text, prefixes) => {
    const [songs, own] = plan(
      `plugins.songs: { fallback: ${text} }\ntonearm.plugins: [{ path: /a, fallback: ${text} }]`,
    );
    expect([songs?.fallback, own?.fallback ?? []]).toEqual([prefixes, prefixes]);
    expect([songs?.problem, songs?.optionsOf("songs")]).toEqual([undefined, {}]);
  });

  test.each([
    ["plugins.youtube: { proxy: '', userAgent: '', fallback: [] }", false],
    ["plugins.youtube: { fallback: false }", false],
    ["plugins.youtube: { pot: { token: '', visitorData: '' }, clients: [] }", false],
    ["plugins.youtube: { fallback: [scsearch] }", true],
    ["plugins.youtube: { pot: { token: t } }", true],
  ])("only values that are not empty turn YouTube on: %s", (text, isOn) => {
    const names = plan(text, { builtins: BUILTIN_PLUGINS }).map(({ name }) => name);
    expect(names.includes("youtube")).toBe(isOn);
  });

  test("what every plugin has can be written in relaxed spelling, as variables do", () => {
    const [songs] = plan("plugins.songs: { USERAGENT: Mine/1, FALLBACK: scsearch, ENABLED: true }");
    expect([songs?.settings.ownUserAgent, songs?.fallback, songs?.problem]).toEqual([
      "Mine/1",
      ["scsearch"],
      undefined,
    ]);
    expect(plan("plugins.songs.ENABLED: false")).toEqual([]);
  });

  test.each([
    "[a, b, c, d, e, f]",
    "'scsearch:%SONG%'",
    "{ first: scsearch }",
    "'two words'",
    "[[scsearch]]",
    "'https://a.example/'",
  ])("a built-in plugin is off with a fallback that is no list of search prefixes (%s)", (text) => {
    const [songs] = plan(`plugins.songs: { fallback: ${text} }`);
    expect(songs?.problem).toBe(
      "plugins.songs: expected fallback to be at most 5 search prefixes or templates such as scsearch:%QUERY%, each of at most 200 characters",
    );
  });

  test("a plugin sends the operator's User-Agent, else that of its manifest, else the node's", () => {
    const agentOf = (text: string, userAgent?: string) => {
      const base = builtin();
      const manifest = { ...base.manifest, ...(userAgent !== undefined && { userAgent }) };
      const [songs] = plan(text, { builtins: [{ ...base, manifest }] });
      return [songs?.settings.ownUserAgent, songs?.settings.http.userAgent, songs?.optionsOf("songs"), songs?.problem];
    };
    expect(agentOf("plugins.songs.userAgent: Mine/1", "Browser/1")).toEqual(["Mine/1", "Mine/1", {}, undefined]);
    expect(agentOf("{}", "Browser/1")).toEqual(["Browser/1", "Browser/1", {}, undefined]);
    expect(agentOf("{}")).toEqual([undefined, expect.stringMatching(/^Tonearm\/\d/), {}, undefined]);
    const [, own] = plan("tonearm.plugins: [{ path: /a, userAgent: Mine/2 }]");
    expect(own?.settings).toMatchObject({ ownUserAgent: "Mine/2", http: { userAgent: "Mine/2" } });
  });

  test.each(['"a\\nb"', "Bröwser/1", "{ a: b }", "x".repeat(501)])(
    "a built-in plugin is off with a User-Agent that cannot be sent (%s)",
    (text) => {
      const [songs] = plan(`plugins.songs: { userAgent: ${text} }`);
      expect(songs?.problem).toBe("plugins.songs: expected userAgent to be 1 to 500 printable ASCII characters");
    },
  );

  test.each(["socks5://192.0.2.2:1", "http://192.0.2.2:1/path", "hunter2", "{ url: hunter2 }"])(
    "a built-in plugin with an invalid proxy (%s) is off, and the value is not shown",
    (proxy) => {
      const [songs] = plan(`plugins.songs: { proxy: ${proxy.startsWith("{") ? proxy : `"${proxy}"`} }`);
      expect(songs?.problem).toBe(
        "plugins.songs: expected proxy to be an address such as http://user:password@192.0.2.7:3128",
      );
    },
  );

  test("a built-in plugin with wrong options is off from the start, and lists each, without its value", () => {
    const [songs] = plan("plugins.songs: { limit: 51, lmit: 1, enabled: true }");
    expect(songs?.problem).toMatch(
      /^plugins\.songs\.limit: expected a whole number from 1 to 50; plugins\.songs\.lmit: there is no/,
    );
    expect(songs?.problem).not.toContain("51");
    expect(songs?.manifest).toMatchObject({ ownServers: [], sources: [{ name: "songs" }] });
  });

  test("a built-in plugin reports the operator's own servers, and has the sources that its options name", () => {
    const sources: BuiltinPlugin["sources"] = ({ site }) => [{ name: "those", hosts: [String(site)], prefixes: [] }];
    const [songs] = plan("plugins.songs.site: http://192.0.2.7:81", { builtins: [builtin({ sources })] });
    expect(songs?.manifest).toMatchObject({
      ownServers: ["192.0.2.7:81"],
      sources: [{ name: "those", hosts: ["http://192.0.2.7:81"], prefixes: [], fields: [] }],
    });
  });
});

describe("a third-party plugin", () => {
  test("third-party plugins follow the built-in ones in the order of the configuration, unless disabled", () => {
    const text =
      "tonearm.plugins: [{ path: ./b.mjs }, { path: /a.mjs, enabled: false }, { package: songs-x, required: true }]";
    expect(plan(text).map(({ name, rank, isBuiltIn, isRequired }) => [name, rank, isBuiltIn, isRequired])).toEqual([
      ["songs", "first", true, false],
      ["b.mjs", "middle", false, false],
      ["songs-x", "middle", false, true],
    ]);
  });

  test("a third-party plugin is known by its module only, and gets the options of its reported name", () => {
    const path = new URL(import.meta.url).pathname;
    const [own] = plan(`{ tonearm.plugins: [{ path: ${path} }], plugins: { my-songs: { a: 1 } } }`, { builtins: [] });
    expect(own).toMatchObject({ manifest: undefined, problem: undefined, settings: { module: import.meta.url } });
    expect(own?.optionsOf("my-songs")).toEqual({ a: "1" });
    expect(own?.optionsOf("others")).toBeUndefined();
  });

  test("a third-party plugin that is missing is off from the start", () => {
    const text = "tonearm.plugins: [{ package: songs-x }, { path: /nowhere/x.mjs }]";
    expect(plan(text, { builtins: [] }).map(({ problem }) => problem)).toEqual([
      "the package songs-x is not installed; run npm install songs-x beside application.yml",
      "the plugin at /nowhere/x.mjs: the file does not exist or cannot be read",
    ]);
  });
});
