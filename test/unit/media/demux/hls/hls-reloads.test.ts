import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, type AnswerPlan, plainPlan, statusPlan } from "../../../../../lab/media-server/answer-plan.ts";
import { finishedHls, LiveHls } from "../../../../../lab/media-server/hls.ts";
import { type LoggedRequest, MediaServer } from "../../../../../lab/media-server/media-server.ts";
import type { Demuxer } from "../../../../../src/media/demux/demuxer.ts";
import { HlsDemuxer } from "../../../../../src/media/demux/hls/hls-demuxer.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { fakeSegment, openFakeSegment } from "../../../../support/fake-segments.ts";
import { startHls } from "../../../../support/hls-bench.ts";
import { createInputDeps, hurry } from "../../../../support/input-builders.ts";

async function readTexts(clock: FakeClock, demuxer: Demuxer, count: number): Promise<string[]> {
  const texts: string[] = [];
  while (texts.length < count) {
    const packet = await hurry(clock, demuxer.next());
    if (packet === undefined) break;
    texts.push(Buffer.from(packet.data).toString());
  }
  return texts;
}

function tens(names: string): string[] {
  return [...names].flatMap((name) => Array.from({ length: 10 }, (_, index) => `${name}${index}`));
}

const SEGMENTS = [..."abcdefghij"].map((name) => fakeSegment(name));
const LIVE = "/live/index.m3u8";

/** A live stream of three segments whose reload number `badNth` and the next `badCount - 1` get another answer. */
async function startLive(bad: (good: Buffer) => Answer, { badNth = 1, badCount = 1, windowLength = 3 } = {}) {
  const live = new LiveHls(SEGMENTS, windowLength);
  const bench = await startHls((request) => {
    const good = live.answer(request);
    const nth = request.path === LIVE ? request.earlierRequests : 0;
    if (nth < badNth || nth >= badNth + badCount || typeof good !== "object") return good;
    return bad(good.body as Buffer); // The live stream's answers are buffers.
  });
  return { ...bench, live };
}

const text = (content: string) => (): Answer => plainPlan(Buffer.from(content), "text/html");

describe("one bad reload of a live playlist", () => {
  it.each<[string, (good: Buffer) => Answer]>([
    ["an empty body", text("")],
    ["a web page", text("<html>busy</html>")],
    ["JSON", text('{"error":"busy"}')],
    ["bytes that are no text", () => plainPlan(Buffer.alloc(3000, 0xff), undefined)],
    ["a line without an end", text(`#EXTM3U\n${"x".repeat(20_000)}`)],
    ["a master playlist", text("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nother.m3u8\n")],
    ["its header only", (good) => plainPlan(good.subarray(0, good.indexOf("#EXTINF")), undefined)],
    ["a cut address", (good) => plainPlan(Buffer.from(`${good.subarray(0, good.length - 2)}./`), undefined)],
    ["a cut tag", (good) => plainPlan(good.subarray(0, good.lastIndexOf("#EXTINF") + 5), undefined)],
    ["the last segment missing", (good) => plainPlan(good.subarray(0, good.lastIndexOf("#EXTINF")), undefined)],
    ["404", () => statusPlan(404)],
    ["403", () => statusPlan(403)],
    ["410", () => statusPlan(410)],
    ["400", () => statusPlan(400)],
    ["another status without a body", () => ({ ...statusPlan(204), body: Buffer.alloc(0) })],
  ])("a live playlist continues after %s", async (_what, bad) => {
    const { open, clock, live } = await startLive(bad);
    const demuxer = await open(LIVE);
    const waiting = readTexts(clock, demuxer, 60);
    live.advance(1);
    clock.after(4_000, () => live.advance(2));
    expect(await waiting).toEqual(tens("abcdef").slice(0, 60));
  });

  it.each<[string, Answer, number]>([
    ["server errors", statusPlan(500), 9],
    ["closed connections", "drop", 20],
    ["HTTP 400", statusPlan(400), 50],
    ["HTTP 204", { ...statusPlan(204), body: Buffer.alloc(0) }, 50],
    ["web pages", plainPlan(Buffer.from("<html>"), undefined), 50],
  ])("a live playlist outlasts half a minute of %s", async (_what, bad, badCount) => {
    const { open, clock, live } = await startLive(() => bad, { badCount });
    const demuxer = await open(LIVE);
    await readTexts(clock, demuxer, 21);
    live.advance(3);
    expect((await readTexts(clock, demuxer, 39)).slice(-30)).toEqual(tens("def"));
    expect(clock.now()).toBeGreaterThan(20_000);
  });

  it("a live playlist that is older than the last one, or empty for a while, repeats and skips nothing", async () => {
    let first: Buffer | undefined;
    const empty = (good: Buffer): Answer => plainPlan(good.subarray(0, good.indexOf("#EXTINF")), undefined);
    const stale = (): Answer => plainPlan(first ?? Buffer.alloc(0), undefined);
    for (const [bad, badNth, badCount] of [
      [empty, 1, 8],
      [stale, 2, 2],
    ] as const) {
      const { open, clock, live } = await startLive(bad, { badNth, badCount, windowLength: 6 });
      first = (live.answer({ path: LIVE }) as AnswerPlan).body as Buffer;
      const demuxer = await open(LIVE);
      live.advance(1);
      expect(await readTexts(clock, demuxer, 40)).toEqual(tens("defg"));
      live.advance(1);
      expect(await readTexts(clock, demuxer, 10)).toEqual(tens("h"));
    }
  });

  it("a live playlist that stays a web page is given up after a minute, with the reason", async () => {
    const { open, clock, server } = await startLive(text("<html>"), { badCount: 1_000 });
    const demuxer = await open(LIVE);
    await expect(readTexts(clock, demuxer, 60)).rejects.toMatchObject({
      code: "input-interrupted",
      message: expect.stringMatching(/no new segments for too long.*does not begin with #EXTM3U/),
    });
    expect(clock.now()).toBeGreaterThan(60_000);
    expect(clock.now()).toBeLessThan(90_000);
    expect(server.requests.length).toBeLessThan(120);
  });

  it("a live playlist that is gone is given up after 20 s", async () => {
    const { open, clock } = await startLive(() => statusPlan(404), { badCount: 1_000 });
    const demuxer = await open(LIVE);
    await expect(readTexts(clock, demuxer, 60)).rejects.toThrow(/HTTP 404/);
    expect(clock.now()).toBeGreaterThan(20_000);
    expect(clock.now()).toBeLessThan(40_000);
  });

  it("a live playlist that turns out to be encrypted in an unknown way ends the track at once", async () => {
    const encrypted = "#EXTM3U\n#EXT-X-KEY:METHOD=SAMPLE-AES,URI=k\n#EXTINF:1,\na\n";
    const { open, clock } = await startLive(text(encrypted), { badCount: 1_000 });
    const demuxer = await open(LIVE);
    await expect(readTexts(clock, demuxer, 60)).rejects.toMatchObject({ code: "hls-unsupported" });
    expect(clock.now()).toBeLessThan(20_000);
  });
});

describe("a live playlist whose address expires", () => {
  it.each([403, 404, 410])("the master playlist is asked again after HTTP %i", async (status) => {
    const live = new LiveHls(SEGMENTS, 3);
    let token = 0;
    let refusedCount = 0;
    const { open, clock, server } = await startHls(({ path }) => {
      if (path === "/master.m3u8") {
        return plainPlan(Buffer.from(`#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n/${token}/live/index.m3u8\n`), undefined);
      }
      const [, used, rest] = /^\/(\d+)(\/.*)$/.exec(path) ?? [];
      if (!rest?.endsWith("m3u8") || Number(used) >= token) return live.answer({ path: rest ?? "" });
      refusedCount++;
      return statusPlan(status);
    });
    const demuxer = await open("/master.m3u8");
    await readTexts(clock, demuxer, 21);
    token = 1;
    live.advance(2);
    expect((await readTexts(clock, demuxer, 29)).slice(-20)).toEqual(tens("de"));
    expect(server.requests.filter(({ path }) => path === "/master.m3u8")).toHaveLength(2);
    expect(refusedCount).toBe(1);
  });

  it("the master playlist is asked again after two answers in a row that are no playlist", async () => {
    const live = new LiveHls(SEGMENTS, 3);
    let token = 0;
    let badCount = 0;
    const { open, clock } = await startHls(({ path }) => {
      if (path === "/master.m3u8") {
        return plainPlan(Buffer.from(`#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n/${token}/live/index.m3u8\n`), undefined);
      }
      const [, used, rest] = /^\/(\d+)(\/.*)$/.exec(path) ?? [];
      if (!rest?.endsWith("m3u8") || Number(used) >= token) return live.answer({ path: rest ?? "" });
      badCount++;
      return plainPlan(Buffer.from("<html>expired</html>"), "text/html");
    });
    const demuxer = await open("/master.m3u8");
    await readTexts(clock, demuxer, 21);
    token = 1;
    live.advance(2);
    expect((await readTexts(clock, demuxer, 29)).slice(-20)).toEqual(tens("de"));
    expect(badCount).toBe(2);
  });

  it.each([
    ["from the beginning", 1],
    ["later", 0],
  ])("the address that redirected to the playlist is asked when its target is refused %s", async (_when, first) => {
    const live = new LiveHls(SEGMENTS, 3);
    let token = first;
    const { open, clock } = await startHls(({ path }) => {
      if (path === "/start") return statusPlan(302, { location: `/${token}/live/index.m3u8` });
      const [, used, rest] = /^\/(\d+)(\/.*)$/.exec(path) ?? [];
      return Number(used) < token ? statusPlan(403) : live.answer({ path: rest ?? "" });
    });
    const demuxer = await open("/0/live/index.m3u8", "/start");
    await readTexts(clock, demuxer, 21);
    token++;
    live.advance(2);
    expect((await readTexts(clock, demuxer, 29)).slice(-20)).toEqual(tens("de"));
  });
});

describe("an HLS stream of which nothing can be played", () => {
  const missing = ({ path }: LoggedRequest): Answer | undefined =>
    path.endsWith("m3u8") ? undefined : statusPlan(404);

  it("a live playlist whose segments are missing fails as soon as each of them was tried", async () => {
    const live = new LiveHls(SEGMENTS, 3);
    const { open, clock, server } = await startHls((request) => missing(request) ?? live.answer(request));
    await expect(open(LIVE)).rejects.toMatchObject({
      code: "hls-playlist-invalid",
      message: expect.stringMatching(/no segment of it can be played: .*HTTP 404/),
    });
    expect(clock.now()).toBeLessThan(1_000);
    expect(server.requests.map(({ path }) => path)).toEqual([LIVE, "/live/0", "/live/1", "/live/2"]);
  });

  it("a playlist whose segments hold something else fails with the reason", async () => {
    const files = finishedHls([{ ...fakeSegment("a"), bytes: Buffer.from("<html>") }]);
    const server = await MediaServer.start({ files });
    const deps = createInputDeps({ clock: new FakeClock() });
    onTestFinished(async () => {
      await deps.client.close();
      await server.close();
    });
    const opening = HlsDemuxer.open(new URL("/index.m3u8", server.url), { ...deps, openSegment: openFakeSegment });
    await expect(opening).rejects.toMatchObject({
      code: "media-damaged",
      message: "opening an HLS stream: no segment of it can be played: no fake segment",
    });
  });

  it("a probe of a playlist whose segments are on a host that refuses connections fails at once", async () => {
    const gone = await MediaServer.start({ files: {} });
    await gone.close();
    const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n${"#EXTINF:1,\n/a\n".replaceAll("/a", `${gone.url}/a`).repeat(9)}`;
    const { server, clock } = await startHls(() => plainPlan(Buffer.from(playlist), undefined));
    const deps = createInputDeps({ clock });
    onTestFinished(() => deps.client.close());
    const url = new URL("/index.m3u8", server.url);
    const opening = HlsDemuxer.open(url, { ...deps, openSegment: openFakeSegment, isProbe: true });
    await expect(hurry(clock, opening)).rejects.toMatchObject({
      code: "input-unreachable",
      message: expect.stringMatching(/no segment of it can be played: .*connection refused/),
    });
    expect(clock.now()).toBeLessThan(1_500);
  });

  it("a finished playlist whose segments have no durations is played as a stream of unknown length", async () => {
    const playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:0\n#EXTINF:0,\na\n#EXTINF:0,\nb\n#EXT-X-ENDLIST\n";
    const { open, clock } = await startHls(({ path }) => {
      const segment = SEGMENTS.find(({ name }) => path === `/${name}`);
      return plainPlan(Buffer.from(segment?.bytes ?? playlist), undefined);
    });
    const demuxer = await open("/index.m3u8");
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, false]);
    expect(await readTexts(clock, demuxer, 30)).toEqual(tens("ab"));
  });
});
