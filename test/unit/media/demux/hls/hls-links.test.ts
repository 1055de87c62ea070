import { afterEach, describe, expect, it } from "vitest";
import { type Answer, plainPlan, statusPlan } from "../../../../../lab/media-server/answer-plan.ts";
import { finishedHls, type HlsSegmentFile, LiveHls } from "../../../../../lab/media-server/hls.ts";
import { type LoggedRequest, MediaServer } from "../../../../../lab/media-server/media-server.ts";
import type { SiteLink } from "../../../../../src/bridge/playable-link.ts";
import type { Demuxer } from "../../../../../src/media/demux/demuxer.ts";
import { HlsDemuxer } from "../../../../../src/media/demux/hls/hls-demuxer.ts";
import { openInput } from "../../../../../src/media/input/open-input.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { fakeSegment, openFakeSegment } from "../../../../support/fake-segments.ts";
import { createInputDeps, hurry } from "../../../../support/input-builders.ts";
import { linkTo, ScriptedLinks, SITE_INPUT } from "../../../../support/scripted-links.ts";

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

interface Bench {
  readonly server: MediaServer;
  readonly clock: FakeClock;
  readonly links: ScriptedLinks;
  open(): Promise<HlsDemuxer>;
}

/** Links lead to `/0/index.m3u8`, `/1/index.m3u8` …, each with its own files. */
async function start(
  answer: (request: LoggedRequest) => Answer | undefined,
  changes: (nth: number, clock: FakeClock) => Partial<SiteLink> = () => ({}),
): Promise<Bench> {
  const server = await MediaServer.start({ script: answer });
  const clock = new FakeClock();
  const links = new ScriptedLinks((nth) => linkTo(`${server.url}/${nth}/index.m3u8`, changes(nth, clock)));
  const deps = createInputDeps({ clock, requestLink: links.requestLink });
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
  );
  const open = async (): Promise<HlsDemuxer> => {
    const { source, url = "", link } = await hurry(clock, openInput(SITE_INPUT, deps));
    source.close();
    const demuxer = await hurry(clock, HlsDemuxer.open(new URL(url), { ...deps, link, openSegment: openFakeSegment }));
    cleanups.push(() => demuxer.close());
    return demuxer;
  };
  return { server, clock, links, open };
}

/** The files of a finished playlist below `/0/`, `/1/` …; the first `refusedCount` links are refused for some of it. */
function finished(
  segments: (nth: number) => readonly HlsSegmentFile[],
  isRefused: (nth: number, name: string, earlierRequests: number) => boolean,
  options?: Parameters<typeof finishedHls>[1],
) {
  return ({ path, earlierRequests }: LoggedRequest): Answer | undefined => {
    const [, nth = "0", name = ""] = path.split("/");
    if (isRefused(Number(nth), name, earlierRequests)) return statusPlan(403);
    const content = finishedHls(segments(Number(nth)), options)[name];
    const bytes = Buffer.from(content as string); // Buffer.from accepts either; its overloads do not show it.
    return content === undefined ? undefined : plainPlan(bytes, undefined);
  };
}

async function readPackets(clock: FakeClock, demuxer: Demuxer, count = Number.POSITIVE_INFINITY) {
  const texts: string[] = [];
  const times: number[] = [];
  while (texts.length < count) {
    const packet = await hurry(clock, demuxer.next());
    if (packet === undefined) break;
    texts.push(Buffer.from(packet.data).toString());
    times.push(Math.round(packet.timestampMs));
  }
  return { texts, times };
}

function tens(...names: string[]): string[] {
  return names.flatMap((name) => Array.from({ length: 10 }, (_, index) => `${name}${index}`));
}

function hundreds(count: number, fromMs = 0): number[] {
  return Array.from({ length: count }, (_, index) => fromMs + index * 100);
}

const ABCD = ["a", "b", "c", "d"].map((name) => fakeSegment(name));

describe("a finished playlist behind a link", () => {
  it("a finished playlist continues at the same segment of a renewed one when its segments are refused", async () => {
    const { open, clock, links, server } = await start(
      finished(
        () => ABCD,
        (nth, name) => nth === 0 && name === "c",
      ),
    );
    const received = await readPackets(clock, await open());
    expect(received).toEqual({ texts: tens("a", "b", "c", "d"), times: hundreds(40) });
    expect(links.reasons).toEqual(["start", "refused 403"]);
    expect(server.requests.map(({ path }) => path)).toEqual([
      ...["/0/index.m3u8", "/0/index.m3u8", "/0/a", "/0/b", "/0/c"],
      ...["/1/index.m3u8", "/1/c", "/1/d"],
    ]);
  });

  it("a finished playlist is opened from a renewed link when the playlist itself is refused", async () => {
    const isRefused = (nth: number, name: string, earlier: number) => nth === 0 && name.endsWith("m3u8") && earlier > 0;
    const { open, clock, links } = await start(finished(() => ABCD, isRefused));
    expect((await readPackets(clock, await open())).texts).toEqual(tens("a", "b", "c", "d"));
    expect(links.reasons).toEqual(["start", "refused 403"]);
  });

  it("a link that expires is renewed before a segment is requested with it", async () => {
    const { open, clock, links, server } = await start(
      finished(
        () => ABCD,
        () => false,
      ),
      (_, time) => ({ expiresAtEpochMs: time.epochMs() + 60_000 }),
    );
    const demuxer = await open();
    await readPackets(clock, demuxer, 11);
    await hurry(clock, new Promise<void>((resolve) => clock.after(55_000, resolve)));
    expect((await readPackets(clock, demuxer)).texts.slice(-20)).toEqual(tens("c", "d"));
    expect(links.reasons).toEqual(["start", "expiring"]);
    expect(server.requests.at(-1)?.path).toBe("/1/d");
  });

  it("a finished playlist keeps its times when the numbers of the renewed one start elsewhere", async () => {
    const answer = finished(
      () => ABCD,
      (nth, name) => nth === 0 && name === "c",
    );
    const { open, clock } = await start((request) => {
      const plan = answer(request);
      if (request.path !== "/1/index.m3u8" || typeof plan !== "object") return plan;
      return { ...plan, body: Buffer.from(String(plan.body).replace("SEQUENCE:0", "SEQUENCE:7")) };
    });
    expect(await readPackets(clock, await open())).toEqual({ texts: tens("a", "b", "c", "d"), times: hundreds(40) });
  });

  it("a finished playlist continues by time when the renewed one is cut differently", async () => {
    // The same song in pieces of 700 ms: packets carry their times.
    const piece = (index: number): HlsSegmentFile => {
      const packets = Array.from({ length: 7 }, (_, packet) => `p${index * 7 + packet}`);
      const bytes = Buffer.from(JSON.stringify({ startMs: index * 700, packets, channelCount: 2 }));
      return { name: `p${index}`, bytes, seconds: 0.7 };
    };
    const { open, clock } = await start(
      finished(
        (nth) => (nth === 0 ? ABCD : [0, 1, 2, 3, 4, 5].map(piece)),
        (nth, name) => nth === 0 && name === "c",
      ),
    );
    const { texts, times } = await readPackets(clock, await open());
    expect(times).toEqual(hundreds(42));
    expect(texts).toEqual([...tens("a", "b"), ...Array.from({ length: 22 }, (_, index) => `p${20 + index}`)]);
  });

  it("a finished playlist seeks in the renewed one", async () => {
    const { open, clock } = await start(
      finished(
        () => ABCD,
        (nth, name) => nth === 0 && name === "b",
      ),
    );
    const demuxer = await open();
    await readPackets(clock, demuxer, 15);
    await demuxer.seek(3_500);
    expect((await readPackets(clock, demuxer, 3)).texts).toEqual(["d4", "d5", "d6"]);
    await demuxer.seek(0);
    expect((await readPackets(clock, demuxer, 2)).times).toEqual([0, 100]);
  });

  it("a playlist behind a link fails with the status when the renewed one is refused too, and sends no more requests", async () => {
    const { open, clock, links } = await start(
      finished(
        () => ABCD,
        (_, name) => name === "c",
      ),
    );
    const demuxer = await open();
    await readPackets(clock, demuxer, 20);
    const failure = readPackets(clock, demuxer);
    await expect(failure).rejects.toMatchObject({ code: "link-refused", message: expect.stringContaining("403") });
    expect(links.reasons).toEqual(["start", "refused 403"]);
  });

  it("a reader is notified when a renewed link no longer leads to a playlist", async () => {
    const answer = finished(
      () => ABCD,
      (nth, name) => nth === 0 && name === "c",
    );
    const { open, clock } = await start((request) =>
      request.path.startsWith("/1/") ? plainPlan(Buffer.alloc(100_000), "audio/mpeg") : answer(request),
    );
    const demuxer = await open();
    await expect(readPackets(clock, demuxer)).rejects.toMatchObject({ code: "input-changed", link: expect.anything() });
  });

  it("the link's headers are sent for playlist, segments and keys, wherever they are", async () => {
    const key = Buffer.alloc(16, 5);
    const elsewhere = await MediaServer.start({
      script: ({ path }) =>
        finished(
          () => ABCD,
          () => false,
          { key },
        )({ path: `/0${path}` } as LoggedRequest), // its path is all that is read
    });
    cleanups.push(() => elsewhere.close());
    const answer = finished(
      () => ABCD,
      () => false,
      { key },
    );
    const { open, clock, server } = await start(
      (request) => {
        const plan = answer(request);
        if (!request.path.endsWith("m3u8") || typeof plan !== "object") return plan;
        const text = String(plan.body).replaceAll(/^([a-d])$/gm, `${elsewhere.url}/$1`);
        return { ...plan, body: Buffer.from(text) };
      },
      () => ({ headers: { Cookie: "a=b", Referer: "https://site.example/" } }),
    );
    expect((await readPackets(clock, await open())).texts).toEqual(tens("a", "b", "c", "d"));
    const requests = [...server.requests, ...elsewhere.requests];
    expect(requests.map(({ path }) => path)).toEqual(expect.arrayContaining(["/0/index.m3u8", "/0/hls.key", "/a"]));
    for (const { headers } of requests)
      expect(headers).toMatchObject({ cookie: "a=b", referer: "https://site.example/" });
  });
});

describe("a live playlist behind a link", () => {
  it("a live playlist is reloaded without the link's secrets after a redirect to another host", async () => {
    const live = new LiveHls(
      "abcdefgh".split("").map((name) => fakeSegment(name)),
      5,
    );
    const other = await MediaServer.start({ script: live.answer });
    cleanups.push(() => other.close());
    const { open, clock } = await start(
      () => statusPlan(302, { location: `${other.url}/live/index.m3u8` }),
      () => ({ headers: { cookie: "a=b", referer: "https://site.example/" } }),
    );
    const demuxer = await open();
    live.advance(1);
    await readPackets(clock, demuxer, 40);
    const playlists = other.requests.filter(({ path }) => path.endsWith("m3u8"));
    expect(playlists.length).toBeGreaterThan(2);
    for (const { headers } of playlists) {
      expect([headers.cookie, headers.referer]).toEqual([undefined, "https://site.example/"]);
    }
  });

  it.each(["segments", "playlist"])(
    "a live playlist continues with the same numbers when its %s are refused",
    async (what) => {
      const names = "abcdefghij".split("");
      const live = new LiveHls(
        names.map((name) => fakeSegment(name)),
        5,
      );
      let isGone = false;
      const { open, clock, links } = await start((request) => {
        const [, nth, name = ""] = request.path.split("/");
        const isConcerned = name.endsWith("m3u8") === (what === "playlist");
        if (nth === "0" && isGone && isConcerned) return statusPlan(403);
        return live.answer({ path: `/live/${name}` });
      });
      const demuxer = await open();
      const first = await readPackets(clock, demuxer, 10);
      isGone = true;
      live.advance(3);
      const { texts } = await readPackets(clock, demuxer, 40);
      const from = names.indexOf(first.texts[0]?.[0] ?? "");
      expect([...first.texts, ...texts]).toEqual(tens(...names.slice(from, from + 5)));
      expect(links.reasons).toEqual(["start", "refused 403"]);
    },
  );
});
