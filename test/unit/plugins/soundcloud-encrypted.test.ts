import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  listTranscodings,
  SOUNDCLOUD_LABEL_TRANSCODINGS,
  SOUNDCLOUD_TRANSCODINGS,
} from "../../../lab/sites/soundcloud.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { SOUNDCLOUD_PAGE as PAGE, SoundCloudTestEnvironment } from "../../support/soundcloud-test-environment.ts";

const LABEL_TRACK = new URL("../../fixtures/sites/soundcloud-label-track.json", import.meta.url);
const PROTECTED = {
  code: "site-unavailable",
  message: "This track is protected by DRM; SoundCloud does not give it to players like this one",
};
const HALF_AN_HOUR_MS = 30 * 60_000;

let env: SoundCloudTestEnvironment;

beforeEach(async () => {
  env = await SoundCloudTestEnvironment.start();
});

afterEach(() => env.close());

/** The error of playing it, and the number of requests that the attempt took. */
async function refusalOf(bench: PluginBench, encoded: string) {
  const before = env.asked("/");
  const trouble = await troubleWith(bench.resolve("soundcloud", encoded));
  return { trouble, requests: env.asked("/") - before };
}

describe("a track that is protected by DRM", () => {
  test("a recorded label track loads as any other, and fails with the reason when it is played", async () => {
    const recorded = JSON.parse(readFileSync(LABEL_TRACK, "utf8"));
    env.site.tracks.set(11, recorded);
    env.site.pages.set(`${PAGE}/label-song`, recorded);
    const bench = await env.bench();
    const track = await env.track(bench, `${PAGE}/label-song`);
    expect(track).toMatchObject({ info: { title: "Label song", length: 131_762 }, pluginInfo: {} });
    const { trouble, requests } = await refusalOf(bench, track.encoded);
    expect(trouble).toMatchObject(PROTECTED);
    // One for each open variant that it lists.
    expect(requests).toBe(2);
  });

  test("a track with encrypted variants only fails without a request", async () => {
    const bench = await env.bench();
    const { encoded } = await env.track(bench, `${PAGE}/encrypted`);
    expect(await refusalOf(bench, encoded)).toMatchObject({ trouble: PROTECTED, requests: 0 });
  });

  test("the 404s of a label track are remembered for half an hour", async () => {
    env.site.addLabelTrack(50, "label");
    const clock = new FakeClock();
    const { encoded } = await env.track(await env.bench(), `${PAGE}/label`);
    const bench = await env.bench({}, clock);
    // It was stored by a client: its variants are requested first, and there is a client id to find.
    expect(await refusalOf(bench, encoded)).toMatchObject({ trouble: PROTECTED, requests: 3 });
    expect(await refusalOf(bench, encoded)).toMatchObject({ trouble: PROTECTED, requests: 0 });
    clock.advance(HALF_AN_HOUR_MS + 1);
    expect(await refusalOf(bench, encoded)).toMatchObject({ trouble: PROTECTED, requests: 2 });
  });

  test("a label track whose open variants are available is played", async () => {
    env.site.addLabelTrack(50, "label");
    const bench = await env.bench();
    const { encoded } = await env.track(bench, `${PAGE}/label`);
    env.site.server.fail({ at: /media.*progressive/, outcome: { json: { url: env.site.server.link("song.mp3") } } });
    expect(await bench.resolve("soundcloud", encoded)).toMatchObject({ variant: "mp3_1_0 progressive" });
  });

  test("a track with encrypted variants and open AAC is played, and not moved in a search", async () => {
    const transcodings = [...SOUNDCLOUD_LABEL_TRANSCODINGS, SOUNDCLOUD_TRANSCODINGS.aacHls];
    env.site.addTrack(50, "both", { title: "Find me", media: { transcodings: listTranscodings(50, transcodings) } });
    env.site.addTrack(51, "open", { title: "Find me too" });
    const bench = await env.bench();
    expect(await env.titles(bench, "scsearch:find me")).toEqual(["Find me", "Find me too"]);
    const { encoded } = await env.track(bench, `${PAGE}/both`);
    expect(await bench.resolve("soundcloud", encoded)).toMatchObject({ variant: "aac_160k hls" });
  });

  test("a transcoding whose protocol is missing is known as encrypted by its address", async () => {
    const [encrypted] = listTranscodings(50, SOUNDCLOUD_LABEL_TRANSCODINGS);
    env.site.addTrack(50, "bare", { media: { transcodings: [{ ...encrypted, format: null }] } });
    const bench = await env.bench();
    const { encoded } = await env.track(bench, `${PAGE}/bare`);
    expect(await refusalOf(bench, encoded)).toMatchObject({ trouble: PROTECTED, requests: 0 });
  });
});

test("an AAC preview does not make a label track an open one", async () => {
  const transcodings = [...SOUNDCLOUD_LABEL_TRANSCODINGS, { ...SOUNDCLOUD_TRANSCODINGS.aacHls, snipped: true }];
  env.site.addTrack(50, "label", { title: "Find me", media: { transcodings: listTranscodings(50, transcodings) } });
  env.site.addTrack(51, "open", { title: "Find me too" });
  expect(await env.titles(await env.bench(), "scsearch:find me")).toEqual(["Find me too", "Find me"]);
});

test.each([
  ["every variant", /media/],
  ["one variant", /media.*progressive/],
])("a refusal of %s of a label track by 403 is reported as such, not as DRM", async (_, at) => {
  env.site.addLabelTrack(50, "label");
  env.site.server.fail({ at, outcome: { status: 403 } });
  const first = await env.bench();
  const { encoded } = await env.track(first, `${PAGE}/label`);
  // Also where the track comes from a client.
  for (const bench of [first, await env.bench()]) {
    const { trouble } = await refusalOf(bench, encoded);
    expect(trouble).toMatchObject({
      code: "site-unavailable",
      message: expect.stringMatching(/^This track is not available: .*HTTP 403.*region.*refuses the node's address$/),
    });
  }
});

test("404s of a track without encrypted variants are remembered, but its variants are read again", async () => {
  env.site.server.fail({ at: /media/, outcome: { status: 404 } });
  const bench = await env.bench();
  const { encoded } = await env.track(bench, `${PAGE}/only-mp3`);
  expect(await refusalOf(bench, encoded)).toMatchObject({
    trouble: { message: expect.stringContaining("all of its variants") },
    requests: 3,
  });
  expect((await refusalOf(bench, encoded)).requests).toBe(1);
});

test("a refusal by 403 is not remembered", async () => {
  const restore = env.site.server.fail({ at: /media/, outcome: { status: 403 } });
  const bench = await env.bench();
  const { encoded } = await env.track(bench, `${PAGE}/only-mp3`);
  await refusalOf(bench, encoded);
  restore();
  expect(await bench.resolve("soundcloud", encoded)).toMatchObject({ kind: "link" });
});

describe("lists with label tracks", () => {
  const NAMES = ["a label", "b open", "c label", "d open", "e encrypted"];

  beforeEach(() => {
    NAMES.forEach((title, index) => {
      const id = 60 + index;
      if (title.endsWith("open")) env.site.addTrack(id, title);
      else env.site.addLabelTrack(id, title);
      Object.assign(env.site.tracks.get(id) ?? {}, { title: `listed ${title}` });
    });
    const encrypted = listTranscodings(64, SOUNDCLOUD_LABEL_TRANSCODINGS.slice(0, 2));
    Object.assign(env.site.tracks.get(64) ?? {}, { media: { transcodings: encrypted } });
  });

  const found = async (options: PlainTree, identifier: string): Promise<string[]> => {
    const titles = await env.titles(await env.bench(options), identifier);
    return titles.map((title) => title.replace("listed ", ""));
  };

  test.each([
    ["behind the others by default", {}, ["b open", "d open", "a label", "c label", "e encrypted"]],
    ["behind the others", { encryptedTracks: "last" }, ["b open", "d open", "a label", "c label", "e encrypted"]],
    ["nowhere, if they are hidden", { encryptedTracks: "hide" }, ["b open", "d open"]],
    ["in the site's order, if they are kept", { encryptedTracks: "keep" }, NAMES],
  ])("a search has tracks that are protected by DRM %s", async (_, options, expected) => {
    expect(await found(options, "scsearch:listed")).toEqual(expected);
  });

  test("sets and lists of users keep their order, and all of their tracks", async () => {
    env.site.addSet(`${PAGE}/sets/labels`, 910, [60, 61, 62, 63, 64]);
    env.site.lists.set(
      "/users/1/tracks",
      [60, 61, 62].map((id) => env.site.tracks.get(id) ?? {}),
    );
    expect(await found({ encryptedTracks: "hide" }, `${PAGE}/sets/labels`)).toEqual(NAMES);
    expect(await found({ encryptedTracks: "hide" }, `${PAGE}/tracks`)).toEqual(NAMES.slice(0, 3));
  });

  test("a search whose tracks are all hidden is empty, and the log names the option once an hour", async () => {
    const clock = new FakeClock();
    const bench = await env.bench({ encryptedTracks: "hide" }, clock);
    expect(await bench.load("soundcloud", "scsearch:listed c")).toEqual({ kind: "empty" });
    const message = expect.stringMatching(
      /^a search found only .*; plugins\.soundcloud\.encryptedTracks: last lists them$/,
    );
    await expect.poll(() => bench.lines).toEqual([expect.objectContaining({ level: "info", message })]);
    for (const query of ["listed", "nowhere", "listed a"]) await bench.load("soundcloud", `scsearch:${query}`);
    expect(bench.lines).toHaveLength(1);
    clock.advance(60 * 60_000);
    await bench.load("soundcloud", "scsearch:listed e");
    await expect.poll(() => bench.lines).toHaveLength(2);
  });

  test("an unknown place for them is refused with the possible ones", async () => {
    await expect(env.bench({ encryptedTracks: "first" })).rejects.toThrow(/encryptedTracks.*last.*hide.*keep/);
  });
});
