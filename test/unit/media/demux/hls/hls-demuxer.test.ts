import { afterEach, describe, expect, it } from "vitest";
import { plainPlan, statusPlan } from "../../../../../lab/media-server/answer-plan.ts";
import { finishedHls, LiveHls } from "../../../../../lab/media-server/hls.ts";
import { MediaServer, type MediaServerOptions } from "../../../../../lab/media-server/media-server.ts";
import type { ByteBudget } from "../../../../../src/lib/byte-budget.ts";
import type { Demuxer } from "../../../../../src/media/demux/demuxer.ts";
import { HlsDemuxer } from "../../../../../src/media/demux/hls/hls-demuxer.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { fakeSegment, openFakeSegment } from "../../../../support/fake-segments.ts";
import { createInputDeps, hurry, until } from "../../../../support/input-builders.ts";

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

interface Bench {
  readonly server: MediaServer;
  readonly clock: FakeClock;
  readonly memory: ByteBudget;
  open(path?: string): Promise<HlsDemuxer>;
}

async function start(options: MediaServerOptions): Promise<Bench> {
  const server = await MediaServer.start(options);
  const clock = new FakeClock();
  const deps = createInputDeps({ clock });
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
  );
  const open = async (path = "/index.m3u8"): Promise<HlsDemuxer> => {
    const opening = HlsDemuxer.open(new URL(path, server.url), { ...deps, openSegment: openFakeSegment });
    const demuxer = await hurry(clock, opening);
    cleanups.push(() => demuxer.close());
    return demuxer;
  };
  return { server, clock, memory: deps.budget.memory, open };
}

interface ReceivedAudio {
  readonly texts: string[];
  readonly times: number[];
}

async function readPackets(demuxer: Demuxer, count = Number.POSITIVE_INFINITY): Promise<ReceivedAudio> {
  const received: ReceivedAudio = { texts: [], times: [] };
  while (received.texts.length < count) {
    const packet = await demuxer.next();
    if (packet === undefined) break;
    received.texts.push(Buffer.from(packet.data).toString());
    received.times.push(Math.round(packet.timestampMs));
  }
  return received;
}

function tens(...names: string[]): string[] {
  return names.flatMap((name) => Array.from({ length: 10 }, (_, index) => `${name}${index}`));
}

function hundreds(count: number, fromMs = 0): number[] {
  return Array.from({ length: count }, (_, index) => fromMs + index * 100);
}

const ABC = [fakeSegment("a"), fakeSegment("b"), fakeSegment("c")];

describe("a finished playlist", () => {
  it("a finished HLS playlist plays from start to end without a seam and reports its length", async () => {
    const { open, server } = await start({ files: finishedHls(ABC) });
    const demuxer = await open();
    expect(demuxer.info).toMatchObject({ lengthMs: 3_000, probeName: "m3u|hls-outer" });
    expect(demuxer.isSeekable).toBe(true);
    const { stream } = demuxer;
    const { texts, times } = await readPackets(demuxer);
    expect(texts).toEqual(tens("a", "b", "c"));
    expect(times).toEqual(hundreds(30));
    expect(demuxer.stream).toBe(stream);
    expect(await demuxer.next()).toBeUndefined();
    expect(server.requests.map(({ path }) => path)).toEqual(["/index.m3u8", "/a", "/b", "/c"]);
  });

  it("clocks inside HLS segments do not show, whatever they begin with", async () => {
    const segments = [95_443_000, 95_444_000, 7_000].map((startMs, index) => fakeSegment("abc"[index]!, { startMs }));
    const { open } = await start({ files: finishedHls(segments) });
    expect((await readPackets(await open())).times).toEqual(hundreds(30));
  });

  it("encoder delay at the start of an HLS stream keeps its negative time", async () => {
    const segments = [fakeSegment("a", { startMs: -100 }), fakeSegment("b")];
    const { open } = await start({ files: finishedHls(segments) });
    expect((await readPackets(await open())).times).toEqual(hundreds(20, -100));
  });

  it("an HLS seek goes to the segment and begins a pre-roll before the target", async () => {
    const { open, server } = await start({ files: finishedHls(ABC) });
    const demuxer = await open();
    await demuxer.seek(2_350);
    const { texts, times } = await readPackets(demuxer, 3);
    expect(texts).toEqual(["c2", "c3", "c4"]);
    expect(times).toEqual([2_200, 2_300, 2_400]);
    await demuxer.seek(1_000);
    expect((await readPackets(demuxer, 2)).texts).toEqual(["a9", "b0"]);
    await demuxer.seek(0);
    expect((await readPackets(demuxer, 2)).times).toEqual([0, 100]);
    await demuxer.seek(99_000);
    expect(await demuxer.next()).toBeUndefined();
    expect(server.requests.some(({ path }) => path === "/b")).toBe(true);
  });

  it.each([
    [5, 2_500, "c4"],
    [10, 2_500, "c4"],
    [15, 600, "a5"],
  ])("an HLS seek while packet %i is awaited takes precedence", async (receivedBefore, positionMs, expected) => {
    const { open } = await start({ files: finishedHls(ABC) });
    const demuxer = await open();
    await readPackets(demuxer, receivedBefore);
    const awaited = demuxer.next();
    await demuxer.seek(positionMs);
    expect(Buffer.from((await awaited)?.data ?? []).toString()).toBe(expected);
  });

  it("HLS uses the media's clock after a seek when durations are inexact", async () => {
    const segments = [0, 1_080, 2_160].map((startMs, index) =>
      fakeSegment("abc"[index]!, { startMs: 5_000 + startMs }),
    );
    const { open } = await start({ files: finishedHls(segments) });
    const demuxer = await open();
    await readPackets(demuxer, 1);
    await demuxer.seek(2_500);
    expect((await readPackets(demuxer, 1)).times).toEqual([2_360]);
  });

  it.each([undefined, Buffer.alloc(16, 7)])("a finished HLS playlist is decrypted with AES-128, IV %s", async (iv) => {
    const key = Buffer.from("0123456789abcdef");
    const { open, server } = await start({ files: finishedHls(ABC, { key, ...(iv && { iv }) }) });
    expect((await readPackets(await open())).texts).toEqual(tens("a", "b", "c"));
    expect(server.requests.filter(({ path }) => path === "/hls.key").length).toBe(1);
  });

  it("an HLS playlist plays initialisation sections, byte ranges and a change of format at a discontinuity", async () => {
    const [a, b, c] = [fakeSegment("a"), fakeSegment("b"), fakeSegment("c", { channelCount: 1 })];
    const file = Buffer.concat([Buffer.from("init:"), a.bytes, b.bytes]);
    const playlist = `#EXTM3U
#EXT-X-TARGETDURATION:1
#EXT-X-MAP:URI="file",BYTERANGE="5@0"
#EXTINF:1,
#EXT-X-BYTERANGE:${a.bytes.length}@5
file
#EXTINF:1,
#EXT-X-BYTERANGE:${b.bytes.length}
file
#EXT-X-DISCONTINUITY
#EXT-X-MAP:URI="init2"
#EXTINF:1,
c
#EXT-X-ENDLIST`;
    const { open } = await start({ files: { "index.m3u8": playlist, file, init2: "init:", c: c.bytes } });
    const demuxer = await open();
    expect(demuxer.stream.channelCount).toBe(2);
    const { texts, times } = await readPackets(demuxer);
    expect(texts).toEqual(tens("a", "b", "c"));
    expect(times).toEqual(hundreds(30));
    expect(demuxer.stream.channelCount).toBe(1);
  });

  it("timestamps of packed audio are removed", async () => {
    const id3 = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 5]);
    const segments = ABC.map(({ bytes, ...rest }) => ({ ...rest, bytes: Buffer.concat([id3, id3, bytes]) }));
    const { open } = await start({ files: finishedHls(segments) });
    expect((await readPackets(await open())).texts).toEqual(tens("a", "b", "c"));
  });

  it("a missing or damaged HLS segment is left out and the rest keeps its time", async () => {
    const { b: _, ...files } = finishedHls([...ABC, fakeSegment("d"), fakeSegment("e")]);
    const { open } = await start({ files: { ...files, d: "garbage" } });
    const { texts, times } = await readPackets(await open());
    expect(texts).toEqual(tens("a", "c", "e"));
    expect(times).toEqual([...hundreds(10), ...hundreds(10, 2_000), ...hundreds(10, 4_000)]);
  });

  it("too many missing HLS segments in a row are an error", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const all = finishedHls(names.map((name) => fakeSegment(name)));
    const { open } = await start({ files: { "index.m3u8": all["index.m3u8"]!, a: all.a! } });
    const demuxer = await open();
    await readPackets(demuxer, 10);
    await expect(demuxer.next()).rejects.toMatchObject({ code: "input-not-found" });
  });

  it("an HLS segment whose connection is lost or refused for a while is fetched again", async () => {
    const { open, clock } = await start({
      files: finishedHls(ABC),
      script: ({ path, earlierRequests }) => {
        if (path !== "/b" || earlierRequests > 1) return undefined;
        const cut = { ...plainPlan(ABC[1]!.bytes, undefined), fault: { kind: "cut", afterBytes: 20 } } as const;
        return earlierRequests === 0 ? cut : statusPlan(503);
      },
    });
    const demuxer = await open();
    expect((await hurry(clock, readPackets(demuxer))).texts).toEqual(tens("a", "b", "c"));
  });

  it("the HLS reader holds two segments at a time and releases everything when it is closed", async () => {
    const large = ["a", "b", "c", "d"].map((name) => {
      const { bytes, ...rest } = fakeSegment(name);
      return { ...rest, bytes: Buffer.concat([bytes, Buffer.alloc(1_000_000, " ")]) };
    });
    const key = Buffer.from("0123456789abcdef");
    const { open, memory } = await start({ files: finishedHls(large, { key }) });
    const demuxer = await open();
    await readPackets(demuxer, 25);
    expect(memory.usedBytes).toBeGreaterThan(1_000_000);
    expect(memory.usedBytes).toBeLessThan(2_200_000);
    demuxer.close();
    await until(() => memory.usedBytes === 0);
  });

  it("a key and a section for every segment are requested no faster than the track's rate limit", async () => {
    const names = Array.from({ length: 160 }, (_, index) => `s${index}`);
    const lines = names.map((name) => `#EXT-X-MAP:URI="init?${name}"\n#EXTINF:0,\n${name}\n`);
    const { open, clock, server } = await start({
      files: {
        "index.m3u8": `#EXTM3U\n${lines.join("")}#EXT-X-ENDLIST`,
        init: "init:",
        ...Object.fromEntries(names.map((name) => [name, fakeSegment(name).bytes])),
      },
    });
    const { texts } = await hurry(clock, readPackets(await open()));
    expect(texts).toHaveLength(1600);
    expect(server.requests).toHaveLength(321);
    expect(clock.now()).toBeGreaterThanOrEqual(((321 - 120) / 20) * 1000);
  });

  it("HLS segments without audio end the track, and are not requested forever", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    const silence = Buffer.from(JSON.stringify({ startMs: 0, packets: [], channelCount: 2 }));
    const segments = names.map((name) => ({ name, bytes: silence, seconds: 1 }));
    const { open, clock, server } = await start({ files: finishedHls(segments) });
    const demuxer = await open();
    await expect(hurry(clock, readPackets(demuxer))).rejects.toMatchObject({ code: "media-damaged" });
    expect(server.requests.length).toBeLessThan(20);
  });

  it("an HLS segment that drips is given up within minutes, retries included", async () => {
    async function* drops(): AsyncGenerator<Uint8Array> {
      for (;;) {
        yield Buffer.from(" ");
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    const { open, clock } = await start({
      files: finishedHls(ABC),
      script: ({ path }) =>
        path === "/b" ? { ...plainPlan(Buffer.alloc(0), undefined), body: drops(), framing: "chunked" } : undefined,
    });
    const demuxer = await open();
    const { texts } = await hurry(clock, readPackets(demuxer));
    expect(texts).toEqual(tens("a", "c"));
    expect(clock.now()).toBeLessThan(90_000);
  });

  it("closing an HLS reader aborts requests in flight", async () => {
    const { open } = await start({
      files: finishedHls(ABC),
      script: ({ path }) => (path === "/b" ? "hang" : undefined),
    });
    const demuxer = await open();
    await readPackets(demuxer, 10);
    const pending = demuxer.next();
    demuxer.close();
    demuxer.close();
    await expect(pending).rejects.toMatchObject({ code: "input-closed" });
    await expect(demuxer.next()).rejects.toMatchObject({ code: "input-closed" });
  });
});

describe("a master playlist", () => {
  const files = finishedHls(ABC);

  it("a master playlist leads to its best stream, and to the next when that is missing", async () => {
    const master =
      '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=200000,CODECS="mp4a.40.2"\ngone.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.2"\nindex.m3u8\n';
    const { open } = await start({ files: { ...files, "master.m3u8": master } });
    expect((await readPackets(await open("/master.m3u8"))).texts).toEqual(tens("a", "b", "c"));
  });

  it("a master playlist within another one is refused", async () => {
    const master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nmaster.m3u8\n";
    const { open } = await start({ files: { "master.m3u8": master } });
    await expect(open("/master.m3u8")).rejects.toMatchObject({ code: "hls-playlist-invalid" });
  });
});

describe("private addresses", () => {
  const inner = "http://10.0.0.1/x";
  const head = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n";
  it.each([
    ["a variant", `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${inner}\n`],
    ["a segment", `${head}#EXTINF:1,\n${inner}\n#EXT-X-ENDLIST\n`],
    ["a key", `${head}#EXT-X-KEY:METHOD=AES-128,URI="${inner}"\n#EXTINF:1,\na\n#EXT-X-ENDLIST\n`],
    ["an initialisation section", `${head}#EXT-X-MAP:URI="${inner}"\n#EXTINF:1,\na\n#EXT-X-ENDLIST\n`],
    ["a segment behind a redirect", `${head}#EXTINF:1,\n/to?${encodeURIComponent(inner)}\n#EXT-X-ENDLIST\n`],
  ])("%s is refused in HLS", async (_what, playlist) => {
    const { open } = await start({ files: { "index.m3u8": playlist, a: ABC[0]!.bytes } });
    await expect(open()).rejects.toMatchObject({ code: "address-refused" });
  });
});

describe("a live playlist", () => {
  const names = "abcdefghij".split("");

  async function startLive(windowLength: number) {
    const live = new LiveHls(
      names.map((name) => fakeSegment(name)),
      windowLength,
    );
    const bench = await start({ script: live.answer });
    return { ...bench, live };
  }

  it("a live playlist begins three target durations before the end, is no file and cannot seek", async () => {
    const { open } = await startLive(6);
    const demuxer = await open("/live/index.m3u8");
    expect(demuxer.info.lengthMs).toBeUndefined();
    expect(demuxer.isSeekable).toBe(false);
    const { texts, times } = await readPackets(demuxer, 30);
    expect(texts).toEqual(tens("d", "e", "f"));
    expect(times).toEqual(hundreds(30));
    await expect(demuxer.seek(0)).rejects.toMatchObject({ code: "media-not-seekable" });
  });

  it("a live playlist continues as segments appear, and sends no more requests than allowed", async () => {
    const { open, live, clock, server } = await startLive(3);
    const demuxer = await open("/live/index.m3u8");
    await readPackets(demuxer, 30);
    const waiting = readPackets(demuxer, 10);
    for (let seconds = 0; seconds < 10; seconds++) {
      const asked = server.requests.length;
      clock.advance(1_000);
      await hurry(clock, Promise.resolve());
      expect(server.requests.length - asked).toBeLessThanOrEqual(3);
    }
    live.advance(1);
    expect((await hurry(clock, waiting)).texts).toEqual(tens("d"));
  });

  it("a live playlist that has left the reader behind its window continues near the edge", async () => {
    const { open, live, clock, server } = await startLive(5);
    const demuxer = await open("/live/index.m3u8");
    expect((await readPackets(demuxer, 10)).texts).toEqual(tens("c"));
    await until(() => server.requests.some(({ path, isOver }) => path === "/live/3" && isOver));
    live.advance(4 + 10);
    const { texts } = await hurry(clock, readPackets(demuxer, 40));
    // d came ahead of time; e has left the window.
    expect(texts).toEqual(tens("d", "g", "h", "i"));
  });

  it("a live stream that restarts is followed from its new start", async () => {
    const { open, live, clock } = await startLive(3);
    live.advance(5);
    const demuxer = await open("/live/index.m3u8");
    await readPackets(demuxer, 30);
    live.restart();
    expect((await hurry(clock, readPackets(demuxer, 10))).texts).toEqual(tens("a"));
  });

  it("a live playlist ends when it says so", async () => {
    const { open, live, clock } = await startLive(3);
    const demuxer = await open("/live/index.m3u8");
    live.end();
    expect((await hurry(clock, readPackets(demuxer))).texts).toEqual(tens("a", "b", "c"));
  });

  it("a live playlist is reloaded once a second at most, whatever it says, and a large one less often", async () => {
    for (const [paddingBytes, secondsMin] of [
      [0, 1],
      [3_000_000, 5],
    ] as const) {
      const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:0\n#EXTINF:0.01,\na\n${"\n".repeat(paddingBytes)}`;
      const { open, clock, server } = await start({ files: { "index.m3u8": playlist, a: fakeSegment("a").bytes } });
      const demuxer = await open();
      await readPackets(demuxer, 10);
      const waiting = demuxer.next();
      waiting.catch(() => undefined);
      const [asked, fromMs] = [server.requests.length, clock.now()];
      await hurry(
        clock,
        until(() => clock.now() > fromMs + 30_000),
      );
      expect(server.requests.length - asked).toBeGreaterThan(2);
      expect(server.requests.length - asked).toBeLessThanOrEqual(31 / secondsMin + 1);
      demuxer.close();
    }
  });

  it("a live playlist that has not changed is not sent again", async () => {
    const first = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na\n";
    const { open, clock, server } = await start({
      files: { a: ABC[0]!.bytes, b: ABC[1]!.bytes },
      script: ({ path, headers, earlierRequests }) => {
        if (path !== "/index.m3u8") return undefined;
        if (headers["if-none-match"] === '"1"' && earlierRequests < 4) return statusPlan(304);
        const [text, etag] = earlierRequests === 0 ? [first, '"1"'] : [`${first}#EXTINF:1,\nb\n#EXT-X-ENDLIST`, '"2"'];
        return { ...plainPlan(Buffer.from(text), undefined), headers: { etag } };
      },
    });
    expect((await hurry(clock, readPackets(await open()))).texts).toEqual(tens("a", "b"));
    expect(server.requests.filter(({ path }) => path === "/index.m3u8")).toHaveLength(5);
  });

  it("a live playlist without new segments is given up after a minute", async () => {
    const { open, clock } = await startLive(3);
    const demuxer = await open("/live/index.m3u8");
    await expect(hurry(clock, readPackets(demuxer))).rejects.toMatchObject({ code: "input-interrupted" });
    expect(clock.now()).toBeGreaterThan(60_000);
    expect(clock.now()).toBeLessThan(120_000);
  });
});
