import { afterEach, describe, expect, it } from "vitest";
import { type Answer, plainPlan, rawPlan } from "../../../../lab/media-server/answer-plan.ts";
import { LenientFraming, parseHead } from "../../../../src/media/input/lenient-answer.ts";
import { type HttpInputBench, readWhole, startHttpInputBench } from "../../../support/http-input-bench.ts";
import { hurry, patternBytes } from "../../../support/input-builders.ts";

const FILE = patternBytes(100_000);
const LENGTH = `Content-Length: ${FILE.length}\r\n`;
const OK = "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n";
const CLOSE = "Connection: close\r\n\r\n";

let bench: HttpInputBench | undefined;

afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

async function start(answer: Answer | (() => Answer)): Promise<HttpInputBench> {
  bench = await startHttpInputBench(typeof answer === "function" ? answer : () => answer);
  return bench;
}

/** The file in chunks; `size` writes the size line. */
function chunks(size: (hex: string) => string, end = "\r\n"): Buffer {
  const parts = [0, 40_000, 80_000].map((at) => FILE.subarray(at, at + 40_000));
  const framed = parts.flatMap((part) => [Buffer.from(size(part.length.toString(16)) + end), part, Buffer.from(end)]);
  return Buffer.concat([...framed, Buffer.from(`0${end}${end}`)]);
}

describe("answers that are read although they are not as they should be", () => {
  it.each<[string, Answer]>([
    ["a repeated equal length", rawPlan(OK, LENGTH, LENGTH, CLOSE, FILE)],
    ["an empty length before another", rawPlan(OK, "Content-Length: \r\n", LENGTH, CLOSE, FILE)],
    ["a negative length behind another", rawPlan(OK, LENGTH, "Content-Length: -1\r\n", CLOSE, FILE)],
    ["a list of equal lengths", rawPlan(OK, `Content-Length: ${FILE.length}, ${FILE.length}\r\n`, CLOSE, FILE)],
    [
      "a length and chunks",
      rawPlan(
        OK,
        LENGTH,
        "Transfer-Encoding: chunked\r\n",
        CLOSE,
        chunks((hex) => hex),
      ),
    ],
    [
      "a wrong length and chunks",
      rawPlan(
        OK,
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        CLOSE,
        chunks((hex) => hex),
      ),
    ],
    [
      "blanks behind chunk sizes",
      rawPlan(
        OK,
        "Transfer-Encoding: chunked\r\n",
        CLOSE,
        chunks((hex) => `${hex} ; a=b`),
      ),
    ],
    [
      "blanks before chunk sizes",
      rawPlan(
        OK,
        "Transfer-Encoding: chunked\r\n",
        CLOSE,
        chunks((hex) => ` ${hex} `),
      ),
    ],
    [
      "chunks with bare line feeds",
      rawPlan(
        OK,
        "Transfer-Encoding: chunked\r\n",
        CLOSE,
        chunks((hex) => hex, "\n"),
      ),
    ],
    ["20 kB of headers", rawPlan(OK, LENGTH, `X-Big: ${"a".repeat(20_000)}\r\n`, CLOSE, FILE)],
    ["100 Continue", rawPlan("HTTP/1.1 100 Continue\r\n\r\n", OK, LENGTH, CLOSE, FILE)],
    [
      "102 and 103",
      rawPlan("HTTP/1.1 102 \r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", OK, LENGTH, CLOSE, FILE),
    ],
    ["bare line feeds", rawPlan(`HTTP/1.1 200 OK\nContent-Length: ${FILE.length}\n\n`, FILE)],
    ["a line without a colon", rawPlan(OK, "nonsense\r\n", LENGTH, CLOSE, FILE)],
    ["a control character", rawPlan(OK, "X-Title: a\u0001b\r\n", LENGTH, CLOSE, FILE)],
    ["a blank before a colon", rawPlan(OK, `Content-Length : ${FILE.length}\r\n`, CLOSE, FILE)],
    ["no reason and no length", rawPlan("HTTP/1.0 200\r\n\r\n", FILE)],
  ])("an answer with %s is read whole", async (_name, answer) => {
    const { open, clock } = await start(answer);
    expect((await hurry(clock, readWhole(await open("/song")))).equals(FILE)).toBe(true);
  });

  it("chunks that become unreadable in the middle are read from there, without a byte twice", async () => {
    const [good, bad] = [FILE.subarray(0, 70_000), FILE.subarray(70_000)];
    const { open, clock, server } = await start(
      rawPlan(
        `${OK}Transfer-Encoding: chunked\r\n\r\n`,
        ...[`${good.length.toString(16)}\r\n`, good, `\r\n${bad.length.toString(16)} ; x\r\n`, bad, "\r\n0\r\n\r\n"],
      ),
    );
    expect((await hurry(clock, readWhole(await open("/song")))).equals(FILE)).toBe(true);
    expect(server.requests.length).toBe(2);
  });

  it("a server whose answers are unreadable is asked leniently at once the next time", async () => {
    const { open, server } = await start(rawPlan(OK, LENGTH, LENGTH, CLOSE, FILE));
    for (const count of [2, 3]) {
      await readWhole(await open("/song"));
      expect(server.requests.length).toBe(count);
    }
  });

  it("a body that ends before its length is resumed", async () => {
    let count = 0;
    const { open, clock } = await start(() => {
      count += 1;
      return rawPlan(OK, LENGTH, LENGTH, CLOSE, count <= 2 ? FILE.subarray(0, 50_000) : FILE);
    });
    expect((await hurry(clock, readWhole(await open("/song")))).equals(FILE)).toBe(true);
    expect(count).toBe(3);
  });

  it("bytes behind a body do not belong to it, and its connection serves no other request", async () => {
    const smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let count = 0;
    const { open } = await start(() => {
      count += 1;
      return count <= 2 ? rawPlan(OK, LENGTH, LENGTH, "\r\n", FILE, smuggled) : plainPlan(FILE, undefined);
    });
    expect((await readWhole(await open("/a"))).equals(FILE)).toBe(true);
    expect((await readWhole(await open("/b"))).equals(FILE)).toBe(true);
  });
});

describe("odd heads", () => {
  it.each([
    ["an empty length", "HTTP/1.1 200 OK\r\nContent-Length: \r\n"],
    ["a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n"],
    ["a length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: unknown\r\n"],
    ["a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n"],
    ["another version", "HTTP/2.0 200 OK\r\nContent-Length: -1\r\n"],
  ])("an answer with %s is read to the end of its connection, also the second time", async (_name, head) => {
    const { open } = await start(() => rawPlan(head, CLOSE, FILE));
    for (let count = 0; count < 2; count++) expect((await readWhole(await open("/song"))).equals(FILE)).toBe(true);
  });
});

describe("answers that are refused", () => {
  it.each<[string, Answer, RegExp]>([
    ["different lengths", rawPlan(OK, LENGTH, "Content-Length: 5\r\n", CLOSE, FILE), /several lengths/],
    ["a list of different lengths", rawPlan(OK, "Content-Length: 5, 6\r\n", CLOSE, FILE), /several lengths/],
    [
      "another protocol",
      rawPlan("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
      /another protocol/,
    ],
    ["announcements without end", rawPlan("HTTP/1.1 100 Continue\r\n\r\n".repeat(100)), /again and again/],
    ["40 kB of headers", rawPlan(OK, `X-Big: ${"a".repeat(40_000)}\r\n`, CLOSE, FILE), /./],
    ["another language", rawPlan("220 ftp.example ready\r\n\r\n"), /neither HTTP nor Shoutcast/],
  ])("an answer with %s is refused", async (_name, answer, message) => {
    const { open } = await start(answer);
    await expect(open("/song")).rejects.toMatchObject({
      code: "input-unreachable",
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ["sizes that are no numbers", "xyz\r\n"],
    ["sizes beyond all bounds", `${"f".repeat(20)}\r\n`],
    ["an endless size line", `5;${"a".repeat(3_000)}`],
    ["empty lines without end", "\r\n".repeat(200)],
  ])("chunks with %s are given up", async (_name, chunk) => {
    const { open, clock } = await start(rawPlan(OK, "Transfer-Encoding: chunked\r\n", CLOSE, chunk));
    const reading = open("/song").then(({ source }) => source.read(0, 10));
    await expect(hurry(clock, reading)).rejects.toMatchObject({ code: "input-interrupted" });
  });
});

describe("steps through chunks", () => {
  it("a flood of tiny chunks is decoded in steps of two kilobytes, wherever they are split", () => {
    const flood = Buffer.from(`${"1\r\nx\r\n".repeat(5_000)}0\r\n\r\nrest`);
    for (const splitBytes of [flood.length, 3, 1]) {
      const framing = new LenientFraming({ kind: "chunked" });
      let bodyBytes = 0;
      let takenBytes = 0;
      while (!framing.isOver) {
        const step = framing.step(flood.subarray(takenBytes, takenBytes + splitBytes));
        expect(step.takenBytes).toBeGreaterThan(0);
        expect(step.takenBytes).toBeLessThanOrEqual(2_048);
        takenBytes += step.takenBytes;
        bodyBytes += step.body.length;
      }
      expect([bodyBytes, takenBytes]).toEqual([5_000, flood.length - 4]);
    }
  });

  it("a large chunk is handed out without a copy", () => {
    const framing = new LenientFraming({ kind: "chunked" });
    framing.step(Buffer.from("186a0\r\n"));
    expect(framing.step(FILE.subarray(0, 60_000)).body.buffer).toBe(FILE.buffer);
  });
});

it("a head keeps every cookie and the first of other headers, and Shoutcast has no length", () => {
  const head = parseHead(
    "ICY 200 OK\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nicy-name: A\r\nicy-name: B\r\ncontent-length: 5",
  );
  expect(head).toEqual({
    status: 200,
    headers: { "set-cookie": ["a=1", "b=2"], "icy-name": "A", "content-length": "5" },
    framing: { kind: "close" },
  });
});
