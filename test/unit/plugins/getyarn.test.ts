import { afterEach, beforeEach, expect, test } from "vitest";
import { GetyarnSite } from "../../../lab/sites/getyarn.ts";
import { readClipPage } from "../../../plugins/getyarn/clip-page.ts";
import getyarn from "../../../plugins/getyarn/plugin.ts";
import { createTrack } from "../../../src/track/track.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const SOURCE = "getyarn.io";
const CLIP = "https://getyarn.io/yarn-clip/0a1b2c3d-1111-2222-3333-444455556666";

let stand: GetyarnSite;
let bench: PluginBench;

beforeEach(async () => {
  stand = await GetyarnSite.start();
  bench = await PluginBench.start(getyarn, { hosts: stand.hosts });
});

afterEach(async () => {
  bench.close();
  await stand.close();
});

test.each([CLIP, CLIP.replace("https://", "http://www."), CLIP.replace("https://", ""), `${CLIP}/?x=1#y`])(
  "%s is a clip with its video's address as identifier",
  async (identifier) => {
    const [track] = await bench.loadTracks(SOURCE, identifier);
    expect(track?.info).toMatchObject({
      identifier: stand.filmUrl,
      uri: CLIP,
      title: `It's "on"`,
      author: "Unknown",
      sourceName: SOURCE,
      isStream: false,
      isSeekable: true,
    });
    const link = await bench.resolve(SOURCE, track?.encoded ?? "");
    if (link.kind !== "link") throw new Error("no link");
    const answer = await fetch(link.url);
    expect(new TextDecoder().decode((await answer.arrayBuffer()).slice(0, 4))).toBe("RIFF");
  },
);

test.each([
  "https://getyarn.io/",
  "https://getyarn.io/yarn-find?text=x",
  "https://getyarn.io/yarn-clip/",
  "https://getyarn.io/yarn-clip/../../x",
  "https://getyarn.io.example/yarn-clip/1",
  "ytsearch:x",
])("the identifier %s is not getyarn's", async (identifier) => {
  expect(await bench.load(SOURCE, identifier)).toBeUndefined();
  expect(stand.site.requests).toEqual([]);
});

test("a removed clip is an empty result", async () => {
  expect(await bench.load(SOURCE, "https://getyarn.io/yarn-clip/none")).toEqual({ kind: "empty" });
});

test.each([
  ["names no video", { text: "<meta property='og:video:secure_url' content='javascript:alert(1)'>" }],
  ["has 50 MB", { bytes: new Uint8Array(50 * 1024 * 1024).fill(60) }],
  ["redirects to itself", { status: 301, headers: { location: CLIP } }],
])("a page that %s is reported as a change of the site", async (_name, outcome) => {
  stand.site.fail({ at: /yarn-clip/, outcome });
  expect(await troubleWith(bench.load(SOURCE, CLIP))).toMatchObject({ code: "site-changed" });
});

test("clips without a video do not open the circuit breaker", async () => {
  for (let index = 0; index < 6; index++) {
    stand.site.fail({ at: /yarn-clip\/bare/, outcome: { text: "<html></html>" } });
    await troubleWith(bench.load(SOURCE, `https://getyarn.io/yarn-clip/bare${index}`));
  }
  expect(await bench.loadTracks(SOURCE, CLIP)).toHaveLength(1);
});

test.each([
  [403, "site-unavailable"],
  [429, "site-busy"],
  [503, "site-busy"],
])("HTTP %i is reported as %s", async (status, code) => {
  stand.site.fail({ at: /yarn-clip/, outcome: { status, headers: { "retry-after": "7" } } });
  expect(await troubleWith(bench.load(SOURCE, CLIP))).toMatchObject({ code });
});

test("a refused video is searched on its page again", async () => {
  const [track] = await bench.loadTracks(SOURCE, CLIP);
  const first = await bench.resolve(SOURCE, track?.encoded ?? "");
  stand.moveFilm();
  const second = await bench.resolve(SOURCE, track?.encoded ?? "", { reason: "refused", status: 403 });
  expect(first).toMatchObject({ url: track?.info.identifier });
  expect(second).toMatchObject({ url: stand.filmUrl });
  expect(stand.filmUrl).not.toBe(track?.info.identifier);
});

test("a track whose identifier is no address is refused", async () => {
  const info = {
    identifier: "film.mp4",
    uri: null,
    title: "T",
    author: "A",
    sourceName: SOURCE,
    length: 5000,
    position: 0,
    isSeekable: true,
    isStream: false,
    artworkUrl: null,
    isrc: null,
  };
  const { encoded } = createTrack(info, { kind: "none" });
  expect(await troubleWith(bench.resolve(SOURCE, encoded))).toMatchObject({ code: "site-unavailable" });
});

test.each(["<meta ", '<meta property="', "<meta property='og:title' ", `<meta a"b" 'c' `])(
  "4 MB of %s are parsed in time that does not grow with their length",
  (piece) => {
    const startMs = performance.now();
    expect(readClipPage(piece.repeat((4 * 1024 * 1024) / piece.length))).toEqual({
      videoUrl: undefined,
      title: undefined,
    });
    expect(performance.now() - startMs).toBeLessThan(10_000);
  },
);
