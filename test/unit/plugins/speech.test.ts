import { afterEach, expect, test } from "vitest";
import { SpeechSites } from "../../../lab/sites/speech.ts";
import { readFloweryIdentifier } from "../../../plugins/speech/flowery-identifier.ts";
import { SPEECH_MANIFEST } from "../../../plugins/speech/manifest.ts";
import plugin from "../../../plugins/speech/plugin.ts";
import { spokenParts } from "../../../plugins/speech/spoken-parts.ts";
import type { PluginLink } from "../../../src/bridge/plugin-messages.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function standAlone(options: PlainTree = {}): Promise<PluginBench> {
  const bench = await PluginBench.start(plugin, { options });
  closing.push(() => bench.close());
  return bench;
}

/** Asks the stand-ins, as its options say. */
async function stand(options: Record<string, string> = {}): Promise<{ sites: SpeechSites; bench: PluginBench }> {
  const sites = await SpeechSites.start();
  closing.push(() => sites.close());
  return { sites, bench: await standAlone({ ...sites.servers, ...options }) };
}

async function linkOf(
  bench: PluginBench,
  source: string,
  identifier: string,
): Promise<PluginLink & { readonly kind: "link" }> {
  const [track] = await bench.loadTracks(source, identifier);
  const link = await bench.resolve(source, track?.encoded ?? "");
  if (link.kind !== "link") throw new Error("a link was expected");
  return link;
}

function queryOf({ url }: { readonly url: string }): Record<string, string> {
  return Object.fromEntries(new URL(url).searchParams);
}

test("a short text is one track with the site's link", async () => {
  const bench = await standAlone();
  const answer = await bench.load("speak", "speak: Hello  there, 100 %!\n");
  expect(answer?.kind).toBe("track");
  const [track] = await bench.loadTracks("speak", "speak: Hello  there, 100 %!\n");
  const url =
    "https://translate.google.com/translate_tts?ie=UTF-8&client=tw-ob&tl=en-AU&q=Hello+there%2C+100+%25%21" +
    "&total=1&idx=0&textlen=19";
  expect(track?.info).toMatchObject({
    identifier: "speak:Hello there, 100 %!",
    title: "Speaking Hello there, 100 %!",
    author: "TTS B0t",
    isStream: false,
    uri: url,
    sourceName: "speak",
    artworkUrl: null,
  });
  expect(track?.pluginInfo).toEqual({ save_uri: "speak:Hello there, 100 %!" });
  expect(await bench.resolve("speak", track?.encoded ?? "")).toMatchObject({ kind: "link", url });
  expect(await bench.resolve("speak", track?.encoded ?? "", { reason: "refused", status: 403 })).toMatchObject({ url });
});

test("tts:// is read by Google Translate in the language that it names, and keeps it", async () => {
  const { sites, bench } = await stand();
  for (const [identifier, q, tl] of [
    ["tts://Guten%20Tag?language=de-DE", "Guten Tag", "de-DE"],
    ["tts://how are you? 100% fine", "how are you? 100% fine", "en-AU"],
  ] as const) {
    const [track] = await bench.loadTracks("speak", identifier);
    expect(track?.info.title).toBe(`Speaking ${q}`);
    expect(queryOf(await linkOf(bench, "speak", identifier))).toMatchObject({ q, tl });
    // What it plays is in its identifier.
    expect(queryOf(await linkOf(bench, "speak", track?.info.identifier ?? ""))).toMatchObject({ q, tl });
  }
  expect(sites.server.requests).toHaveLength(0);
});

test.each([
  ["tts://?config=%7B%7D", "need a key; the node reads texts with Google Translate: use tts://<text>?language=<tag>"],
  ["tts://hello?language=../x", "language: expected a language tag"],
])("%s is refused with what to do", async (identifier, text) => {
  const bench = await standAlone();
  expect((await troubleWith(bench.load("speak", identifier))).message).toContain(text);
});

test("a text of up to 200 characters is one track, and a longer one a playlist of all its parts in order", async () => {
  const { sites, bench } = await stand();
  const word = "abcdefghi ";
  expect((await bench.load("speak", `speak:${word.repeat(20).trim()}x`))?.kind).toBe("track");
  const text = `${word.repeat(20).trim()}xy`;
  expect(await bench.load("speak", `speak:${text}`)).toMatchObject({
    kind: "playlist",
    name: "Speaking abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi …",
  });
  const tracks = await bench.loadTracks("speak", `speak:${text}`);
  expect(tracks.map(({ info }) => info.identifier.slice("speak:".length)).join(" ")).toBe(text);
  for (const { encoded } of tracks) {
    const link = await bench.resolve("speak", encoded);
    const response = await fetch(link.kind === "link" ? link.url : "");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "audio/mpeg"]);
    await response.arrayBuffer();
  }
  expect(sites.server.requests.map(({ query }) => query.get("q"))).toHaveLength(tracks.length);
});

test("the longest text of an identifier is spoken completely", async () => {
  const bench = await standAlone();
  const text = Array.from({ length: 900 }, (_, index) => `${index}`)
    .join(" ")
    .slice(0, 3500)
    .trim();
  const tracks = await bench.loadTracks("speak", `speak:${text}`);
  expect(tracks.map(({ info }) => info.identifier.slice("speak:".length)).join(" ")).toBe(text);
  expect(tracks.length).toBeLessThan(20);
});

test("the language is the operator's, and an invalid one turns the plugin off", async () => {
  const bench = await standAlone({ ttsLanguage: "zh-Hant-TW" });
  expect(queryOf(await linkOf(bench, "speak", "speak:x")).tl).toBe("zh-Hant-TW");
  await expect(standAlone({ ttsLanguage: "English please" })).rejects.toThrow("ttsLanguage: expected a language tag");
});

test("an empty text is an empty result, and other identifiers are declined", async () => {
  const bench = await standAlone();
  expect(await bench.load("speak", "speak:")).toEqual({ kind: "empty" });
  expect(await bench.load("speak", "speak: \n ")).toEqual({ kind: "empty" });
  expect(await bench.load("speak", "Speak:x")).toBeUndefined();
  expect(await bench.load("speak", "ftts://x")).toBeUndefined();
  expect(await bench.load("flowery-tts", "ftts://")).toEqual({ kind: "empty" });
  expect(await bench.load("flowery-tts", "ftts://%20?voice=a")).toEqual({ kind: "empty" });
  expect(await bench.load("flowery-tts", "ftts:/x")).toBeUndefined();
  expect(await bench.load("flowery-tts", "speak:x")).toBeUndefined();
});

test("each of the two sources can be switched off", async () => {
  const bench = await standAlone({ speakEnabled: "false", floweryEnabled: "false" });
  expect(await bench.load("speak", "speak:x")).toBeUndefined();
  expect(await bench.load("flowery-tts", "ftts://x")).toBeUndefined();
});

test("a made-up track with a longer text is refused with the reason", async () => {
  const bench = await standAlone();
  const [track] = await bench.loadTracks("speak", `speak:${"a".repeat(200)}`);
  const bytes = Buffer.from(track?.encoded ?? "", "base64");
  // The identifier in it, one character longer: its length is the two bytes before it, the body's is in the header.
  const at = bytes.indexOf("speak:");
  bytes.writeUInt16BE(bytes.readUInt16BE(at - 2) + 1, at - 2);
  bytes.writeUInt32BE(bytes.readUInt32BE(0) + 1, 0);
  const longer = Buffer.concat([bytes.subarray(0, at + 6), Buffer.from("a"), bytes.subarray(at + 6)]);
  const trouble = await troubleWith(bench.resolve("speak", longer.toString("base64")));
  expect(trouble).toMatchObject({ code: "site-unavailable", message: "a track speaks at most 200 characters" });
});

test("parts end with a sentence, else with a clause, else with a word, and never within a character", () => {
  expect(spokenParts("One is here. Two is there. Three", 28)).toEqual(["One is here. Two is there.", "Three"]);
  expect(spokenParts('He said "stop!" Then she left the room.', 20)).toEqual([
    'He said "stop!"',
    "Then she left the",
    "room.",
  ]);
  expect(spokenParts("one two three, four five six", 18)).toEqual(["one two three,", "four five six"]);
  expect(spokenParts("A. one two three four five", 20)).toEqual(["A. one two three", "four five"]);
  expect(spokenParts("version 3.14 is out now", 12)).toEqual(["version 3.14", "is out now"]);
  expect(spokenParts("日本語です。次の文です。", 8)).toEqual(["日本語です。", "次の文です。"]);
  expect(spokenParts("😀😀😀", 3)).toEqual(["😀", "😀", "😀"]);
  expect(spokenParts("abcdefgh", 4)).toEqual(["abcd", "efgh"]);
  expect([spokenParts("", 5), spokenParts(" a ", 5)]).toEqual([[], ["a"]]);
});

test("a flowery text is a track with the whole identifier as its id", async () => {
  const bench = await standAlone();
  const identifier =
    "ftts://Hello%20w%C3%B6rld%3F?voice=abc-1&translate=true&silence=500&speed=1.5&audio_format=ogg_opus";
  const [track] = await bench.loadTracks("flowery-tts", identifier);
  expect(track?.info).toMatchObject({
    identifier,
    uri: identifier,
    title: "Hello wörld?",
    author: "flowery-tts",
    isStream: false,
    sourceName: "flowery-tts",
  });
  const link = await linkOf(bench, "flowery-tts", identifier);
  expect(link.url.startsWith("https://api.flowery.pw/v1/tts?text=")).toBe(true);
  expect(queryOf(link)).toEqual({
    text: "Hello wörld?",
    voice: "abc-1",
    translate: "true",
    silence: "500",
    speed: "1.5",
    audio_format: "ogg_opus",
  });
});

test("missing parameters are the operator's, and without a voice the site chooses one", async () => {
  const plain = await standAlone();
  expect(queryOf(await linkOf(plain, "flowery-tts", "ftts://x"))).toEqual({
    text: "x",
    translate: "false",
    silence: "0",
    speed: "1",
    audio_format: "mp3",
  });
  const set = {
    voice: "v",
    translate: "true",
    silence: "20",
    speed: "2",
    audioFormat: "wav",
    contact: "me@node.exämple",
  };
  const bench = await standAlone(set);
  const link = await linkOf(bench, "flowery-tts", "ftts://x?speed=3&translate=false&silence=");
  expect(queryOf(link)).toEqual({
    text: "x",
    voice: "v",
    translate: "false",
    silence: "20",
    speed: "3",
    audio_format: "wav",
  });
  expect(link.headers).toEqual({ "user-agent": "Tonearm/test (me@node.ex?mple)" });
  expect((await linkOf(plain, "flowery-tts", "ftts://x")).headers).toEqual({ "user-agent": "Tonearm/test" });
});

test.each(["mp3", "ogg_opus", "wav"])("flowery's link as %s leads to a file that plays", async (format) => {
  const { bench } = await stand();
  const link = await linkOf(bench, "flowery-tts", `ftts://some%20words?audio_format=${format}`);
  const response = await fetch(link.url, { headers: link.headers });
  expect(response.headers.get("content-type")).toMatch(/^audio\//);
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(1000);
});

test.each([
  ["ftts://a%20b", { text: "a b" }],
  ["ftts://100% sure", { text: "100% sure" }],
  ["ftts://how are you? fine", { text: "how are you? fine" }],
  ["ftts://why??voice=x", { text: "why?", voice: "x" }],
  ["ftts://a/b:c@d#e", { text: "a/b:c@d#e" }],
  ["ftts://a?voice=Jenny%20Multi&unknown=1", { text: "a", voice: "Jenny Multi" }],
  ["ftts://a?translate=1", { text: "a", translate: true }],
  ["ftts://a?silence=0&speed=0.5", { text: "a", silence: 0, speed: 0.5 }],
  ["ftts://a?silence=10000&speed=10", { text: "a", silence: 10_000, speed: 10 }],
  ["https://api.flowery.pw/v1/tts?text=x", undefined],
])("the identifier %s is parsed", (identifier, expected) => {
  const found = readFloweryIdentifier(identifier);
  const said =
    found === undefined
      ? undefined
      : Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  expect(said).toEqual(expected);
});

test.each([
  ["ftts://a?silence=10001", "silence: expected a whole number from 0 to 10000"],
  ["ftts://a?silence=1.5", "silence: expected a whole number from 0 to 10000"],
  ["ftts://a?silence=-1", "silence: expected a whole number from 0 to 10000"],
  ["ftts://a?speed=0.4", "speed: expected a number from 0.5 to 10"],
  ["ftts://a?speed=11", "speed: expected a number from 0.5 to 10"],
  ["ftts://a?speed=fast", "speed: expected a number from 0.5 to 10"],
  ["ftts://a?translate=maybe", "translate: expected true or false"],
  ["ftts://a?audio_format=midi", "audio_format: expected one of mp3, ogg_opus, ogg_vorbis, aac, wav, flac"],
  [`ftts://${"a".repeat(2049)}`, "ftts:// takes at most 2048 characters"],
])("the identifier %s is refused with the expected form", async (identifier, message) => {
  const bench = await standAlone();
  expect(await troubleWith(bench.load("flowery-tts", identifier))).toMatchObject({ code: "site-unavailable", message });
});

test("a text of 2,048 characters is accepted in any encoding", async () => {
  const bench = await standAlone();
  const [track] = await bench.loadTracks(
    "flowery-tts",
    `ftts://${encodeURIComponent("ä".repeat(600))}${"b".repeat(448)}`,
  );
  expect(track?.info.title).toHaveLength(1048);
  expect(await bench.loadTracks("flowery-tts", `ftts://${"a".repeat(2048)}`)).toHaveLength(1);
});

test("clients that check for the original plugins of `speak:` and `tts://` find their names", async () => {
  const bench = await standAlone();
  expect(bench.manifest.aliases.map(({ name }) => name)).toEqual(["DuncteBot-plugin", "tts-plugin"]);
  expect(bench.manifest.aliases).toEqual(SPEECH_MANIFEST.aliases);
});
