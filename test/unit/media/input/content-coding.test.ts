import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { type AnswerPlan, plainPlan, rawPlan } from "../../../../lab/media-server/answer-plan.ts";
import { type DownloadOptions, download } from "../../../../src/media/input/http-download.ts";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { type HttpInputBench, readWhole, startHttpInputBench } from "../../../support/http-input-bench.ts";
import { hurry, patternBytes, until } from "../../../support/input-builders.ts";

const FILE = patternBytes(200_000);

let bench: HttpInputBench | undefined;

afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

async function start(coding: string, body: Uint8Array, more: Partial<AnswerPlan> = {}): Promise<HttpInputBench> {
  bench = await startHttpInputBench(() => ({
    ...plainPlan(body, "audio/mpeg"),
    acceptsRanges: false,
    ...more,
    headers: { "content-encoding": coding, ...more.headers },
  }));
  return bench;
}

async function downloaded(
  { deps, server, clock }: HttpInputBench,
  sizeBytesMax = FILE.length,
  range?: DownloadOptions["range"],
): Promise<Uint8Array> {
  const options = { client: deps.client, pace: new RequestPace(deps.budget), signal: deps.signal, sizeBytesMax, range };
  const { data } = await hurry(clock, download(new URL(`${server.url}/list`), options));
  return data.read(0, data.endBytes) ?? new Uint8Array(0);
}

describe("a coding of the transfer", () => {
  it.each([
    ["gzip, chunked", "chunked"],
    ["gzip", "close"],
  ] as const)("a body with the transfer coding %j is decoded", async (coding, framing) => {
    const body = gzipSync(FILE);
    const chunk = [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")];
    const head = `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\nConnection: close\r\n\r\n`;
    bench = await startHttpInputBench(() => rawPlan(head, ...(framing === "chunked" ? chunk : [body])));
    const input = await bench.open("/song");
    expect(input.source.sizeBytes).toBeUndefined();
    expect((await readWhole(input)).equals(FILE)).toBe(true);
  });
});

it("all that has come of a compressed body that breaks off is decoded before the failure", async () => {
  const body = gzipSync(FILE);
  const length = `Content-Length: ${FILE.length * 2}\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n`;
  bench = await startHttpInputBench(() => rawPlan("HTTP/1.1 200 OK\r\n", length, body));
  const { source } = await bench.open("/song");
  expect(Buffer.compare(await source.read(0, FILE.length), FILE)).toBe(0);
  await expect(source.read(FILE.length, 1)).rejects.toMatchObject({ code: "input-interrupted" });
});

describe("no coding", () => {
  it.each(["UTF-8", "binary", "aws-chunked", "none", "identity", "", "utf-8, identity"])(
    "a body with the coding %j is read as it is, with its length and ranges",
    async (coding) => {
      const running = await start(coding, FILE, { acceptsRanges: true });
      const input = await running.open("/song");
      expect(input.source).toMatchObject({ sizeBytes: FILE.length, isRandomAccess: true });
      expect((await readWhole(input)).equals(FILE)).toBe(true);
      expect(Buffer.compare(await downloaded(running), FILE)).toBe(0);
    },
  );

  it.each(["gzip", "x-gzip", "deflate", "br"])(
    "a body that is not %s although the server says so is read",
    async (coding) => {
      for (const beginning of [
        "ID3\u0004",
        "OggS\u0000",
        "RIFF\u0024",
        "fLaC\u0000",
        "\u00ff\u00fb\u0090\u0064",
        "#EXTM3U\n",
        "\u001a\u0045\u00df\u00a3",
        "\u0000\u0000\u0000\u0018ftypM4A ",
        // Complete, empty streams of deflate.
        "\u0003\u0000",
        "\u0001\u0000\u0000\u00ff\u00ff",
      ]) {
        const file = Buffer.concat([Buffer.from(beginning, "latin1"), FILE]);
        const running = await start(coding, file);
        const input = await running.open("/song");
        expect((await readWhole(input)).equals(file), beginning).toBe(true);
        await running.close();
      }
    },
  );
});

describe("compressed bodies", () => {
  it.each([
    ["br", brotliCompressSync("a")],
    ["br", brotliCompressSync(patternBytes(40))],
    ["deflate", deflateRawSync("a")],
    ["gzip", gzipSync("a")],
  ])("a small body with %s is decoded", async (coding, body) => {
    expect([1, 40]).toContain((await downloaded(await start(coding, body))).length);
  });

  it.each([
    ["br", brotliCompressSync(FILE.subarray(0, 1_000))],
    ["deflate", deflateSync(FILE.subarray(0, 1_000))],
  ])("a part from the middle that looks like %s by chance is read as it is", async (coding, body) => {
    const headers = { "content-range": `bytes 100-${body.length + 99}/${FILE.length}` };
    const running = await start(coding, body, { status: 206, headers });
    const range = { offsetBytes: 100, lengthBytes: body.length };
    expect(Buffer.compare(await downloaded(running, FILE.length, range), body)).toBe(0);
  });

  it("a part from the middle of what is compressed is refused", async () => {
    const body = gzipSync(FILE.subarray(0, 1_000));
    const headers = { "content-range": `bytes 100-${body.length + 99}/${FILE.length}` };
    const running = await start("gzip", body, { status: 206, headers });
    const loading = downloaded(running, FILE.length, { offsetBytes: 100, lengthBytes: body.length });
    await expect(loading).rejects.toThrow("a part from the middle of what it has compressed with gzip");
  });

  it.each([
    ["gzip", gzipSync(FILE)],
    ["x-gzip", gzipSync(FILE)],
    ["GZip", gzipSync(FILE)],
    ["deflate", deflateSync(FILE)],
    ["deflate", deflateRawSync(FILE)],
    ["br", brotliCompressSync(FILE)],
    ["deflate, gzip", gzipSync(deflateSync(FILE))],
    ["binary, gzip", gzipSync(FILE)],
  ])("a body with %s is decoded, has no length and no ranges", async (coding, body) => {
    const running = await start(coding, body);
    const { source } = await running.open("/song");
    expect(source).toMatchObject({ sizeBytes: undefined, isRandomAccess: false });
    expect((await readWhole({ source, url: undefined, station: () => undefined })).equals(FILE)).toBe(true);
    expect(source.sizeBytes).toBe(FILE.length);
    expect(Buffer.compare(await downloaded(running), FILE)).toBe(0);
  });

  it("the part of a compressed body that is all of it is decoded", async () => {
    const body = gzipSync(FILE);
    const headers = { "content-range": `bytes 0-${body.length - 1}/${body.length}` };
    const running = await start("gzip", body, { status: 206, headers });
    expect((await readWhole(await running.open("/song"))).equals(FILE)).toBe(true);
  });

  it("a body without its checksum is decoded as far as it goes", async () => {
    const running = await start("gzip", gzipSync(FILE).subarray(0, -8));
    expect((await readWhole(await running.open("/song"))).equals(FILE)).toBe(true);
  });

  it.each(["compress", "dcb", "gzip, gzip, gzip, gzip"])(
    "a body with %s is refused, and the coding named",
    async (coding) => {
      const { open } = await start(coding, FILE);
      const refused = expect(open("/song")).rejects;
      await refused.toMatchObject({ code: "input-answer-invalid", message: expect.stringMatching(/dcb|compress/) });
    },
  );

  it.each(["compress", "gzip"])("the body of an error with %s is not waited for", async (coding) => {
    const fault = { kind: "stall", afterBytes: 10, forMs: undefined } as const;
    const { open } = await start(coding, FILE, { status: 404, fault });
    await expect(open("/song")).rejects.toMatchObject({ code: "input-not-found" });
  });

  it("an empty body with a coding that is not supported is empty", async () => {
    const { open } = await start("compress", Buffer.alloc(0));
    expect((await open("/song")).source.sizeBytes).toBe(0);
  });

  it("a damaged body fails, and says which coding it was", async () => {
    const body = gzipSync(FILE);
    body.fill(0xff, 60_000, 90_000);
    const { open } = await start("gzip", body);
    const reading = readWhole(await open("/song"));
    await expect(reading).rejects.toMatchObject({
      code: "input-answer-invalid",
      message: expect.stringContaining("gzip"),
    });
  });
});

describe("bombs", () => {
  const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));

  it("a bomb is decoded no further than its reader reads ahead, and frees its memory when closed", async () => {
    const { open, deps } = await start("gzip", BOMB);
    const { source } = await open("/song");
    expect(await source.read(0, 1_000)).toEqual(Buffer.alloc(1_000));
    await until(() => source.readBuffered(150_000, 10_000) !== undefined);
    for (let round = 0; round < 300; round++) await new Promise((resolve) => setImmediate(resolve));
    expect(deps.budget.memory.usedBytes).toBeLessThan(1024 * 1024);
    source.close();
    await until(() => deps.budget.memory.usedBytes === 0);
  });

  it("a bomb is too large a playlist", async () => {
    await expect(downloaded(await start("gzip", BOMB), 100_000)).rejects.toThrow("larger than 100000 bytes");
  });

  it("a body that decodes to nothing is given up", async () => {
    const empty = gzipSync("");
    const body = Buffer.concat(Array.from({ length: 100_000 }, () => empty));
    const { open } = await start("gzip", body);
    const { source } = await open("/song");
    await expect(source.read(0, 10)).rejects.toThrow("decodes to nothing");
  });

  it("a decoder needs the memory of the track", async () => {
    const { open, deps } = await start("br", brotliCompressSync(FILE));
    deps.budget.memory.take(deps.budget.memory.limitBytes - 1024 * 1024, "the test");
    await expect(open("/song")).rejects.toMatchObject({ code: "memory-exhausted" });
  });
});
