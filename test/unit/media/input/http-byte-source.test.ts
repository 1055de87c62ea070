import { afterEach, describe, expect, it } from "vitest";
import { plainPlan, statusPlan } from "../../../../lab/media-server/answer-plan.ts";
import { MediaServer, type MediaServerOptions } from "../../../../lab/media-server/media-server.ts";
import type { WorkerSettings } from "../../../../src/bridge/worker-settings.ts";
import { type InputDeps, type OpenedInput, openInput } from "../../../../src/media/input/open-input.ts";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps, hurry, inputSettings, patternBytes, until } from "../../../support/input-builders.ts";

const FILE = patternBytes(700_000);
/** Larger than the gap that is skipped to seek on servers without ranges. */
const LARGE = patternBytes(17 * 1024 * 1024);

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

interface Bench {
  readonly server: MediaServer;
  readonly clock: FakeClock;
  readonly deps: InputDeps;
  open(path: string): Promise<OpenedInput>;
}

async function start(options: MediaServerOptions = {}, settings: Partial<WorkerSettings> = {}): Promise<Bench> {
  const server = await MediaServer.start({
    files: { "song.mp3": FILE, "large.mp3": LARGE, "empty.mp3": "" },
    ...options,
  });
  const clock = new FakeClock();
  const deps = createInputDeps({ clock, settings });
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
  );
  const open = async (path: string): Promise<OpenedInput> => {
    const url = path.includes("://") ? path : `${server.url}${path}`;
    const input = await openInput({ kind: "http", url, container: undefined }, deps);
    cleanups.push(() => input.source.close());
    return input;
  };
  return { server, clock, deps, open };
}

function readAhead(readAheadBytesMax: number): Partial<WorkerSettings> {
  return { buffer: { readAheadMs: 10_000, readAheadBytesMax } };
}

/** Reads everything from the beginning, in pieces as a demuxer would. */
async function readAll({ source }: OpenedInput, pieceBytes = 10_000): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; ; ) {
    const piece = await source.read(at, pieceBytes);
    pieces.push(piece);
    at += piece.length;
    if (piece.length < pieceBytes) return Buffer.concat(pieces);
  }
}

function rangesAsked(server: MediaServer): unknown[] {
  return server.requests.map((request) => request.headers.range);
}

describe("a server with ranges", () => {
  it("a server with ranges delivers the whole file over one connection", async () => {
    const { server, open } = await start();
    const input = await open("/song.mp3");
    expect(input.source).toMatchObject({ sizeBytes: FILE.length, isRandomAccess: true, mimeType: "audio/mpeg" });
    expect((await readAll(input)).equals(FILE)).toBe(true);
    expect(rangesAsked(server)).toEqual(["bytes=0-"]);
  });

  it("a source reads at the end, in the middle and at the start again", async () => {
    const { open } = await start();
    const { source } = await open("/song.mp3");
    for (const at of [FILE.length - 1_000, 0, 300_000, 650_000, 70_000, 65_536, 10]) {
      expect(Buffer.compare(await source.read(at, 1_000), FILE.subarray(at, at + 1_000)), `at ${at}`).toBe(0);
    }
  });

  it("the head stays readable from memory for good", async () => {
    const { server, open } = await start();
    const { source } = await open("/song.mp3");
    await source.read(0, 65_536);
    await source.read(650_000, 1_000);
    expect(Buffer.compare(source.readBuffered(100, 1_000)!, FILE.subarray(100, 1_100))).toBe(0);
    expect(server.requests.length).toBe(2);
  });

  it("a source keeps less of the head and behind the reader once the track is open", async () => {
    const { server, open, deps } = await start({}, readAhead(64 * 1024));
    const { source } = await open("/song.mp3");
    const { memory } = deps.budget;
    await source.read(200_000, 1_000);
    await until(() => source.readBuffered(250_000, 10_000) !== undefined);
    const openingBytes = memory.usedBytes;
    source.aimReadAhead?.(64 * 1024);
    await source.read(300_000, 1_000);
    await until(() => source.readBuffered(350_000, 10_000) !== undefined);
    expect(memory.usedBytes).toBeLessThan(openingBytes - 80_000);
    expect(Buffer.compare(source.readBuffered(100, 1_000)!, FILE.subarray(100, 1_100))).toBe(0);
    expect(server.requests.length).toBe(1);
  });

  it("a reader that goes back often gets more memory for it, after one more request", async () => {
    const { server, open } = await start({}, readAhead(64 * 1024));
    const { source } = await open("/song.mp3");
    source.aimReadAhead?.(64 * 1024);
    for (let at = 300_000; at < 500_000; at += 10_000) {
      for (const position of [at, at - 50_000]) {
        expect(Buffer.compare(await source.read(position, 1_000), FILE.subarray(position, position + 1_000))).toBe(0);
      }
    }
    expect(server.requests.length).toBeLessThan(5);
  });

  it("a source crosses a small gap without a new connection and a large one with one", async () => {
    const { server, open } = await start({}, readAhead(16_384));
    const { source } = await open("/song.mp3");
    await source.read(0, 1_000);
    await source.read(200_000, 1_000);
    expect(rangesAsked(server)).toEqual(["bytes=0-"]);
    await source.read(600_000, 1_000);
    expect(rangesAsked(server)).toEqual(["bytes=0-", "bytes=600000-"]);
  });

  it("a source ends exactly where the file ends", async () => {
    const { open } = await start();
    const { source } = await open("/song.mp3");
    expect(await source.read(FILE.length - 10, 100)).toHaveLength(10);
    expect(await source.read(FILE.length, 100)).toHaveLength(0);
    expect(await source.read(FILE.length + 5_000_000, 100)).toHaveLength(0);
    expect(source.readBuffered(FILE.length, 1)).toHaveLength(0);
  });

  it("concurrent reads get their own bytes", async () => {
    const { open } = await start();
    const { source } = await open("/song.mp3");
    const positions = [690_000, 5, 400_000, 399_000, 100_000];
    const results = await Promise.all(positions.map((at) => source.read(at, 500)));
    results.forEach((data, index) => {
      expect(Buffer.compare(data, FILE.subarray(positions[index], positions[index]! + 500))).toBe(0);
    });
  });

  it("a source reads ahead only within its bound", async () => {
    const { server, open } = await start({}, readAhead(100_000));
    const { source } = await open("/large.mp3");
    await source.read(0, 1_000);
    await until(() => source.readBuffered(90_000, 10_000) !== undefined);
    for (let round = 0; round < 200; round++) await new Promise((resolve) => setImmediate(resolve));
    // The bound, one chunk over it and the 64 KiB around the reader.
    expect(source.readBuffered(300_000, 1)).toBeUndefined();
    expect(server.requests[0]?.isOver).toBe(false);
  });

  it("a read larger than the read-ahead is answered although the read-ahead is full", async () => {
    const { open } = await start({}, readAhead(100_000));
    const { source } = await open("/large.mp3");
    await source.read(0, 1_000);
    await until(() => source.readBuffered(95_000, 5_000) !== undefined);
    for (let round = 0; round < 200; round++) await new Promise((resolve) => setImmediate(resolve));
    expect(Buffer.compare(await source.read(90_000, 1_000_000), LARGE.subarray(90_000, 1_090_000))).toBe(0);
  });

  it("an empty file is an empty source", async () => {
    const { open } = await start();
    const { source } = await open("/empty.mp3");
    expect(await source.read(0, 100)).toHaveLength(0);
    expect(source.sizeBytes).toBe(0);
  });
});

describe("servers with unusual behaviour", () => {
  it.each([
    ["/norange/song.mp3", { sizeBytes: FILE.length, isRandomAccess: true, mimeType: "audio/mpeg" }],
    ["/norange/large.mp3", { sizeBytes: LARGE.length, isRandomAccess: false }],
    ["/noct/song.mp3", { sizeBytes: FILE.length, mimeType: undefined }],
    ["/chunked/song.mp3", { sizeBytes: undefined, isRandomAccess: false }],
    ["/gzip/song.mp3", { sizeBytes: undefined, isRandomAccess: false }],
    ["/close/song.mp3", { sizeBytes: undefined, isRandomAccess: false }],
    ["/ignores-range/song.mp3", { sizeBytes: FILE.length, isRandomAccess: true }],
  ])("the length of %s is read from its headers, and the body completely", async (path, expected) => {
    const { open, clock } = await start();
    const input = await open(path);
    expect(input.source).toMatchObject(expected);
    const file = path.includes("large") ? LARGE : FILE;
    expect((await hurry(clock, readAll(input, 60_000))).equals(file)).toBe(true);
    expect(input.source.sizeBytes).toBe(file.length);
  });

  it("a server that sends ranges without a total size is asked until there are no more", async () => {
    const { open, clock } = await start({
      script: ({ headers }) => {
        const first = Number(/\d+/.exec(String(headers.range))?.[0]);
        if (first >= FILE.length) return statusPlan(416);
        const part = FILE.subarray(first, first + 150_000);
        const contentRange = `bytes ${first}-${first + part.length - 1}/*`;
        const plan = { ...plainPlan(part, undefined), status: 206, acceptsRanges: false };
        return { ...plan, headers: { "content-range": contentRange } };
      },
    });
    const input = await open("/song");
    expect((await hurry(clock, readAll(input))).equals(FILE)).toBe(true);
    expect(input.source.sizeBytes).toBe(FILE.length);
  });

  it("a small file on a server without ranges is opened again to go back", async () => {
    const { server, open } = await start();
    const input = await open("/norange/song.mp3");
    await input.source.read(600_000, 1_000);
    expect(Buffer.compare(await input.source.read(200_000, 500), FILE.subarray(200_000, 200_500))).toBe(0);
    expect(server.requests.length).toBe(2);
  });

  it("a stream of unknown length without ranges refuses to go back beyond its window", async () => {
    const { open } = await start();
    const { source } = await open("/chunked/song.mp3");
    await source.read(500_000, 1_000);
    expect(await source.read(450_000, 100)).toHaveLength(100);
    expect(await source.read(65_000, 500)).toHaveLength(500);
    await expect(source.read(200_000, 100)).rejects.toMatchObject({ code: "input-not-seekable" });
    expect(await source.read(501_000, 100)).toHaveLength(100);
  });

  it("a claimed size of ten gigabytes costs no memory", async () => {
    const { open } = await start({}, readAhead(64 * 1024));
    const { source } = await open("/huge");
    expect(source.sizeBytes).toBe(10_000_000_000);
    expect(await source.read(0, 1_000)).toHaveLength(1_000);
    await expect(source.read(0, 5_000_000_000)).rejects.toMatchObject({ code: "input-read-too-large" });
  });

  it.each([
    ["/404", "input-not-found"],
    ["/410", "input-not-found"],
    ["/403", "input-http-status"],
    ["/416", "input-http-status"],
    ["/500", "input-http-status"],
    ["/wrong-range/song.mp3", "input-answer-invalid"],
    ["/loop", "input-redirects"],
    ["ftp://127.0.0.1/x", "input-url-invalid"],
    ["nonsense://", "input-url-invalid"],
    ["http://127.0.0.1:1/x.mp3", "input-unreachable"],
    ["http://no-such-host.invalid/x.mp3", "input-unreachable"],
  ])("opening %s fails with %s", async (path, code) => {
    const { open } = await start();
    await expect(open(path)).rejects.toMatchObject({ code });
  });

  it("TLS at a port without TLS fails with an explanation", async () => {
    const { open, server } = await start();
    await expect(open(`${server.url.replace("http:", "https:")}/song.mp3`)).rejects.toThrow(/try http: instead/);
  });

  it("a server that never answers times out", async () => {
    const { open, clock } = await start();
    const opening = open("/hang/song.mp3");
    await expect(hurry(clock, opening)).rejects.toMatchObject({
      code: "input-unreachable",
      message: expect.stringContaining("no answer"),
    });
    expect(clock.now()).toBeLessThan(20_000);
  });
});

describe("redirects and addresses", () => {
  it("redirects are followed, and the source reports the final address", async () => {
    const { open, server } = await start();
    const input = await open("/redirect/song.mp3");
    expect(input.url).toBe(`${server.url}/song.mp3`);
    expect((await readAll(input)).equals(FILE)).toBe(true);
  });

  it("twenty redirects are followed, more are too many", async () => {
    const script: MediaServerOptions["script"] = ({ path }) => {
      const hops = Number(/^\/hops\/(\d+)$/.exec(path)?.[1] ?? Number.NaN);
      if (Number.isNaN(hops)) return undefined;
      return statusPlan(302, { location: hops === 1 ? "/song.mp3" : `/hops/${hops - 1}` });
    };
    const { open } = await start({ script });
    expect((await open("/hops/20")).source.sizeBytes).toBe(FILE.length);
    await expect(open("/hops/21")).rejects.toMatchObject({ code: "input-redirects" });
  });

  it.each(["http://10.0.0.1/x", "http://[::1]/x", "http://0x0a000001/x", "http://169.254.169.254/latest/meta-data/"])(
    "a redirect to %s is refused",
    async (target) => {
      const { open } = await start();
      await expect(open(`/to?${encodeURIComponent(target)}`)).rejects.toMatchObject({ code: "address-refused" });
    },
  );

  it("a redirect to another scheme is refused", async () => {
    const { open } = await start();
    await expect(open("/to?file:///etc/passwd")).rejects.toMatchObject({ code: "input-url-invalid" });
  });

  it("loopback itself is refused without the allow list", async () => {
    const { open } = await start({}, { network: { allow: [] } });
    await expect(open("/song.mp3")).rejects.toMatchObject({ code: "address-refused" });
  });

  it("icy: means http:, and unusual characters and fragments are harmless", async () => {
    const { open, server } = await start({ files: { "trönc é.mp3": FILE } });
    expect((await open(`${server.url.replace("http:", "icy:")}/trönc é.mp3#x`)).source.sizeBytes).toBe(FILE.length);
  });

  it("credentials are sent to their own host only and appear in no message", async () => {
    const other = await start();
    const { open, server } = await start({
      script: ({ path }) =>
        path.startsWith("/away") ? statusPlan(302, { location: `${locationOf(path)}/song.mp3` }) : undefined,
    });
    const locationOf = (path: string) =>
      path === "/away" ? other.server.url : other.server.url.replace("http://", "http://other:word@");
    const secret = server.url.replace("http://", "http://user:secret@");
    const input = await open(`${secret}/auth/song.mp3`);
    expect((await readAll(input)).equals(FILE)).toBe(true);
    for (const path of ["/away", "/away-with-others"]) {
      await open(`${secret}${path}`);
      expect(server.requests.at(-1)?.headers.authorization).toBe("Basic dXNlcjpzZWNyZXQ=");
      expect(other.server.requests.at(-1)?.headers.authorization).toBeUndefined();
    }
    const failure = await open(`${secret.replace("secret", "wrong")}/auth/song.mp3?token=abc`).catch(String);
    expect(failure).toContain("401");
    expect(failure).not.toMatch(/wrong|token|abc/);
  });
});

describe("a lost connection", () => {
  it.each(["/cut/song.mp3", "/cut-norange/song.mp3", "/cut-norange/large.mp3"])(
    "a cut body at %s is resumed, and complete",
    async (path) => {
      const { open, clock, server } = await start();
      const input = await open(path);
      const file = path.includes("large") ? LARGE : FILE;
      expect((await hurry(clock, readAll(input, 60_000))).equals(file)).toBe(true);
      expect(server.requests.length).toBe(2);
    },
  );

  it("a lost connection is reopened at the byte where it stopped, as the same version", async () => {
    const { open, clock, server } = await start();
    await hurry(clock, readAll(await open("/cut/song.mp3")));
    const { range, "if-range": ifRange } = server.requests[1]?.headers ?? {};
    expect(range).toBe(`bytes=${FILE.length / 2}-`);
    expect(ifRange).toMatch(/^".+"$/);
  });

  it("a lost connection fails when the file has changed", async () => {
    const { open, clock } = await start();
    const reading = readAll(await open("/changing/song.mp3"));
    await expect(hurry(clock, reading)).rejects.toMatchObject({ code: "input-changed" });
  });

  it("a lost connection fails when a server without ranges and versions sends another beginning", async () => {
    const { open, clock } = await start({
      script: ({ earlierRequests }) =>
        earlierRequests === 0
          ? { ...plainPlan(FILE, undefined), acceptsRanges: false, fault: { kind: "cut", afterBytes: 200_000 } }
          : { ...plainPlan(patternBytes(FILE.length, 2), undefined), acceptsRanges: false },
    });
    await expect(hurry(clock, readAll(await open("/song")))).rejects.toMatchObject({ code: "input-changed" });
  });

  it("a lost connection fails when the server can neither resume nor report the file's length", async () => {
    const { open, clock, server } = await start();
    const input = await open("/cut-chunked/song.mp3");
    await expect(hurry(clock, readAll(input))).rejects.toMatchObject({ code: "input-interrupted" });
    expect(server.requests.length).toBe(1);
  });

  it("buffered bytes stay readable after the retries are used up", async () => {
    const { open, clock } = await start({ script: cutAt(100_000, "refused") });
    const { source } = await open("/song");
    await expect(hurry(clock, source.read(90_000, 50_000))).rejects.toMatchObject({ code: "input-http-status" });
    expect(Buffer.compare(source.readBuffered(20_000, 10_000)!, FILE.subarray(20_000, 30_000))).toBe(0);
    expect(Buffer.compare(await source.read(0, 10), FILE.subarray(0, 10))).toBe(0);
  });

  it("a file that is always cut at the same byte is given up after seven connections", async () => {
    const { open, clock, server } = await start();
    const input = await open("/truncated/song.mp3");
    await expect(hurry(clock, readAll(input))).rejects.toMatchObject({ code: "input-interrupted" });
    expect(server.requests.length).toBe(7);
    expect(clock.now()).toBeGreaterThan(19_000);
    expect(clock.now()).toBeLessThan(40_000);
  });

  it("a temporary failure is retried until it passes", async () => {
    const { open, clock, server } = await start({ script: cutAt(100_000, "busy") });
    expect((await hurry(clock, readAll(await open("/song")))).equals(FILE)).toBe(true);
    expect(server.requests.length).toBe(6);
  });

  it("any number of cuts is harmless while there is progress", async () => {
    const { open, clock, server } = await start({
      script: () => ({ ...plainPlan(FILE, undefined), fault: { kind: "cut", afterBytes: 30_000 } }),
    });
    expect((await hurry(clock, readAll(await open("/song")))).equals(FILE)).toBe(true);
    expect(server.requests.length).toBeGreaterThan(20);
  });

  it("an expired link is requested again through its redirect", async () => {
    const { open, clock } = await start({
      script: ({ path, earlierRequests }) => {
        if (path === "/song") return statusPlan(302, { location: `/signed/${earlierRequests}` });
        if (path === "/signed/0" && earlierRequests > 0) return statusPlan(403);
        const fault = path === "/signed/0" ? ({ kind: "cut", afterBytes: 300_000 } as const) : undefined;
        return { ...plainPlan(FILE, undefined), fault };
      },
    });
    expect((await hurry(clock, readAll(await open("/song")))).equals(FILE)).toBe(true);
  });

  it("a stalled connection is reopened after the socket timeout", async () => {
    const { open, clock, server } = await start();
    const input = await open("/stall/song.mp3");
    expect((await hurry(clock, readAll(input))).equals(FILE)).toBe(true);
    expect(server.requests.length).toBe(2);
    expect(clock.now()).toBeGreaterThan(inputSettings.http.socketTimeoutMs);
  });

  it("a source reports while it waits for the server, and that it has retried", async () => {
    const { open, clock, deps } = await start({}, { http: { ...inputSettings.http, socketTimeoutMs: 1000 } });
    const { upstream } = deps.budget;
    const input = await open("/stall/song.mp3");
    expect(upstream.isAwaited).toBe(false);
    const reading = readAll(input);
    await until(() => upstream.isAwaited);
    await hurry(clock, reading);
    expect(upstream.isAwaited).toBe(false);
    expect(upstream.reopenedCount).toBe(1);
  });

  it("a stall shorter than the timeout is waited for", async () => {
    const { open, clock, server } = await start();
    const input = await open("/stall/song.mp3");
    const reading = readAll(input);
    await until(
      () => server.requests.length === 1 && input.source.readBuffered(FILE.length / 2 - 10, 10) !== undefined,
    );
    clock.advance(inputSettings.http.socketTimeoutMs - 1_000);
    server.release();
    expect((await reading).equals(FILE)).toBe(true);
    expect(server.requests.length).toBe(1);
  });
});

it("a stalled stream that cannot be resumed gets a longer timeout, but not an endless one", async () => {
  const first = await start();
  const input = await first.open("/stall-chunked/song.mp3");
  const reading = readAll(input);
  await until(() => input.source.readBuffered(FILE.length / 2 - 10, 10) !== undefined);
  first.clock.advance(inputSettings.http.socketTimeoutMs * 2);
  first.server.release();
  expect((await reading).equals(FILE)).toBe(true);
  const second = await start();
  const doomed = readAll(await second.open("/stall-chunked/song.mp3"));
  await expect(hurry(second.clock, doomed)).rejects.toMatchObject({ code: "input-interrupted" });
  expect(second.clock.now()).toBeLessThan(90_000);
});

/** The first answer is cut; the next four fail for a while, or for good. */
function cutAt(afterBytes: number, then: "busy" | "refused"): NonNullable<MediaServerOptions["script"]> {
  return ({ earlierRequests }) => {
    if (earlierRequests === 0) return { ...plainPlan(FILE, undefined), fault: { kind: "cut", afterBytes } };
    if (then === "refused") return statusPlan(403);
    return (
      [statusPlan(503), "drop" as const, statusPlan(429), statusPlan(500)][earlierRequests - 1] ??
      plainPlan(FILE, undefined)
    );
  };
}

describe("a silent reader", () => {
  it("a silent reader loses its connection after half a minute and gets it back when it resumes", async () => {
    const { open, clock, server } = await start({}, readAhead(64 * 1024));
    const { source } = await open("/large.mp3");
    await source.read(0, 1_000);
    await until(() => source.readBuffered(60_000, 1_000) !== undefined);
    await hurry(
      clock,
      until(() => server.requests[0]?.isOver === true),
    );
    expect(clock.now()).toBeGreaterThan(30_000);
    expect(Buffer.compare(await source.read(500_000, 1_000), LARGE.subarray(500_000, 501_000))).toBe(0);
    expect(server.requests.length).toBe(2);
  });

  it("a silent reader keeps a connection that could not be reopened", async () => {
    const { open, clock, server } = await start({}, readAhead(64 * 1024));
    const { source } = await open("/chunked/large.mp3");
    await source.read(0, 1_000);
    for (let round = 0; round < 100; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1_000);
    }
    expect(server.requests[0]?.isOver).toBe(false);
    expect(await source.read(500_000, 1_000)).toHaveLength(1_000);
  });

  it.each(["/chunked/large.mp3", "/large.mp3", "/radio/song.mp3"])(
    "a silent reader sets hardly a timer on %s",
    async (path) => {
      const { open, clock } = await start({}, readAhead(64 * 1024));
      const { source } = await open(path);
      await source.read(0, 1_000);
      await until(() => source.readBuffered(60_000, 1_000) !== undefined);
      const before = clock.setCount;
      for (let round = 0; round < 2_000; round++) {
        await new Promise((resolve) => setImmediate(resolve));
        clock.advance(100);
      }
      expect(clock.setCount - before).toBeLessThan(20);
    },
  );
});

describe("a site that sends its bytes one at a time", () => {
  it("a site that sends single bytes is read correctly and takes no more memory than any other", async () => {
    const bytes = patternBytes(100_000);
    async function* drops(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1);
    }
    const script = () => ({ ...plainPlan(bytes, undefined), body: drops(), framing: "chunked" as const });
    const { open, deps } = await start({ script });
    const input = await open("/song");
    expect((await readAll(input)).equals(bytes)).toBe(true);
    expect(deps.budget.memory.usedBytes).toBeLessThan(300_000);
    input.source.close();
    expect(deps.budget.memory.usedBytes).toBe(0);
  });
});

it("a body that drips is given up within minutes, although it is never silent", async () => {
  async function* drops(): AsyncGenerator<Uint8Array> {
    for (;;) {
      yield Buffer.from("x");
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const script = () => ({ ...plainPlan(FILE, undefined), body: drops(), acceptsRanges: false });
  const { open, clock } = await start({ script });
  const { source } = await open("/song");
  const reading = source.read(0, 60_000);
  let isOver = false;
  reading
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(500);
  }
  await expect(reading).rejects.toMatchObject({ code: "input-interrupted" });
  expect(clock.now()).toBeLessThan(600_000);
});

it("a read beyond the track's memory is refused", async () => {
  const { open, deps } = await start({}, readAhead(256 * 1024 * 1024));
  deps.budget.memory.take(deps.budget.memory.limitBytes - 1_000_000, "the test");
  const { source } = await open("/large.mp3");
  await expect(source.read(0, 2_000_000)).rejects.toMatchObject({ code: "memory-exhausted" });
});

describe("closing", () => {
  it("closing rejects pending reads, drops the connection and may happen twice", async () => {
    const { open, server } = await start();
    const { source } = await open("/stall/song.mp3");
    const waiting = source.read(600_000, 1_000);
    source.close();
    source.close();
    await expect(waiting).rejects.toMatchObject({ code: "input-closed" });
    await expect(source.read(0, 10)).rejects.toMatchObject({ code: "input-closed" });
    expect(source.readBuffered(0, 10)).toBeUndefined();
    await until(() => server.requests[0]?.isOver === true);
  });

  it("opening a source can be aborted", async () => {
    const { deps, server } = await start();
    const abort = new AbortController();
    const input = { kind: "http", url: `${server.url}/hang/song.mp3`, container: undefined } as const;
    const opening = openInput(input, { ...deps, signal: abort.signal });
    await until(() => server.requests.length === 1);
    abort.abort(new Error("aborted"));
    await expect(opening).rejects.toThrow("aborted");
    await until(() => server.requests[0]?.isOver === true);
  });
});

describe("stations", () => {
  it("titles are removed from the audio and reported", async () => {
    const { open } = await start();
    const input = await open("/radio/song.mp3");
    const audio = await input.source.read(0, FILE.length * 2);
    expect(Buffer.compare(audio, Buffer.concat([FILE, FILE]))).toBe(0);
    expect(input.source).toMatchObject({ sizeBytes: undefined, isRandomAccess: false });
    expect(input.station()).toMatchObject({
      name: "Test Station",
      description: "Tones all day",
      url: "http://station.example/",
      streamTitle: expect.stringMatching(/^It's song \d+$/),
    });
  });

  it("a station that drops is reconnected without end", async () => {
    const { open, clock, server } = await start();
    const input = await open("/icy/song.mp3");
    const audio = await hurry(clock, input.source.read(0, FILE.length * 10));
    expect(Buffer.compare(audio.subarray(FILE.length * 9), FILE)).toBe(0);
    expect(server.requests.length).toBeGreaterThanOrEqual(10);
  });

  it("a file that looks like a station ends where its first body did, also when the length is reported late", async () => {
    for (const readBytes of [1_000, FILE.length + 1_000]) {
      const { open, clock } = await start();
      const { source } = await open("/icy/song.mp3");
      await hurry(clock, source.read(0, readBytes));
      source.expectEnd?.();
      const all = await hurry(clock, source.read(FILE.length - 70_000, 100_000));
      expect(Buffer.compare(all, FILE.subarray(FILE.length - 70_000)), `reported after ${readBytes} bytes`).toBe(0);
      expect(source.sizeBytes).toBe(FILE.length);
    }
  });

  it("a connection that is resumed again and again leaves no listener on its signal", async () => {
    const { deps, clock, server } = await start();
    const abort = new AbortController();
    let listening = 0;
    const { signal } = abort;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listening++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listening--;
      remove(...args);
    };
    const pace = new RequestPace(deps.budget);
    for (let count = 0; count < 5; count++) {
      const answer = await hurry(clock, deps.client.get({ url: new URL(`${server.url}/song.mp3`), signal, pace }));
      while ((await answer.body.next()) !== undefined);
    }
    expect(listening).toBe(0);
  });

  it("a station that stays away is given up", async () => {
    const { open, clock, server } = await start({
      script: ({ earlierRequests }) => (earlierRequests === 0 ? undefined : "drop"),
    });
    const { source } = await open("/icy/song.mp3");
    await expect(hurry(clock, source.read(FILE.length, 10))).rejects.toMatchObject({ code: "input-unreachable" });
    expect(server.requests.length).toBeGreaterThanOrEqual(7);
  });

  it("old Shoutcast servers are supported, with the guard", async () => {
    const { open, server } = await start();
    const input = await open("/shoutcast/song.mp3");
    expect(Buffer.compare(await input.source.read(0, 100_000), FILE.subarray(0, 100_000))).toBe(0);
    expect(input.station()?.name).toBe("Old Station");
    expect(server.requests.length).toBe(2);
  });
});
