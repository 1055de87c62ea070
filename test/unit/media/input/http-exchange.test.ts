import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { HttpAnswer } from "../../../../src/media/input/http-answer.ts";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { TimeSlicer } from "../../../../src/media/quota/time-slicer.ts";
import type { TrackBudget } from "../../../../src/media/quota/track-budget.ts";
import { createInputDeps } from "../../../support/input-builders.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

let cleanups: (() => unknown)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.reverse()) cleanup();
  cleanups = [];
});

/** Asks a server that answers every request with this, byte by byte as it stands. */
async function ask(answer: string | Buffer | ((socket: Socket) => void)): Promise<{
  readonly answered: Promise<HttpAnswer>;
  /** Time slices of the track so far. */
  readonly sliceCount: () => number;
  /** The track's budget. */
  readonly budget: TrackBudget;
}> {
  const server: Server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => (typeof answer === "function" ? answer(socket) : socket.end(answer)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { client } = createInputDeps({ clock: systemClock });
  cleanups.push(
    () => server.close(),
    () => client.close(),
  );
  let sliceCount = 0;
  const slicer = new TimeSlicer();
  const next = slicer.next.bind(slicer);
  slicer.next = (usedMs) => {
    sliceCount++;
    return next(usedMs);
  };
  const budget = createTrackBudget({ slicer });
  const pace = new RequestPace(budget);
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const answered = client.get({ url, signal: new AbortController().signal, pace });
  return { answered, sliceCount: () => sliceCount, budget };
}

async function read(answer: HttpAnswer): Promise<{ readonly bytes: Buffer; readonly pieceCount: number }> {
  const pieces: Uint8Array[] = [];
  for (let piece = await answer.body.next(); piece !== undefined; piece = await answer.body.next()) pieces.push(piece);
  return { bytes: Buffer.concat(pieces), pieceCount: pieces.length };
}

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

it.each([8_000, 32_000])("a body of %i one-byte chunks is parsed in time slices", async (count) => {
  const text = Array.from({ length: count }, (_, index) => String.fromCharCode(97 + (index % 26)));
  const { answered, sliceCount } = await ask(`${CHUNKED}${text.map((each) => `1\r\n${each}\r\n`).join("")}0\r\n\r\n`);
  const { bytes } = await read(await answered);
  expect(bytes.toString()).toBe(text.join(""));
  expect(sliceCount()).toBeGreaterThanOrEqual(count / 750 - 2);
});

it("a reader that received bytes and requests no more uses no time slice", async () => {
  const { answered, sliceCount, budget } = await ask(`${CHUNKED}${"1\r\na\r\n".repeat(8_000)}0\r\n\r\n`);
  const { body } = await answered;
  // The first that was held back in the socket.
  while (sliceCount() === 0) await body.next();
  const { usedMs } = budget;
  budget.pause(); // counts a stretch that is still open, and else nothing
  expect(budget.usedMs).toBe(usedMs);
});

it("a chunk that cannot be read ends the time slice", async () => {
  const { answered, sliceCount, budget } = await ask(
    `${CHUNKED.replace("\r\n", "\r\ncontent-length: 5\r\n")}${"1\r\na\r\n".repeat(8_000)}?\r\n`,
  );
  await expect(read(await answered)).rejects.toThrow("a chunk's size is unreadable");
  expect(sliceCount()).toBeGreaterThan(0);
  const { usedMs } = budget;
  budget.pause(); // counts a stretch that is still open, and else nothing
  expect(budget.usedMs).toBe(usedMs);
});

it("pieces that arrive together are handed out together", async () => {
  const { answered } = await ask(`${CHUNKED}${"1\r\nx\r\n".repeat(640)}0\r\n\r\n`);
  const { bytes, pieceCount } = await read(await answered);
  expect(bytes).toHaveLength(640);
  expect(pieceCount).toBeLessThan(60);
});

it("a body without a reader is not received", async () => {
  let sentBytes = 0;
  const { answered } = await ask((socket) => {
    const piece = Buffer.alloc(64 * 1024);
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const send = (): void => {
      sentBytes += piece.length;
      socket.write(piece, () => socket.destroyed || setImmediate(send));
    };
    send();
  });
  const answer = await answered;
  let before = -1;
  // Until no more is sent: the system's own buffers are full.
  while (sentBytes !== before) {
    before = sentBytes;
    for (let round = 0; round < 500; round++) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sentBytes).toBeLessThan(16 * 1024 * 1024);
  answer.body.cancel();
});

it("a flood of tiny chunks is not buffered beyond the requested bytes", async () => {
  let server: Socket | undefined;
  const { answered } = await ask((socket) => {
    server = socket;
    const flood = (): void => void (socket.destroyed || socket.write("1\r\nx\r\n".repeat(10_000), flood));
    socket.write(CHUNKED, flood);
  });
  const { body } = await answered;
  for (let count = 0; count < 2_000; count++) await body.next();
  // The bytes in the system's own buffers are already sent.
  expect((server?.bytesWritten ?? 0) - (server?.writableLength ?? 0)).toBeLessThan(16 * 1024 * 1024);
  body.cancel();
});

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round++) await new Promise((resolve) => setImmediate(resolve));
}

it.each([4_096, 16_384, 16_385, 20_480, 65_536])(
  "a body of %i bytes that ends while no reader waits is complete",
  async (sizeBytes) => {
    const { answered } = await ask(
      Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\n\r\n"), Buffer.alloc(sizeBytes, "x")]),
    );
    const answer = await answered;
    await rounds(300);
    expect((await read(answer)).bytes).toHaveLength(sizeBytes);
  },
);

it.each([16_384, 65_536])(
  "a connection that is reset while %i bytes wait fails that answer only",
  async (sizeBytes) => {
    const { answered } = await ask((socket) => {
      socket.write(Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\n\r\n"), Buffer.alloc(sizeBytes, "x")]), () => {
        setImmediate(() => socket.resetAndDestroy());
      });
    });
    const answer = await answered;
    await rounds(300);
    const outcome = await read(answer).then(
      ({ bytes }) => bytes.length,
      ({ code }) => code,
    );
    expect(["input-interrupted", sizeBytes]).toContain(outcome);
  },
);

it("a complete body without a reader does not delay the next answer of its connection", async () => {
  const server = createHttpServer((_request, response) => response.end(Buffer.alloc(16_384)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { client, budget } = createInputDeps({ clock: systemClock });
  cleanups.push(
    () => server.close(),
    () => client.close(),
  );
  const pace = new RequestPace(budget);
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  for (let count = 0; count < 5; count++) {
    const answer = await client.get({ url, signal: new AbortController().signal, pace });
    await rounds(20);
    expect((await read(answer)).bytes).toHaveLength(16_384);
  }
});

it("endless interim responses time out", async () => {
  const { answered } = await ask((socket) => {
    const flood = (): void => void (socket.destroyed || socket.write("HTTP/1.1 103 Soon\r\n\r\n".repeat(50), flood));
    flood();
  });
  await expect(answered).rejects.toMatchObject({
    code: "input-unreachable",
    message: expect.stringContaining("announces"),
  });
});

it("one or two interim responses are accepted", async () => {
  const { answered } = await ask(
    `${"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(2)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`,
  );
  expect((await read(await answered)).bytes.toString()).toBe("ok");
});

it("bytes received before the connection was lost are handed out before the error", async () => {
  const { answered } = await ask("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbeginning");
  const { body } = await answered;
  expect(Buffer.from((await body.next()) ?? []).toString()).toBe("beginning");
  await expect(body.next()).rejects.toMatchObject({ code: "input-interrupted" });
});

it("an answer with too many headers is refused", async () => {
  const { answered } = await ask(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(20_000)}\r\n`);
  await expect(answered).rejects.toMatchObject({ code: "input-unreachable" });
});
