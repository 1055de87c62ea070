// Configurations of the kinds that are public, shortened: what the node starts with, and what it logs of its sources.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { planPlugins } from "../../../../src/plugin-host/plan/plugin-plans.ts";
import { reportSources } from "../../../../src/plugin-host/plan/source-report.ts";

const FOLDER = new URL("../../../fixtures/config/", import.meta.url);
const YTDLP = ["vimeo", "niconico", "mixcloud", "tiktok", "reddit", "ytdlp"];

const ON_OWN = ["getyarn.io", "radiobrowser", "podcast", "speak", "flowery-tts"];
const ON = ["soundcloud", "bandcamp", "twitch", ...ON_OWN, "http"];
const ON_WITH_YOUTUBE = ["youtube", ...ON];
const ON_WITH_LOCAL = ["soundcloud", "bandcamp", "twitch", "local", ...ON_OWN, "http"];

const OFF = {
  youtube: "youtube (set plugins.youtube.enabled: true)",
  soundcloud: "soundcloud (set lavalink.server.sources.soundcloud: true)",
  bandcamp: "bandcamp (set lavalink.server.sources.bandcamp: true)",
  twitch: "twitch (set lavalink.server.sources.twitch: true)",
  subsonic: "subsonic (set plugins.subsonic.servers)",
  jellyfin: "jellyfin (set plugins.jellyfin.servers)",
  ytdlp: `${YTDLP.join("/")} (set plugins.ytdlp.path)`,
  local: "local (set lavalink.server.sources.local: true and tonearm.local.roots)",
  http: "http (set lavalink.server.sources.http: true)",
};
const { subsonic, jellyfin, ytdlp, local, youtube } = OFF;
const TIDAL = "tidal (set plugins.tidal.clientId and clientSecret from developer.tidal.com)";
const SERVICES = ["spotify", "deezer", "applemusic", "tidal", "jiosaavn", "audius"];
/** Those of other sites that are off, without these. */
const services = (...on: string[]): string[] =>
  SERVICES.filter((name) => !on.includes(name)).map((name) =>
    name === "tidal" ? TIDAL : `${name} (set plugins.${name}.enabled: true)`,
  );
const offBut = (...on: string[]): string[] => [...services(...on), subsonic, jellyfin, ytdlp, local];
const onWith = (list: readonly string[], ...names: string[]): string[] => [...list.slice(0, -1), ...names, "http"];
const OFF_BUT_YOUTUBE = offBut();
const OFF_USUALLY = [youtube, ...OFF_BUT_YOUTUBE];

const TERMS =
  "info: youtube is on because lavalink.server.sources.youtube is true; Google's terms of service forbid much of what " +
  "it does: your choice (plugins.youtube.enabled: false turns it off)";

function needsYtdlp(key: string, name: string): string {
  return `warn: ${key} is true, but ${name} is off on this node: set plugins.ytdlp.path`;
}

function needsKeys(name: string): string {
  return `warn: plugins.lavasrc.sources.${name} is true, but ${name} is off on this node: ${TIDAL.slice(7, -1)}`;
}

function noSource(name: string, title: string): string {
  const reason = `Tonearm has no source for ${title}: its searches find nothing, its links are refused`;
  return `warn: plugins.lavasrc.sources.${name} is true, but ${reason} (a plugin in tonearm.plugins may add one)`;
}

/** `paths`: below `plugins`, perhaps behind a text and a space. */
function noEffect(...paths: string[]): string {
  return `info: no effect in Tonearm: ${paths.map((path) => path.replace(/\S+$/, "plugins.$&")).join(", ")}`;
}

const LYRICS = "info: lyrics: LRCLIB (lrclib.net; plugins.lrclib.enabled: false turns it off)";
const SPONSORBLOCK =
  "info: SponsorBlock: skips nothing until a client sets categories (or set plugins.sponsorblock.categories)";

function searches(...sources: string[]): string {
  return `info: LavaSearch: tracks and lists from ${sources.join(", ")}; from others tracks only`;
}

const ofSpotify = (name: string): string => `lavasrc.spotify.${name}`;

function oddOption(path: string, expected: string): string {
  return `warn: plugins.lavasrc.${path}: expected ${expected}; it is left out`;
}

function siteToAdd(name: string): string {
  const reason = "Tonearm has no such source (set plugins.ytdlp.path and add the site to plugins.ytdlp.sites)";
  return `warn: plugins.dunctebot.sources.${name} is true, but ${reason}`;
}

interface Expected {
  readonly on: readonly string[];
  readonly off: readonly string[];
  /** Beside the line that names the sources. */
  readonly lines?: readonly (string | RegExp)[];
}

const CONFIGURATIONS: Readonly<Record<string, Expected>> = {
  "empty.yml": { on: ON, off: OFF_USUALLY },
  "lavalink-4-defaults.yml": {
    on: ON_WITH_YOUTUBE,
    off: OFF_BUT_YOUTUBE,
    lines: [
      needsYtdlp("lavalink.server.sources.vimeo", "vimeo"),
      needsYtdlp("lavalink.server.sources.nico", "niconico"),
    ],
  },
  "lavalink-3.yml": {
    on: ON_WITH_YOUTUBE,
    off: OFF_BUT_YOUTUBE,
    lines: [TERMS, needsYtdlp("lavalink.server.sources.vimeo", "vimeo")],
  },
  "youtube-true-is-off.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE, lines: [TERMS] },
  "youtube-turned-off.yml": {
    on: ON,
    off: OFF_USUALLY,
    lines: [
      "warn: lavalink.server.sources.youtube is true, but youtube is off on this node: set plugins.youtube.enabled: true",
    ],
  },
  "youtube-plugin-clients.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE },
  "youtube-plugin-in-folder.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE },
  "youtube-oauth.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE },
  "youtube-pot-and-cipher.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE },
  "lavasrc-without-a-word.yml": {
    on: onWith(ON, "spotify", "deezer", "applemusic"),
    off: [youtube, ...offBut("spotify", "deezer", "applemusic")],
    lines: [noEffect("lavasrc.spotify.countryCode")],
  },
  "lavasrc-with-jar.yml": {
    on: onWith(ON_WITH_YOUTUBE, "spotify", "applemusic", "jiosaavn"),
    off: offBut("spotify", "applemusic", "jiosaavn"),
    lines: [
      noSource("yandexmusic", "Yandex Music"),
      noSource("vkmusic", "VK Music"),
      needsKeys("tidal"),
      noSource("qobuz", "Qobuz"),
      needsYtdlp("plugins.lavasrc.sources.ytdlp", "ytdlp"),
    ],
  },
  "lavasrc-and-companions.yml": {
    on: onWith(ON, "spotify"),
    off: [youtube, ...offBut("spotify")],
    lines: [
      LYRICS,
      searches("soundcloud", "spotify"),
      noEffect("spotify, youtube in lavalyrics.sources", "lavasearch"),
      "warn: SponsorBlock has nothing to skip, as youtube is off on this node: set plugins.youtube.enabled: true",
    ],
  },
  "companions-with-switches.yml": {
    on: ON_WITH_YOUTUBE.filter((name) => name !== "soundcloud"),
    off: [OFF.soundcloud, ...OFF_BUT_YOUTUBE],
    lines: [
      "info: lyrics: LRCLIB is off (set plugins.lrclib.enabled: true)",
      "info: SponsorBlock: skips sponsor, selfpromo unless a client sets others",
      searches("youtube"),
      "info: filters: those of lavadspx-plugin, lavalink-filter-plugin too",
      noEffect("dunctebot.tts", "dunctebot.tumblr", "lavadspx", "lavalink-filter-plugin", "lavasearch"),
      /^warn: plugins\.lavasrc\.lyrics-sources\.spotify is true, but Tonearm has no lyrics of it /,
    ],
  },
  "companions-as-jars.yml": {
    on: onWith(ON, "subsonic"),
    off: [youtube, ...services(), jellyfin, ytdlp, local],
    lines: [
      "info: lyrics: subsonic, LRCLIB (plugins.lrclib.server; plugins.lrclib.enabled: false turns it off)",
      noEffect("spotify in lavalyrics.sources"),
    ],
  },
  "former-sources.yml": {
    on: ON,
    off: OFF_USUALLY,
    lines: [
      /^warn: lavalink\.server\.sources\.mixer has no effect: the service was closed$/,
      needsYtdlp("lavalink.server.sources.odysee", "ytdlp"),
      needsYtdlp("lavalink.server.sources.reddit", "reddit"),
      /^warn: lavalink\.server\.sources\.clypit is true, but Tonearm has no such source \(set plugins\.ytdlp\.path and/,
    ],
  },
  "former-sources-with-ytdlp.yml": {
    on: [...ON.slice(0, -1), ...YTDLP, "http"],
    off: [youtube, ...services(), subsonic, jellyfin, local],
  },
  "former-sources-with-every-site.yml": {
    on: [...ON.slice(0, -1), ...YTDLP, "http"],
    off: [youtube, ...services(), subsonic, jellyfin, local],
  },
  "former-sources-with-chosen-sites.yml": {
    on: [...ON.slice(0, -1), "ytdlp", "http"],
    off: [
      ...[youtube, ...services(), subsonic, jellyfin],
      ...["vimeo/niconico/mixcloud/tiktok/reddit (add its site to plugins.ytdlp.sites)", local],
    ],
    lines: [
      "warn: lavalink.server.sources.odysee is true, but Tonearm has no such source (add odysee.com to plugins.ytdlp.sites)",
    ],
  },
  "misplaced-keys.yml": {
    on: ON,
    off: OFF_USUALLY,
    lines: [
      /^warn: application\.yml:\d+:\d+: lavalink\.server\.sources\.spotify is not a known key; plugins\.spotify\.enabled turns/,
      /sources\.deezer is not a known key; plugins\.deezer\.enabled turns this source on and off$/,
      /: lavalink\.server\.lavasrc has no effect: the options of a plugin belong below plugins: plugins\.lavasrc$/,
      /: youtube has no effect: the options of a plugin belong below plugins: plugins\.youtube$/,
      /: dunctebot has no effect: the options of a plugin belong below plugins: plugins\.dunctebot$/,
    ],
  },
  "forgotten-level-of-sources.yml": {
    on: ON,
    off: OFF_USUALLY,
    lines: [
      ...["youtube", "soundcloud", "twitch", "local"].map(
        (name) =>
          new RegExp(`: lavalink.server.${name} is not a known key; did you mean lavalink.server.sources.${name}\\?$`),
      ),
      /: plugins: expected options below the name of a plugin, such as plugins\.youtube\.enabled: true; leaving it out$/,
    ],
  },
  "empty-options.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE, lines: [TERMS] },
  "switches-that-are-off.yml": { on: ON, off: OFF_USUALLY },
  "lavasrc-example.yml": {
    on: onWith(ON_WITH_YOUTUBE, "spotify"),
    off: offBut("spotify"),
    lines: [noEffect(...["countryCode", "resolveArtistsInSearch", "preferAnonymousToken"].map(ofSpotify))],
  },
  "ytdlp-with-one-site.yml": {
    on: [...ON.slice(0, -1), "vimeo", "ytdlp", "http"],
    off: [
      youtube,
      ...services(),
      subsonic,
      jellyfin,
      "niconico/mixcloud/tiktok/reddit (add its site to plugins.ytdlp.sites)",
      local,
    ],
    lines: [
      "warn: lavalink.server.sources.nico is true, but niconico is off on this node: add its site to plugins.ytdlp.sites",
    ],
  },
  "ytdlp-with-a-wrong-option.yml": {
    on: ON,
    off: [youtube, ...services(), subsonic, jellyfin, `${YTDLP.join("/")} (its set-up failed, see the log)`, local],
  },
  "youtube-without-a-limit-of-pages.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE, lines: [TERMS] },
  "youtube-with-a-wrong-option.yml": {
    on: ON,
    off: ["youtube (its set-up failed, see the log)", ...OFF_BUT_YOUTUBE],
    lines: [
      "warn: lavalink.server.sources.youtube is true, but youtube is off on this node: its set-up failed, see the log",
    ],
  },
  "misspelt-switch-of-a-plugin.yml": {
    on: ON,
    off: OFF_USUALLY,
    lines: ["warn: plugins.youtube.enabled: expected true or false; leaving it out"],
  },
  "lavasrc-ytdlp.yml": {
    on: [...ON.slice(0, -1), ...YTDLP, "http"],
    off: [youtube, ...services(), subsonic, jellyfin, local],
  },
  "skybot.yml": {
    on: ON,
    off: OFF_USUALLY,
    lines: [
      siteToAdd("clypit"),
      needsYtdlp("plugins.dunctebot.sources.reddit", "reddit"),
      siteToAdd("ocremix"),
      needsYtdlp("plugins.dunctebot.sources.tiktok", "tiktok"),
      needsYtdlp("plugins.dunctebot.sources.mixcloud", "mixcloud"),
      siteToAdd("soundgasm"),
    ],
  },
  "lyrics-and-events.yml": {
    on: ON,
    off: OFF_USUALLY,
    lines: [
      /^warn: lavalink\.plugins: .* for com\.github\.esmbot:lava-xm-plugin$/,
      LYRICS,
      noEffect("the options of lyrics"),
    ],
  },
  "rotating-addresses.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE },
  "local-without-roots.yml": {
    on: ON_WITH_LOCAL,
    off: [youtube, ...services(), subsonic, jellyfin, ytdlp],
    lines: [/^warn: lavalink\.server\.sources\.local is true, but tonearm\.local\.roots is not set: only files below/],
  },
  "files-of-the-machine.yml": { on: ON_WITH_LOCAL, off: [youtube, ...services(), subsonic, jellyfin, ytdlp] },
  "only-web-streams.yml": {
    on: [...ON_OWN, "http"],
    off: [youtube, OFF.soundcloud, OFF.bandcamp, OFF.twitch, ...OFF_BUT_YOUTUBE],
  },
  "no-web-streams.yml": { on: ON.slice(0, -1), off: [...OFF_USUALLY, OFF.http] },
  "pterodactyl-egg.yml": { on: ON_WITH_YOUTUBE, off: OFF_BUT_YOUTUBE, lines: [TERMS] },
  "own-servers.yml": {
    on: [...ON.slice(0, -1), "subsonic", "http"],
    off: [youtube, ...services(), jellyfin, ytdlp, local],
  },
  "variables-of-compose.env": {
    on: ON_WITH_YOUTUBE.filter((name) => name !== "bandcamp"),
    off: [OFF.bandcamp, ...OFF_BUT_YOUTUBE],
    lines: [TERMS],
  },
  "variables-of-a-plugin.env": {
    on: onWith(ON_WITH_YOUTUBE, "spotify"),
    off: offBut("spotify"),
  },
  "bot-hosting-panel.yml": {
    on: onWith(ON_WITH_YOUTUBE, "spotify", "deezer", "applemusic", "jiosaavn"),
    off: offBut("spotify", "deezer", "applemusic", "jiosaavn"),
    lines: [
      /^warn: THE PASSWORD IS "youshallnotpass"/,
      LYRICS,
      noEffect(
        ...["countryCode", "resolveArtistsInSearch", "preferAnonymousToken"].map(ofSpotify),
        ...["lavasrc.deezer.masterDecryptionKey", "lavasrc.deezer.arl", "lavasrc.deezer.formats"],
        ...["lavasrc.tidal.token", "lavasrc.jiosaavn.decryption"],
        ...["lavasrc.yandexmusic", "lavasrc.qobuz", "lavasrc.youtube"],
      ),
      needsYtdlp("lavalink.server.sources.vimeo", "vimeo"),
      needsYtdlp("lavalink.server.sources.nico", "niconico"),
      noSource("yandexmusic", "Yandex Music"),
      needsKeys("tidal"),
      noSource("qobuz", "Qobuz"),
    ],
  },
  "spotify-by-variables.yml": {
    on: onWith(ON, "spotify"),
    off: [youtube, ...offBut("spotify")],
    lines: [/^warn: THE PASSWORD IS "youshallnotpass"/, noEffect("lavasrc.spotify.countryCode")],
  },
  "spotify-with-tokener.yml": {
    on: onWith(ON_WITH_YOUTUBE, "spotify"),
    off: offBut("spotify"),
    lines: [noEffect(...["countryCode", "preferAnonymousToken"].map(ofSpotify))],
  },
  "deezer-first.yml": {
    on: onWith(ON, "spotify", "deezer", "applemusic"),
    off: [youtube, ...offBut("spotify", "deezer", "applemusic")],
    lines: [noEffect("lavasrc.deezer.formats")],
  },
  "providers-of-java-only.yml": {
    on: onWith(ON, "spotify"),
    off: [youtube, ...offBut("spotify")],
    lines: [noSource("vkmusic", "VK Music")],
  },
  "jiosaavn-plugin.yml": {
    on: onWith(ON, "jiosaavn"),
    off: [youtube, ...offBut("jiosaavn")],
    lines: [
      noEffect("jiosaavn.apiURL"),
      "warn: plugins.jiosaavn.playlistTrackLimit: expected a whole number from 1 to 10000; it is left out",
      /^warn: plugins\.jiosaavn\.decryption: .*; it is left out$/,
    ],
  },
  "everything-of-a-public-node.yml": {
    on: onWith(ON_WITH_YOUTUBE, "spotify", "applemusic"),
    off: offBut("spotify", "applemusic"),
    lines: [
      /^warn: lavalink\.server\.sources\.mixer has no effect: the service was closed$/,
      /^warn: lavalink\.plugins: .* for com\.github\.esmbot:lava-xm-plugin$/,
      LYRICS,
      SPONSORBLOCK,
      searches("youtube", "soundcloud", "spotify", "applemusic"),
      "info: filters: those of lavadspx-plugin too",
      noEffect("lavasrc.spotify.countryCode", "spotify, youtube, deezer, yandexMusic in lavalyrics.sources"),
      needsYtdlp("lavalink.server.sources.vimeo", "vimeo"),
      noSource("yandexmusic", "Yandex Music"),
      siteToAdd("clypit"),
      needsYtdlp("plugins.dunctebot.sources.reddit", "reddit"),
      siteToAdd("ocremix"),
      needsYtdlp("plugins.dunctebot.sources.tiktok", "tiktok"),
      needsYtdlp("plugins.dunctebot.sources.mixcloud", "mixcloud"),
      siteToAdd("soundgasm"),
    ],
  },
  "odd-options-of-lavasrc.yml": {
    on: onWith(ON, "spotify", "deezer", "applemusic", "tidal", "jiosaavn"),
    off: [youtube, ...offBut("spotify", "deezer", "applemusic", "tidal", "jiosaavn")],
    lines: [
      LYRICS,
      noEffect(
        ...["countryCode", "resolveArtistsInSearch"].map(ofSpotify),
        ...["lavasrc.deezer.arl", "lavasrc.deezer.formats", "lavasrc.tidal.token", "jiosaavn.apiURL"],
      ),
      "warn: plugins.lavasrc.sources.youtube: expected true or false; leaving it out",
      "warn: plugins.dunctebot.sources.mixcloud: expected true or false; leaving it out",
      oddOption("flowerytts.speed", "a number from 0.5 to 10"),
      oddOption("spotify.preferPartnerApi", "true or false"),
      oddOption("spotify.playlistLoadLimit", "a whole number from 0 to 100000"),
      oddOption("spotify.albumLoadLimit", "a whole number from 0 to 100000"),
      /^warn: plugins\.lavasrc\.spotify\.customTokenEndpoint: expected the address of a server .*; it is left out$/,
      oddOption("applemusic.albumLoadLimit", "a whole number from 0 to 1000"),
      oddOption("tidal.searchLimit", "a whole number from 1 to 100"),
      "warn: plugins.lavasrc.jiosaavn.proxy has no effect, as its url is not that of an HTTP proxy: set plugins.jiosaavn.proxy: http://user:password@host:port",
      "warn: plugins.lavasrc.lyrics-sources.spotify is true, but Tonearm has no lyrics of it (LRCLIB is asked instead)",
    ],
  },
  "variables-of-lavasrc.env": {
    on: onWith(ON, "spotify", "applemusic"),
    off: [youtube, ...offBut("spotify", "applemusic")],
  },
};

/**
 * The warnings of the configuration, and the lines of its sources as a node with these plugins logs them. `failed`: the
 * plugin whose set-up fails.
 */
function start(name: string, failed?: string): string[] {
  const text = readFileSync(new URL(name, FOLDER), "utf8");
  const isFile = !name.endsWith(".env");
  const { config, warnings } = loadConfig({
    args: [],
    env: isFile
      ? {}
      : Object.fromEntries(Array.from(text.matchAll(/^(\w+)=(.*)$/gm), ([, key, value]) => [key, value])),
    cwd: "/app",
    realPath: (path) => path,
    coreCount: 2,
    readFile: (path) => (isFile && path === "/app/application.yml" ? text : undefined),
  });
  const plans = planPlugins(config, { cwd: "/nowhere", builtinFolder: new URL("file:///app/plugins/") });
  // A plugin whose options are wrong does not run.
  const running = plans.filter((plan) => plan.problem === undefined && plan.name !== failed);
  const of = (rank: string): string[] =>
    running.flatMap((plan) => (plan.rank === rank ? (plan.manifest?.sources.map((source) => source.name) ?? []) : []));
  const own = (source: "local" | "http"): string[] => (config.sources[source] ? [source] : []);
  const present = [...of("first"), ...own("local"), ...of("middle"), ...of("last"), ...own("http")];
  const lines = reportSources({ config, plans }, present).map(({ level, message }) => `${level}: ${message}`);
  return [...warnings.map((warning) => `warn: ${warning}`), ...lines];
}

test.each(Object.entries(CONFIGURATIONS))("%s starts with its sources, and says what is off", (name, expected) => {
  const [sources, ...others] = start(name).toSorted((a, b) => Number(isSources(b)) - Number(isSources(a)));
  expect(sources).toBe(`info: sources: ${expected.on.join(", ")}; off: ${expected.off.join(", ")}`);
  const lines = expected.lines ?? [];
  expect(others).toEqual(lines.map((line) => (typeof line === "string" ? line : expect.stringMatching(line))));
});

function isSources(line: string): boolean {
  return line.startsWith("info: sources: ");
}

test("the terms of YouTube are named only where it runs", () => {
  const lines = start("youtube-true-is-off.yml", "youtube");
  expect(lines).not.toContain(TERMS);
  expect(lines.join("\n")).toContain("youtube is off on this node: its set-up failed, see the log");
});
