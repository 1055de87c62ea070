// Links to sites that answer wrongly: slow, endless, lying, or in small pieces.

import type { Socket } from "node:net";
import { createGzip, gzipSync } from "node:zlib";
import { repeat } from "../../media-files/bytes.ts";
import { AAC_SILENCE, adtsFrame, mp3Frame } from "../../media-files/containers.ts";
import { type AnswerPlan, DROP, HANG, plainPlan, statusPlan } from "../../media-server/answer-plan.ts";
import { sleep } from "../../sleep.ts";
import { type HostileCase, type HostileLayer, playsSite } from "../harness/hostile-case.ts";

const MP3 = repeat(mp3Frame(), 2000);
const DRIP_MS = 50;
/** Time limit of a control load, after which it counts as not answered. */
const CONTROL_PATIENCE_MS = 8000;
const OK = "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n";

/** The body in blocks, repeated endlessly. */
async function* endlessly(block: Uint8Array): AsyncGenerator<Uint8Array> {
  for (;;) yield block;
}

function stream(body: AsyncIterable<Uint8Array>, headers: Readonly<Record<string, string>> = {}): AnswerPlan {
  const plan = plainPlan(new Uint8Array(0), "audio/mpeg");
  return { ...plan, headers: { ...plan.headers, ...headers }, body, framing: "close", acceptsRanges: false };
}

/** A byte of audio, a byte that says there is no title, and so on. */
function titlesEverywhere(): Uint8Array {
  const block = new Uint8Array(MP3.length * 2);
  for (let index = 0; index < MP3.length; index++) block[index * 2] = MP3[index]!;
  return block;
}

/** A gzip of zeros, a thousand times smaller than its content. */
async function* bomb(): AsyncGenerator<Uint8Array> {
  const gzip = createGzip();
  const block = Buffer.alloc(1 << 20);
  gzip.on("drain", () => gzip.write(block));
  while (gzip.write(block));
  for await (const part of gzip) yield part;
}

/** A site that sends its own bytes once a request has arrived. */
function playsRaw(name: string, what: string, onRequest: (socket: Socket, head: string) => void): HostileCase {
  return {
    name,
    what,
    arm: async (attack) => {
      const url = await attack.serveRaw(onRequest);
      return () => attack.loadAndPlay(url);
    },
  };
}

/** Writes a piece at an interval for as long as the connection is open. */
function drip(socket: Socket, piece: string | Uint8Array, intervalMs = DRIP_MS): void {
  const timer = setInterval(() => socket.write(piece), intervalMs);
  socket.once("close", () => clearInterval(timer));
}

/** Writes as fast as the socket accepts. */
function pour(socket: Socket, piece: string | Uint8Array): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", more);
  more();
}

const drippingLoads: HostileCase = {
  name: "dripping-loads",
  what: "200 loads from sites that drip a byte now and then; a control load must be answered in the meantime",
  isQuick: true,
  seconds: 6,
  arm: async (attack) => {
    const urls = await Promise.all(
      Array.from({ length: 200 }, () =>
        attack.serveRaw((socket) => {
          socket.write(OK);
          drip(socket, "X-Drip: 1\r\n", 500);
        }),
      ),
    );
    const control = attack.serveFile("control.mp3", MP3);
    return async () => {
      const hanging = urls.map((url) => attack.load(url));
      await sleep(500);
      const startedMs = performance.now();
      const answer = await attack.load(control, CONTROL_PATIENCE_MS);
      if (!answer.includes("track")) attack.problems.push(`a control load was not answered: ${answer}`);
      await Promise.all(hanging);
      return `control ${answer} after ${(performance.now() - startedMs).toFixed(0)} ms`;
    };
  },
};

export const hostileSites: HostileLayer = {
  layer: "site",
  cases: [
    playsSite(
      "icy-metaint-1",
      "a radio station with icy-metaint: 1",
      () => stream(endlessly(titlesEverywhere()), { "icy-metaint": "1" }),
      { isQuick: true },
    ),
    playsSite("icy-titles", "a radio station whose titles are 4,080 bytes of quotes after every 16 bytes", () => {
      const block = Buffer.concat([MP3.subarray(0, 16), Uint8Array.of(255), Buffer.alloc(4080, "StreamTitle='';'")]);
      return stream(endlessly(repeat(block, 20)), { "icy-metaint": "16" });
    }),
    playsSite("icy-metaint-lies", "icy-metaint of 0, of -1, of 10^30", ({ earlierRequests }) =>
      stream(endlessly(MP3), { "icy-metaint": ["0", "-1", `1${"0".repeat(30)}`][earlierRequests % 3] ?? "0" }),
    ),
    drippingLoads,
    playsSite("redirect-loop", "a link that redirects to itself", ({ path }) => statusPlan(302, { location: path })),
    playsSite("redirect-chain", "a redirect to another address each time, without end", ({ path }) =>
      statusPlan(302, { location: `${path}x` }),
    ),
    playsSite("redirect-long", "a redirect to an address of 15 kB", ({ path }) =>
      statusPlan(302, { location: `${path}${"x".repeat(15_000)}`.slice(0, 15_000) }),
    ),
    playsSite("length-too-large", "a Content-Length of a terabyte for 400 kB, then nothing", () => ({
      ...plainPlan(MP3, "audio/mpeg"),
      headers: { "content-type": "audio/mpeg", "content-length": "1000000000000" },
      acceptsRanges: false,
    })),
    playsRaw("length-minus", "a negative Content-Length", (socket) =>
      socket.write(`${OK}Content-Length: -1\r\n\r\nxxxx`),
    ),
    playsRaw("length-twice", "two different Content-Lengths", (socket) =>
      socket.write(`${OK}Content-Length: 5\r\nContent-Length: 500\r\n\r\nxxxxx`),
    ),
    playsRaw("slow-head", "a response header that drips a byte at a time", (socket) => drip(socket, "H")),
    playsRaw("endless-head", "a response header without end, as fast as it is accepted", (socket) => {
      socket.write(OK);
      pour(socket, `X-Header: ${"y".repeat(8000)}\r\n`);
    }),
    playsRaw("many-headers", "100,000 short headers", (socket) =>
      socket.write(`${OK}${"a:b\r\n".repeat(100_000)}\r\n`),
    ),
    playsRaw("slow-body", "a body that drips a byte at a time", (socket) => {
      socket.write(`${OK}\r\n`);
      drip(socket, Uint8Array.of(0xff), 20);
    }),
    playsRaw("chunk-of-one", "a body in chunks of one byte, as fast as they are accepted", (socket) => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
      pour(socket, "1\r\nx\r\n".repeat(5000));
    }),
    playsRaw("chunk-extensions", "chunk sizes with 8 kB of extensions each", (socket) => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
      pour(socket, `1;${"e".repeat(8000)}\r\nx\r\n`);
    }),
    playsRaw("chunk-garbage", "chunk sizes that are not numbers", (socket) =>
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nxx\r\n-1\r\n`),
    ),
    playsRaw("chunk-huge", "a chunk of 2^60 bytes", (socket) => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n`);
      pour(socket, MP3);
    }),
    playsRaw("trailers", "trailers without end after the last chunk", (socket) => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`);
      pour(socket, `X-Trailer: ${"z".repeat(4000)}\r\n`);
    }),
    playsRaw("informational", "a hundred 103 answers a second and never a final one", (socket) =>
      drip(socket, "HTTP/1.1 103 Early Hints\r\n\r\n", 10),
    ),
    playsRaw("no-http", "bytes that are no HTTP", (socket) => pour(socket, Buffer.alloc(65_536, 0x80))),
    playsRaw("icy-status-endless", "a Shoutcast header without end", (socket) => {
      socket.write("ICY 200 OK\r\n");
      pour(socket, `icy-name:${"n".repeat(2000)}\r\n`);
    }),
    playsRaw("reset", "connections that are reset in the middle of the body", (socket) => {
      socket.write(`${OK}Content-Length: 1000000\r\n\r\n`);
      socket.write(MP3.subarray(0, 10_000), () => socket.resetAndDestroy());
    }),
    playsSite("drop", "connections that are closed without an answer", () => DROP),
    playsSite("hang", "connections that are never answered", () => HANG),
    playsSite("gzip-bomb", "a gzip of zeros without end", () => stream(bomb(), { "content-encoding": "gzip" })),
    playsSite("gzip-layers", "gzip three times over", () => ({
      ...plainPlan(gzipSync(gzipSync(gzipSync(Buffer.alloc(20_000_000)))), "audio/mpeg"),
      headers: { "content-type": "audio/mpeg", "content-encoding": "gzip, gzip, gzip" },
      acceptsRanges: false,
    })),
    playsSite("range-wrong", "a 206 that begins elsewhere than requested", ({ headers }) => ({
      ...plainPlan(MP3, "audio/mpeg"),
      status: headers.range === undefined ? 200 : 206,
      headers: { "content-type": "audio/mpeg", "accept-ranges": "bytes", "content-range": `bytes 7-9/${2 ** 53}` },
    })),
    playsSite("range-416", "a server with ranges that answers each with 416", ({ headers }) =>
      headers.range === undefined || headers.range === "bytes=0-"
        ? { ...plainPlan(MP3, "audio/mpeg"), fault: { kind: "cut", afterBytes: 2000 } }
        : statusPlan(416, { "content-range": "bytes */0" }),
    ),
    playsSite("cut-always", "a connection that is cut after 100 bytes, every time", () => ({
      ...plainPlan(MP3, "audio/mpeg"),
      fault: { kind: "cut", afterBytes: 100 },
    })),
    playsSite("retry-after", "503 with a Retry-After of a thousand years", () =>
      statusPlan(503, { "retry-after": "31556952000" }),
    ),
    playsSite(
      "adts-endless",
      "an endless stream of frames of silence, as fast as it is accepted",
      () => stream(endlessly(repeat(adtsFrame(AAC_SILENCE), 5000)), { "content-type": "audio/aac" }),
      { path: "a.aac" },
    ),
    playsSite("junk-endless", "an endless stream of zeros that says it is MP3", () =>
      stream(endlessly(new Uint8Array(65_536))),
    ),
  ],
};
