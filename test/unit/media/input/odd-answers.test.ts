import { afterEach, describe, expect, it } from "vitest";
import { type Answer, type AnswerPlan, plainPlan, statusPlan } from "../../../../lab/media-server/answer-plan.ts";
import type { LoggedRequest } from "../../../../lab/media-server/media-server.ts";
import { download } from "../../../../src/media/input/http-download.ts";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { type HttpInputBench, readWhole, startHttpInputBench } from "../../../support/http-input-bench.ts";
import { hurry, patternBytes } from "../../../support/input-builders.ts";

const FILE = patternBytes(300_000);
const STATION = { "icy-name": "Station", "content-type": "audio/mpeg" };

let bench: HttpInputBench | undefined;

afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

async function start(script: (request: LoggedRequest) => Answer | undefined): Promise<HttpInputBench> {
  bench = await startHttpInputBench(script, { "song.mp3": FILE });
  return bench;
}

function whole(headers: Record<string, string> = {}): AnswerPlan {
  return { ...plainPlan(FILE, "audio/mpeg"), acceptsRanges: false, headers };
}

/** A 206 with this Content-Range and these bytes. */
function part(contentRange: string | undefined, body: Uint8Array): AnswerPlan {
  const headers: Record<string, string> = contentRange === undefined ? {} : { "content-range": contentRange };
  return { ...whole(headers), status: 206, body };
}

function firstByteOf({ headers }: LoggedRequest): number {
  return Number(/^bytes=(\d+)-/.exec(String(headers.range))?.[1]);
}

function extrasOf(sent: HttpInputBench): unknown[] {
  return sent.server.requests.map(({ headers }) => [headers.range, headers["icy-metadata"]]);
}

describe("a station that states a length", () => {
  it.each([
    ["2^30 - 1 bytes with 206", 206, { "content-length": "1073741823" }],
    ["2^30 - 1 bytes", 200, { "content-length": "1073741823" }],
    ["a length and ranges", 200, { "content-length": "221183499", "accept-ranges": "bytes" }],
    ["a length as short as a song", 200, { "content-length": "54000000", "accept-ranges": "bytes" }],
    ["a part of unknown length", 206, {}],
  ] as const)(
    "a station with %s is reconnected when it drops, as often as that happens",
    async (_name, status, more) => {
      const length = "content-length" in more ? more["content-length"] : "*";
      const range = { "content-range": `bytes 0-1073741822/${length}` };
      const headers = { ...STATION, ...more, ...(status === 206 && range) };
      const { open, clock, server } = await start(() => ({
        ...whole(headers),
        status,
        fault: { kind: "cut", afterBytes: 120_000 },
      }));
      const input = await open("/station");
      expect(input.source).toMatchObject({ sizeBytes: undefined, isRandomAccess: false });
      expect(input.station()?.name).toBe("Station");
      const audio = await hurry(clock, input.source.read(0, 600_000));
      expect(Buffer.compare(audio.subarray(480_000), FILE.subarray(0, 120_000))).toBe(0);
      const ranges = server.requests.map(({ headers: sent }) => sent.range);
      expect(ranges.slice(0, 5)).toEqual(["bytes=0-", undefined, undefined, undefined, undefined]);
    },
  );

  it("a file that looks like a station keeps its stated length, and is resumed where it was cut", async () => {
    const { open, clock, server } = await start(({ earlierRequests }) => ({
      ...whole(STATION),
      acceptsRanges: earlierRequests > 0,
      headers: { ...STATION, "accept-ranges": "bytes", "content-length": String(FILE.length) },
      fault: earlierRequests === 0 ? { kind: "cut", afterBytes: 100_000 } : undefined,
    }));
    const input = await open("/file");
    input.source.expectEnd?.();
    expect(input.source.sizeBytes).toBe(FILE.length);
    expect((await hurry(clock, readWhole(input))).equals(FILE)).toBe(true);
    expect(server.requests[1]?.headers.range).toBe("bytes=100000-");
  });
});

describe("a server whose first answer is no use", () => {
  it.each<[string, (request: LoggedRequest) => Answer]>([
    ["closes the connection", ({ headers }) => (headers.range ? "drop" : whole())],
    ["answers 501", ({ headers }) => (headers.range ? statusPlan(501) : whole())],
    ["answers 400", ({ headers }) => (headers.range ? statusPlan(400) : whole())],
    ["answers 416", ({ headers }) => (headers.range ? statusPlan(416) : whole())],
    ["answers 400 to icy-metadata", ({ headers }) => (headers["icy-metadata"] ? statusPlan(400) : whole())],
    ["sends 206 without Content-Range", ({ headers }) => (headers.range ? part(undefined, FILE) : whole())],
    ["sends another range", ({ headers }) => (headers.range ? part("bytes 9-299999/300000", FILE) : whole())],
    ["contradicts its range", ({ headers }) => (headers.range ? part("bytes 0-99/100", FILE) : whole())],
    ["sends only 206 without Content-Range", () => part(undefined, FILE)],
  ])("a server that %s is asked once more bare, and not for ranges later", async (_name, script) => {
    const running = await start(script);
    const input = await running.open("/song");
    expect(input.source.sizeBytes).toBe(FILE.length);
    expect((await hurry(running.clock, readWhole(input))).equals(FILE)).toBe(true);
    expect(extrasOf(running).at(-1)).toEqual([undefined, undefined]);
    const count = running.server.requests.length;
    expect(await hurry(running.clock, input.source.read(1_000, 10))).toHaveLength(10);
    expect(extrasOf(running).slice(count)).not.toContainEqual([expect.anything(), expect.anything()]);
  });

  it.each([401, 403, 404, 410, 429])("a server that answers %i is asked once", async (status) => {
    const { open, server } = await start(() => statusPlan(status));
    await expect(open("/song")).rejects.toThrow(`HTTP ${status}`);
    expect(server.requests.length).toBe(1);
  });

  it.each<[string, Answer]>([
    ["204", { ...statusPlan(204), body: Buffer.alloc(0) }],
    ["304", { ...statusPlan(304), body: Buffer.alloc(0) }],
    ["302 that leads nowhere", statusPlan(302)],
    ["an empty body", { ...whole(), body: Buffer.alloc(0) }],
    ["an empty part", { ...part(`bytes 0-299999/300000`, Buffer.alloc(0)) }],
    ["several parts", { ...part(undefined, FILE), headers: { "content-type": "multipart/byteranges; boundary=x" } }],
  ])("a server that answers a range with %s is asked once more bare", async (_name, answer) => {
    const { open, server } = await start(({ headers }) => (headers.range ? answer : whole()));
    expect((await readWhole(await open("/song"))).equals(FILE)).toBe(true);
    expect(server.requests).toHaveLength(2);
  });

  it.each([201, 202, 203])("a body that comes with %i is read", async (status) => {
    const { open } = await start(() => ({ ...whole(), status }));
    expect((await readWhole(await open("/song"))).equals(FILE)).toBe(true);
  });

  it.each([
    ["a part", part("bytes 0-299999/300000", FILE)],
    ["a body without a length", { ...whole(), framing: "chunked" as const }],
  ])("a server that breaks off %s before its first byte is asked bare from then on", async (_name, plan) => {
    const running = await start(({ headers, earlierRequests }) => {
      const isBad = headers.range !== undefined || earlierRequests === 0;
      return isBad ? { ...plan, fault: { kind: "cut", afterBytes: 0 } } : whole();
    });
    const input = await running.open("/song");
    expect((await hurry(running.clock, readWhole(input))).equals(FILE)).toBe(true);
    expect(extrasOf(running)).toEqual([
      ["bytes=0-", "1"],
      [undefined, undefined],
    ]);
  });

  it.each([
    ["a total that is too large", "bytes 0-299999/600000", true],
    ["a total that is too small", "bytes 0-299999/150000", false],
    ["a total of nothing", "bytes 0-299999/0", false],
  ])("a part with %s is read to its end", async (_name, contentRange, isPart) => {
    const { open, clock } = await start(({ headers }) => {
      if (headers.range === undefined) return whole();
      return headers.range === "bytes=0-"
        ? part(contentRange, FILE)
        : statusPlan(416, { "content-range": "bytes */300000" });
    });
    const input = await open("/song");
    expect(input.isPart).toBe(isPart);
    expect((await hurry(clock, readWhole(input))).equals(FILE)).toBe(true);
  });

  it("a server that states a total that is too large is asked for ranges after its end was found", async () => {
    const { open, clock } = await start((request) => {
      const first = firstByteOf(request);
      if (first >= FILE.length) return statusPlan(416, { "content-range": "bytes */300000" });
      return part(`bytes ${first}-299999/600000`, FILE.subarray(first));
    });
    const input = await open("/song");
    input.source.aimReadAhead?.(10_000);
    expect((await hurry(clock, readWhole(input))).equals(FILE)).toBe(true);
    const data = await hurry(clock, input.source.read(100_000, 1_000));
    expect(Buffer.compare(data, FILE.subarray(100_000, 101_000))).toBe(0);
  });

  it("a Content-Range beside 200 says nothing", async () => {
    const { open } = await start(() => whole({ "content-range": "bytes 0-99/100" }));
    const { source } = await open("/song");
    expect(source.sizeBytes).toBe(FILE.length);
    expect(Buffer.compare(await source.read(299_000, 2_000), FILE.subarray(299_000))).toBe(0);
  });

  it("a server that fails bare as well is asked twice, and the error says what it answered", async () => {
    const { open, server } = await start(() => statusPlan(500));
    await expect(open("/song")).rejects.toThrow("HTTP 500");
    expect(server.requests.length).toBe(2);
  });

  const LARGE = patternBytes(20 * 1024 * 1024);

  it.each<[string, Answer]>([
    ["answers 503", statusPlan(503)],
    ["answers 408", statusPlan(408)],
    ["closes the connection", "drop"],
    ["breaks off its answer", { ...plainPlan(LARGE, "audio/mpeg"), fault: { kind: "cut", afterBytes: 0 } }],
    ["falls silent", { ...plainPlan(LARGE, "audio/mpeg"), fault: { kind: "stall", afterBytes: 0, forMs: undefined } }],
  ])("a server that %s before its first byte and offers ranges later is asked for them", async (_name, answer) => {
    const { open, clock, server } = await start(({ headers, earlierRequests }) =>
      headers.range === "bytes=0-" && earlierRequests < (answer === "drop" ? 2 : 1)
        ? answer
        : plainPlan(LARGE, "audio/mpeg"),
    );
    const { source } = await hurry(clock, open("/song"));
    expect(await hurry(clock, source.read(0, 10))).toHaveLength(10);
    expect(source.isRandomAccess).toBe(true);
    const late = await hurry(clock, source.read(19_000_000, 1_000));
    expect(Buffer.compare(late, LARGE.subarray(19_000_000, 19_001_000))).toBe(0);
    expect(server.requests.at(-1)?.headers.range).toBe("bytes=19000000-");
  });

  it.each<[string, Answer]>([
    ["answers 500", statusPlan(500)],
    ["closes the connection", "drop"],
  ])("a large file of a server that %s to every range that it offers is read forwards", async (_name, answer) => {
    const { open, clock, server } = await start(({ headers }) =>
      headers.range === undefined ? plainPlan(LARGE, "audio/mpeg") : answer,
    );
    const { source } = await hurry(clock, open("/song"));
    expect((source.declared ?? source).isRandomAccess).toBe(false);
    const data = await hurry(clock, source.read(0, 1_000));
    expect(Buffer.compare(data, LARGE.subarray(0, 1_000))).toBe(0);
    // A closed connection is tried again at once.
    const triesCount = answer === "drop" ? 2 : 1;
    expect(server.requests.filter(({ headers }) => headers.range !== undefined)).toHaveLength(2 * triesCount);
  });

  it.each<[string, Answer]>([
    ["answers 500", statusPlan(500)],
    ["closes the connection", "drop"],
  ])("a server that %s to every range that it offers is not asked for a third one", async (_name, answer) => {
    const { open, clock, server } = await start(({ headers }) =>
      headers.range === undefined ? plainPlan(FILE, "audio/mpeg") : answer,
    );
    const { source } = await hurry(clock, open("/song"));
    for (const at of [299_000, 100, 299_000]) {
      const data = await hurry(clock, source.read(at, 1_000));
      expect(Buffer.compare(data, FILE.subarray(at, at + 1_000))).toBe(0);
    }
    const ranges = server.requests.map(({ headers }) => headers.range);
    expect([...new Set(ranges)]).toEqual(["bytes=0-", undefined, "bytes=299000-"]);
    expect(ranges.at(-1)).toBeUndefined();
  });

  it("a bare body that is cut is resumed by skipping", async () => {
    const { open, clock } = await start(({ headers, earlierRequests }) => {
      if (headers.range) return statusPlan(501);
      return { ...whole(), fault: earlierRequests === 1 ? { kind: "cut", afterBytes: 100_000 } : undefined };
    });
    expect((await hurry(clock, readWhole(await open("/song")))).equals(FILE)).toBe(true);
  });

  it.each([
    ["bytes 0-300000/300000", (first: number) => `bytes ${first}-300000/300000`],
    ["0-n/N", (first: number) => `${first}-299999/300000`],
    ["bytes=0-n/N", (first: number) => `bytes=${first}-299999/300000`],
  ])("a range that is written as %s is used", async (_name, contentRange) => {
    const { open, server } = await start((request) => {
      const first = firstByteOf(request);
      return part(contentRange(first), FILE.subarray(first));
    });
    const { source } = await open("/song");
    expect(source).toMatchObject({ sizeBytes: FILE.length, isRandomAccess: true });
    expect(Buffer.compare(await source.read(299_000, 2_000), FILE.subarray(299_000))).toBe(0);
    expect(server.requests.map(({ headers }) => headers.range)).toEqual(["bytes=0-", "bytes=299000-"]);
  });

  it.each<[string, Answer]>([
    ["400", statusPlan(400)],
    ["the wrong bytes", part("bytes 0-299999/300000", FILE)],
  ])("a server that answers a range in the middle with %s is skipped through", async (_name, answer) => {
    const { open, clock } = await start((request) => {
      const first = firstByteOf(request);
      if (Number.isNaN(first)) return whole();
      const body = { ...part("bytes 0-299999/300000", FILE), fault: { kind: "cut", afterBytes: 100_000 } as const };
      return first === 0 ? body : answer;
    });
    expect((await hurry(clock, readWhole(await open("/song")))).equals(FILE)).toBe(true);
  });

  it("an input reports whether its bytes came as a range, and can be opened bare", async () => {
    const running = await start(() => undefined);
    expect((await running.open("/song.mp3")).isPart).toBe(true);
    expect((await running.open("/song.mp3", { isBare: true })).isPart).toBe(false);
    expect(extrasOf(running)[1]).toEqual([undefined, undefined]);
  });
});

describe("a part that is downloaded, as a segment is", () => {
  it.each<[string, Answer | undefined]>([
    ["is closed", "drop"],
    ["is answered with 501", statusPlan(501)],
    ["is answered with 400", statusPlan(400)],
    ["is answered with other bytes", part("bytes 0-299999/300000", FILE)],
    ["is answered with the whole", whole()],
    ["is answered as it should be", undefined],
  ])("a request for a part that %s brings its bytes", async (_name, answer) => {
    const { deps, clock, server } = await start(({ headers }) =>
      headers.range === undefined ? whole() : (answer ?? plainPlan(FILE, undefined)),
    );
    expect(await downloadPart({ deps, clock, server })).toBe(true);
  });

  it.each<[string, Answer]>([
    ["is closed", "drop"],
    ["is answered with 503", statusPlan(503)],
    ["is answered with 408", statusPlan(408)],
    ["is cut", { ...plainPlan(FILE, undefined), fault: { kind: "cut", afterBytes: 10 } }],
  ])("a request for a part that %s once is repeated", async (_name, answer) => {
    const running = await start(({ earlierRequests }) => (earlierRequests === 0 ? answer : plainPlan(FILE, undefined)));
    expect(await downloadPart(running)).toBe(true);
    expect(running.server.requests.map(({ headers }) => headers.range)).toEqual([RANGE, RANGE]);
  });

  it.each([
    [
      "is small enough is for the whole every second time",
      151_000,
      [RANGE, RANGE, undefined, RANGE, undefined, RANGE, undefined],
    ],
    ["is too large is for the part every time", 150_999, [RANGE, RANGE, RANGE, RANGE, RANGE, RANGE, RANGE]],
  ])("the repeated request for a part of a file that %s", async (_name, sizeBytesMax, asked) => {
    const running = await start(() => statusPlan(500));
    await expect(downloadPart(running, sizeBytesMax)).rejects.toThrow("HTTP 500");
    expect(running.server.requests.map(({ headers }) => headers.range)).toEqual(asked);
  });

  it("a part of a file that is too large is not cut out of the whole", async () => {
    const running = await start(() => statusPlan(400));
    await expect(downloadPart(running, 150_999)).rejects.toThrow("HTTP 400");
    expect(running.server.requests).toHaveLength(1);
  });
});

const RANGE = "bytes=150000-150999";

/** True when the bytes of the range came. */
async function downloadPart(
  { deps, clock, server }: Pick<HttpInputBench, "deps" | "clock" | "server">,
  sizeBytesMax = FILE.length,
): Promise<boolean> {
  const range = { offsetBytes: 150_000, lengthBytes: 1_000 };
  const options = { client: deps.client, pace: new RequestPace(deps.budget), signal: deps.signal, sizeBytesMax, range };
  const { data } = await hurry(clock, download(new URL(`${server.url}/segment`), options));
  return Buffer.compare(data.read(0, data.endBytes)!, FILE.subarray(150_000, 151_000)) === 0;
}
