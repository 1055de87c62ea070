import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SOUNDCLOUD_TRANSCODINGS as ALL, listTranscodings, SOUNDCLOUD_SECRET } from "../../../lab/sites/soundcloud.ts";
import { createTrack } from "../../../src/track/track.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import {
  SOUNDCLOUD_API as API,
  SOUNDCLOUD_PAGE as PAGE,
  SoundCloudTestEnvironment,
} from "../../support/soundcloud-test-environment.ts";

const NOW_MS = 1_800_000_000_000;
const TRANSCODING_URL = `https://${API}/media/soundcloud:tracks:11`;

let env: SoundCloudTestEnvironment;

beforeEach(async () => {
  env = await SoundCloudTestEnvironment.start();
});

afterEach(() => env.close());

async function play(bench: PluginBench, page: string) {
  return bench.resolve("soundcloud", (await env.track(bench, page)).encoded);
}

/** A track as stored by a client. */
function encoded(identifier: string, uri: string | null = null): string {
  const info = {
    identifier,
    isSeekable: true,
    author: "A",
    length: 30_000,
    isStream: false,
    position: 0,
    title: "T",
    uri,
    sourceName: "soundcloud",
    artworkUrl: null,
    isrc: null,
  };
  return createTrack(info, { kind: "none" }).encoded;
}

describe("the variant", () => {
  test("the preferred variant is Opus, and its link can be fetched", async () => {
    const link = await play(await env.bench(), `${PAGE}/song`);
    expect(link).toMatchObject({ kind: "link", variant: "opus_0_0 hls" });
    const list = await (await fetch(link.kind === "link" ? link.url : "")).text();
    expect(list).toContain("#EXTINF:2.000,");
  });

  test("a variant may have a link as long as signed ones are", async () => {
    env.site.linkQuery = { Policy: "p".repeat(4000) };
    expect(await play(await env.bench(), `${PAGE}/song`)).toMatchObject({ kind: "link" });
  });

  test.each([
    ["AAC", [ALL.mp3Hls, ALL.mp3Progressive, ALL.aacHls], "aac_160k hls"],
    ["AAC of the highest bit rate", [{ ...ALL.aacHls, preset: "aac_96k" }, ALL.aacHls], "aac_160k hls"],
    ["a whole MP3 file", [ALL.mp3Hls, ALL.mp3Progressive], "mp3_1_0 progressive"],
    ["MP3 in segments", [ALL.mp3Hls], "mp3_1_0 hls"],
    ["a whole one before a preview", [{ ...ALL.opusHls, snipped: true }, ALL.aacHls], "aac_160k hls"],
    ["a preview, if there is nothing else", [{ ...ALL.opusHls, snipped: true }], "opus_0_0 hls preview"],
    ["none with changing bit rates", [{ ...ALL.opusHls, preset: "abr_sq" }, ALL.mp3Hls], "mp3_1_0 hls"],
  ])("the next best variant is %s", async (_, transcodings, variant) => {
    env.site.addTrack(40, "some", { media: { transcodings: listTranscodings(40, transcodings) } });
    expect(await play(await env.bench(), `${PAGE}/some`)).toMatchObject({ variant });
  });

  test.each([404, 403])("a variant that is answered with %i is skipped for the next one", async (status) => {
    env.site.server.fail({ at: /media.*opus/, outcome: { status } });
    expect(await play(await env.bench(), `${PAGE}/song`)).toMatchObject({ variant: "aac_160k hls" });
  });

  test("the variant played last is kept when its link is renewed", async () => {
    const bench = await env.bench();
    const track = await env.track(bench, `${PAGE}/song`);
    const linkRequest = { reason: "expiring", variant: "mp3_1_0 hls" } as const;
    expect(await bench.resolve("soundcloud", track.encoded, linkRequest)).toMatchObject({ variant: "mp3_1_0 hls" });
    env.site.server.fail({ at: /mp3_1_0.*hls/, outcome: { status: 404 } });
    expect(await bench.resolve("soundcloud", track.encoded, linkRequest)).toMatchObject({ variant: "opus_0_0 hls" });
  });

  test("a variant whose link leads to a preview is skipped for a complete one", async () => {
    const url = env.site.server.link("preview/opus/song.m3u8");
    env.site.server.fail({ at: /media.*opus/, outcome: { json: { url } } });
    expect(await play(await env.bench(), `${PAGE}/song`)).toMatchObject({ variant: "aac_160k hls" });
    env.site.server.fail({ at: /media.*/, outcome: { json: { url } } });
    expect(await play(await env.bench(), `${PAGE}/song`)).toMatchObject({ variant: "opus_0_0 hls preview" });
    const strict = await env.bench({ filterOutPreviewTracks: "true" });
    expect((await troubleWith(play(strict, `${PAGE}/song`))).message).toContain("only a preview");
  });

  test("a track without variants is reported in Lavalink's words", async () => {
    env.site.addTrack(41, "none", { media: { transcodings: [] } });
    const trouble = await troubleWith(play(await env.bench(), `${PAGE}/none`));
    expect(trouble).toMatchObject({ code: "site-unavailable", message: "Did not detect any supported formats" });
  });

  test("a variant is only requested at the API, whatever the track says", async () => {
    const [transcoding] = listTranscodings(42, [ALL.opusHls]);
    const elsewhere = { ...transcoding, url: "https://example.org/media/soundcloud:tracks:42/stream/hls" };
    env.site.addTrack(42, "elsewhere", { media: { transcodings: [elsewhere] } });
    expect((await troubleWith(play(await env.bench(), `${PAGE}/elsewhere`))).message).toContain("formats");
  });

  test("a track whose variants are all refused is unavailable", async () => {
    env.site.server.fail({ at: /media/, outcome: { status: 404 } });
    expect((await troubleWith(play(await env.bench(), `${PAGE}/preview`))).message).toContain("all of its variants");
  });

  test("a blocked track has no variant", async () => {
    const trouble = await troubleWith((await env.bench()).resolve("soundcloud", encoded("14")));
    expect(trouble).toMatchObject({ code: "site-unavailable", message: expect.stringContaining("region") });
  });

  test("a track that the site refuses has no variant, and fails with the site's message", async () => {
    const bench = await env.bench();
    const restore = env.site.server.fail({ at: /\/(tracks|resolve)$/, outcome: { status: 403 } });
    const trouble = await troubleWith(bench.resolve("soundcloud", encoded("11")));
    expect(trouble.message).toMatch(/^This track is not available: SoundCloud answered HTTP 403: /);
    restore();
    expect((await troubleWith(bench.resolve("soundcloud", encoded("999")))).message).toBe(
      "This track is not available",
    );
  });
});

describe("a link", () => {
  const policy = Buffer.from('{"Statement":[{"Condition":{"DateLessThan":{"AWS:EpochTime":1800000777}}}]}').toString(
    "base64",
  );

  test.each([
    ["what its query says", "song", { expires: "1800000600" }, NOW_MS + 600_000],
    ["what its policy says", "song", { Policy: policy.replaceAll("+", "-").replaceAll("=", "_") }, NOW_MS + 777_000],
    ["four minutes, in segments", "song", {}, NOW_MS + 240_000],
    ["four minutes, where the query names a time that is over", "song", { expires: "1700000000" }, NOW_MS + 240_000],
    ["four minutes, if the policy is invalid", "song", { Policy: "x" }, NOW_MS + 240_000],
  ])("a link is valid for %s", async (_, slug, query, expiresAtEpochMs) => {
    env.site.linkQuery = query;
    const bench = await env.bench({}, new FakeClock({ epochMs: NOW_MS }));
    expect(await play(bench, `${PAGE}/${slug}`)).toMatchObject({ expiresAtEpochMs });
  });

  test("a link to a whole file without an expiry is valid until it is refused", async () => {
    expect(await play(await env.bench(), `${PAGE}/only-mp3`)).toMatchObject({ expiresAtEpochMs: undefined });
  });

  test("a link is requested at once if the track has just been loaded", async () => {
    await play(await env.bench(), `${PAGE}/song`);
    expect(env.asked("/resolve") + env.asked("/tracks")).toBe(1);
    expect(env.asked("/media")).toBe(1);
  });

  test.each(["refused", "expiring"] as const)(
    "a link that is %s is requested again, and so is its track",
    async (reason) => {
      const bench = await env.bench();
      const { encoded: track } = await env.track(bench, `${PAGE}/song`);
      const first = await bench.resolve("soundcloud", track);
      env.site.server.expireLinks();
      const second = await bench.resolve("soundcloud", track, { reason, status: 403, variant: "opus_0_0 hls" });
      expect(second).not.toEqual(first);
      expect(await fetch(second.kind === "link" ? second.url : "")).toMatchObject({ status: 200 });
      expect(env.asked("/tracks")).toBe(1);
    },
  );

  test("a link is found although the variants have moved since the track was loaded", async () => {
    const bench = await env.bench();
    const { encoded: track } = await env.track(bench, `${PAGE}/song`);
    env.site.tracks.set(11, {
      ...env.site.tracks.get(11),
      media: { transcodings: listTranscodings(11, [ALL.aacHls]) },
    });
    env.site.server.fail({ at: /media.*(opus|mp3)/, outcome: { status: 404 } });
    expect(await bench.resolve("soundcloud", track)).toMatchObject({ variant: "aac_160k hls" });
  });

  test("an invalid link is reported as a change of the site", async () => {
    env.site.server.fail({ at: /media/, outcome: { json: { url: "file:///etc/passwd" } } });
    expect((await troubleWith(play(await env.bench(), `${PAGE}/song`))).code).toBe("site-changed");
  });

  test("a link of a secret track is requested with its secret, also from the encoded track alone", async () => {
    const page = `${PAGE}/hidden/${SOUNDCLOUD_SECRET}`;
    const { encoded: track } = await env.track(await env.bench(), page);
    expect(await (await env.bench()).resolve("soundcloud", track)).toMatchObject({ variant: "opus_0_0 hls" });
    for (const { query } of env.site.server.requestsTo(API).filter(({ path }) => path.startsWith("/media"))) {
      expect(query.get("secret_token")).toBe(SOUNDCLOUD_SECRET);
    }
    // Numbers alone do not open it: its page is requested at once.
    expect(env.asked("/tracks")).toBe(0);
  });
});

test("a secret that the site does not repeat is the one of the request", async () => {
  const page = `${PAGE}/quiet/${SOUNDCLOUD_SECRET}`;
  env.site.addTrack(43, `quiet/${SOUNDCLOUD_SECRET}`, { permalink_url: `${PAGE}/quiet` });
  const bench = await env.bench();
  expect((await env.track(bench, page)).info.uri).toBe(page);
  await play(bench, page);
  expect(env.site.server.requestsTo(API).at(-1)?.query.get("secret_token")).toBe(SOUNDCLOUD_SECRET);
});

describe("an encoded track", () => {
  test.each([
    ["Lavalink's Opus", `O:${TRANSCODING_URL}/0b0b/stream/hls`, null],
    ["Lavalink's MP3 in segments", `U:${TRANSCODING_URL}/0b0b/stream/hls`, null],
    ["Lavalink's MP3", `M:${TRANSCODING_URL}/0b0b/stream/progressive`, null],
    [
      "an older transcoding address",
      "O:https://api.soundcloud.com/media/soundcloud%3Atracks%3A11/0b0b/stream/hls",
      null,
    ],
    ["NodeLink's number", "11", null],
    ["one whose number no longer exists", "999", `${PAGE}/song`],
    ["one whose identifier is unknown", "X:what", `${PAGE}/song`],
  ])("an encoded track with %s as identifier is played", async (_, identifier, uri) => {
    const link = await (await env.bench()).resolve("soundcloud", encoded(identifier, uri));
    expect(link).toMatchObject({ kind: "link", variant: "opus_0_0 hls" });
  });

  test.each([
    ["whose identifier and address are unknown", "what", "https://example.org/song"],
    ["that names a set", "what", `${PAGE}/sets/mix`],
    ["with another host's transcoding address", "O:https://example.org/soundcloud:tracks:11/stream/hls", null],
    ["that no longer exists", "999", null],
  ])("an encoded track %s is unavailable", async (_, identifier, uri) => {
    const trouble = await troubleWith((await env.bench()).resolve("soundcloud", encoded(identifier, uri)));
    expect(trouble).toMatchObject({ code: "site-unavailable", message: "This track is not available" });
  });
});
