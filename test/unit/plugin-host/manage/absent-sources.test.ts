import { beforeEach, expect, test } from "vitest";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { AbsentSources } from "../../../../src/plugin-host/manage/absent-sources.ts";
import { planPlugins } from "../../../../src/plugin-host/plan/plugin-plans.ts";
import { absentSources } from "../../../../src/plugin-host/plan/source-report.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const OWNER = ["key bot"];
const YOUTUBE = "youtube is off on this node: set plugins.youtube.enabled: true";
const YTDLP = "off on this node: set plugins.ytdlp.path";

let lines: string[];

beforeEach(() => {
  lines = [];
});

/** Asks in turn, and returns why the identifiers are refused; `present`: sources that there are beside the built-in ones. */
function ask(identifiers: readonly string[], { text = "", present = [] as string[], owner = OWNER } = {}) {
  const readFile = (path: string) => (path === "/app/tonearm.yml" ? text : undefined);
  const { config } = loadConfig({ args: [], env: {}, cwd: "/app", readFile, realPath: (path) => path, coreCount: 1 });
  const plans = planPlugins(config, { cwd: "/nowhere", builtinFolder: new URL("file:///app/plugins/") });
  const names = [...plans.flatMap(({ manifest }) => manifest?.sources.map(({ name }) => name) ?? []), ...present];
  const logger = createLogger((level, message, fields) => lines.push(`${level}: ${message} ${JSON.stringify(fields)}`));
  const absent = new AbsentSources({ sources: absentSources({ config, plans }), clock: new FakeClock(), logger });
  return identifiers.map((identifier) => absent.refusing(identifier, { present: names, owner })?.reason);
}

test.each([
  ["ytsearch:words", YOUTUBE],
  ["ytmsearch:words", YOUTUBE],
  ["https://www.youtube.com/watch?v=dQw4w9WgXcQ", YOUTUBE],
  ["https://music.youtube.com/watch?v=dQw4w9WgXcQ", YOUTUBE],
  ["https://youtu.be/dQw4w9WgXcQ?si=x", YOUTUBE],
  [
    "https://music.yandex.ru/album/1/track/2",
    /^Tonearm has no source for Yandex Music: its searches find nothing, its links are refused/,
  ],
  ["https://play.qobuz.com/album/1", /Qobuz/],
  ["https://open.spotify.com/intl-de/track/1", "spotify is off on this node: set plugins.spotify.enabled: true"],
  ["https://spotify.link/abc", /^spotify is off/],
  ["https://www.deezer.com/track/1", /^deezer is off/],
  ["https://link.deezer.com/s/1", /^deezer is off/],
  ["https://music.apple.com/us/album/1", /^applemusic is off/],
  ["https://vimeo.com/1", `vimeo is ${YTDLP}`],
  ["https://www.tiktok.com/@a/video/1", `tiktok is ${YTDLP}`],
  ["subsearch:words", "subsonic is off on this node: set plugins.subsonic.servers"],
])("%s is refused with the reason, and one warning for what is asked twice", (identifier, expected) => {
  const reason = typeof expected === "string" ? expected : expect.stringMatching(expected);
  expect(ask([identifier, identifier])).toEqual([reason, reason]);
  expect(lines).toEqual([expect.stringMatching(/^warn: /)]);
});

test.each([
  ...["player.vimeo.com", "vm.tiktok.com", "vt.tiktok.com", "sp.nicovideo.jp", "old.reddit.com", "new.reddit.com"],
  ...["np.reddit.com", "www.youtube-nocookie.com", "gaming.youtube.com", "spotify.com", "www.spotify.com"],
  ...["geo.music.apple.com", "embed.music.apple.com", "deezer.page.link", "listen.tidal.com", "creators.spotify.com"],
])("a link of %s is refused, whose site's source is off", (host) => {
  expect(ask([`https://${host}/a/1`])).toEqual([expect.any(String)]);
});

test("sources that the configuration turns off are named with their switch", () => {
  const text = "lavalink.server.sources: { soundcloud: false, bandcamp: false }\nplugins.twitch.enabled: false";
  const identifiers = [
    "scsearch:a",
    "https://soundcloud.com/a/b",
    "https://a.bandcamp.com/track/b",
    "https://twitch.tv/a",
  ];
  const soundcloud = "soundcloud is off on this node: set lavalink.server.sources.soundcloud: true";
  expect(ask(identifiers, { text })).toEqual([
    soundcloud,
    soundcloud,
    "bandcamp is off on this node: set lavalink.server.sources.bandcamp: true",
    "twitch is off on this node: set plugins.twitch.enabled: true",
  ]);
});

test.each([
  "https://soundcloud.com/a/b",
  "https://media.example/a.mp3",
  "https://rr1.googlevideo.com/videoplayback",
  "https://v.redd.it/a/HLSPlaylist.m3u8",
  "icy://radio.example/",
  "dQw4w9WgXcQ",
  "Artist: Title",
  "C:\\music\\a.mp3",
  "words",
])("%s is for the sources that there are", (identifier) => {
  expect(ask([identifier])).toEqual([undefined]);
  expect(lines).toEqual([]);
});

test("a prefix that no source has finds nothing, as in Lavalink, with one warning for each", () => {
  expect(ask(["vksearch:a", "vksearch:b", "vkrec:a", "spsearch:a", "foosearch:a", "foosearch:b"])).toEqual(
    Array(6).fill(undefined),
  );
  expect(lines).toEqual([
    expect.stringMatching(/^warn: Tonearm has no source for VK Music.* {"asked":"vksearch:"}$/),
    expect.stringMatching(/^warn: Tonearm has no source for VK Music.* {"asked":"vkrec:"}$/),
    'warn: spotify is off on this node: set plugins.spotify.enabled: true {"asked":"spsearch:"}',
    expect.stringMatching(/^warn: no source has the prefix "foosearch:": searches .* \(a plugin in tonearm\.plugins/),
  ]);
});

test("a path finds nothing while local files are off, with one warning that names the switch", () => {
  expect(ask(["/music/a.mp3", "./a.mp3"])).toEqual([undefined, undefined]);
  const text = "local is off on this node: set lavalink.server.sources.local: true and tonearm.local.roots";
  expect(lines).toEqual([`warn: ${text} {}`]);
  lines = [];
  expect(ask(["/music/a.mp3"], { present: ["local"] })).toEqual([undefined]);
  expect(lines).toEqual([]);
});

test("a source of a plugin takes the place of an absent one", () => {
  const identifiers = ["https://vk.com/audio1_2", "vksearch:a"];
  expect(ask(identifiers, { present: ["vkmusic"] })).toEqual([undefined, undefined]);
});

test("one account's prefixes do not fill the log", () => {
  const letters = Array.from("abcdefghijklmnopqrstuvwxyz");
  ask(letters.map((letter) => `${letter}search:words`));
  expect(lines).toHaveLength(20);
});
