// The web server's behaviours, good and bad, by the first part of the path: `/cut/song.mp3` is song.mp3 from a server
// that loses the connection half way. The same names as in the recordings of a real node, and some more.

import { gzipSync } from "node:zlib";
import { type Answer, type AnswerPlan, HANG, plainPlan, statusPlan } from "./answer-plan.ts";

interface BehaviourRequest {
  readonly file: Uint8Array;
  readonly mimeType: string | undefined;
  /** File path behind the behaviour, `song.mp3`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** How often this very path was asked for before. */
  readonly earlierRequests: number;
}

type Behaviour = (request: BehaviourRequest) => Answer;

const ICY_INTERVAL_BYTES = 16_000;
const SLOW_BYTES_PER_SECOND = 64 * 1024;
const BURST_BYTES = 256 * 1024;

const STATION_HEADERS = {
  "icy-name": "Test Station",
  "icy-description": "Tones all day",
  "icy-url": "http://station.example/",
  "icy-br": "128",
};

/** By name. A path that begins with none of them is served as `ranges`. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  ranges: (request) => good(request),
  norange: (request) => ({ ...good(request), acceptsRanges: false }),
  noct: (request) => ({ ...plainPlan(request.file, undefined), headers: { etag: etagOf(request.file) } }),
  chunked: (request) => ({ ...good(request), acceptsRanges: false, framing: "chunked", headers: typeOnly(request) }),
  /** Neither length nor chunks: the end of the connection ends the body. */
  close: (request) => ({ ...good(request), acceptsRanges: false, framing: "close", headers: typeOnly(request) }),
  redirect: ({ path }) => statusPlan(302, { location: `/${path}` }),
  /** The first request is cut half way, later ones are answered in full. */
  cut: (request) => cutOnce(good(request), request),
  "cut-norange": (request) => cutOnce({ ...good(request), acceptsRanges: false }, request),
  "cut-chunked": (request) => ({
    ...cutOnce(good(request), request),
    acceptsRanges: false,
    framing: "chunked",
    headers: typeOnly(request),
  }),
  /** Every answer ends half way through the file. */
  truncated: (request) => ({
    ...good(request),
    acceptsRanges: false,
    fault: { kind: "cut", afterBytes: half(request) },
  }),
  /** The first request stops half way until released. */
  stall: (request) =>
    request.earlierRequests > 0
      ? good(request)
      : { ...good(request), fault: { kind: "stall", afterBytes: half(request), forMs: undefined } },
  "stall-chunked": (request) => ({
    ...good(request),
    acceptsRanges: false,
    framing: "chunked",
    headers: typeOnly(request),
    fault: { kind: "stall", afterBytes: half(request), forMs: undefined },
  }),
  slow: (request) => ({ ...good(request), fault: { kind: "slow", bytesPerSecond: SLOW_BYTES_PER_SECOND } }),
  /** Some seconds at once and the rest as it is played, as large sites do. */
  paced: (request) => ({
    ...good(request),
    fault: { kind: "slow", bytesPerSecond: SLOW_BYTES_PER_SECOND, afterBytes: BURST_BYTES },
  }),
  hang: () => HANG,
  /** Another version of the file each time. */
  changing: (request) => ({
    ...cutOnce(good(request), request),
    headers: { ...typeOnly(request), etag: `"version ${request.earlierRequests}"` },
  }),
  /** Says it has ranges and always sends everything. */
  "ignores-range": (request) => ({
    ...cutOnce({ ...good(request), acceptsRanges: false }, request),
    headers: { ...good(request).headers, "accept-ranges": "bytes" },
  }),
  /** Answers other bytes than were asked for. */
  "wrong-range": (request) => ({
    ...good(request),
    acceptsRanges: false,
    status: 206,
    headers: { ...typeOnly(request), "content-range": `bytes 10-${request.file.length - 1}/${request.file.length}` },
  }),
  gzip: (request) => ({
    ...plainPlan(gzipSync(request.file), request.mimeType),
    acceptsRanges: false,
    headers: { "content-encoding": "gzip" },
  }),
  /** Requires user `user` and password `secret`. */
  auth: (request) =>
    request.headers.authorization === `Basic ${Buffer.from("user:secret").toString("base64")}`
      ? good(request)
      : statusPlan(401, { "www-authenticate": "Basic" }),
  /** Icecast: the file once, with titles in between when they are asked for. */
  icy: (request) => icyPlan(request, once(request.file)),
  /** Icecast without end: the file over and over. */
  radio: (request) => icyPlan(request, endlessly(request.file)),
};

function good({ file, mimeType }: BehaviourRequest): AnswerPlan {
  const plan = plainPlan(file, mimeType);
  return { ...plan, headers: { ...plan.headers, etag: etagOf(file) } };
}

function typeOnly({ mimeType }: BehaviourRequest): Record<string, string> {
  return mimeType === undefined ? {} : { "content-type": mimeType };
}

function cutOnce(plan: AnswerPlan, request: BehaviourRequest): AnswerPlan {
  return request.earlierRequests > 0 ? plan : { ...plan, fault: { kind: "cut", afterBytes: half(request) } };
}

function half({ file }: BehaviourRequest): number {
  return Math.floor(file.length / 2);
}

function etagOf(file: Uint8Array): string {
  return `"${file.length}-${file[0] ?? 0}"`;
}

function icyPlan(request: BehaviourRequest, audio: AsyncIterable<Uint8Array>): AnswerPlan {
  const needsTitles = request.headers["icy-metadata"] === "1";
  const interval = needsTitles ? { "icy-metaint": String(ICY_INTERVAL_BYTES) } : {};
  return {
    ...good(request),
    acceptsRanges: false,
    framing: "close",
    headers: { ...typeOnly(request), ...STATION_HEADERS, ...interval },
    body: needsTitles ? withTitles(audio) : audio,
  };
}

async function* once(file: Uint8Array): AsyncGenerator<Uint8Array> {
  yield file;
}

async function* endlessly(file: Uint8Array): AsyncGenerator<Uint8Array> {
  while (file.length > 0) yield file;
}

/** Puts a title block behind every ICY_INTERVAL_BYTES: a new title, then nothing new, and so on. */
async function* withTitles(audio: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let untilTitleBytes = ICY_INTERVAL_BYTES;
  let titleCount = 0;
  for await (const block of audio) {
    for (let at = 0; at < block.length; ) {
      const part = block.subarray(at, at + untilTitleBytes);
      yield part;
      at += part.length;
      untilTitleBytes -= part.length;
      if (untilTitleBytes > 0) continue;
      yield titleCount % 2 === 0 ? titleBlock(`It's song ${titleCount / 2 + 1}`) : new Uint8Array(1);
      titleCount++;
      untilTitleBytes = ICY_INTERVAL_BYTES;
    }
  }
}

function titleBlock(title: string): Uint8Array {
  const text = Buffer.from(`StreamTitle='${title}';StreamUrl='';`);
  const block = new Uint8Array(1 + Math.ceil(text.length / 16) * 16);
  block[0] = (block.length - 1) / 16;
  block.set(text, 1);
  return block;
}
