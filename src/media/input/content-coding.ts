// Decodes compressed answers. Inputs ask for none, but servers and caches send them anyway, and state codings that are
// none, or that the bytes do not have. Decoding runs on the thread pool and only as far as the reader asks, so a bomb
// costs no more than its reader takes. Audio and probe threads.

import { pipeline, Readable, type Transform } from "node:stream";
import * as zlib from "node:zlib";
import { NodeError } from "../../errors.ts";
import type { ByteBudget } from "../../lib/byte-budget.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { HttpHeaders } from "../../network/header-value.ts";
import { hasBody } from "./answer-checks.ts";
import type { HttpAnswer, HttpBody } from "./http-answer.ts";
import { PrefixedBody } from "./http-body.ts";
import { answerError } from "./http-errors.ts";
import { looseContentRangeOf } from "./http-headers.ts";

interface DecodingOptions {
  /** The decoders' windows are reserved from it. */
  readonly memory: Pick<ByteBudget, "take" | "release">;
  /** Ends the body. */
  readonly signal: AbortSignal;
}

interface Coding {
  /** Size of the decoder, most of which is the window, in bytes. */
  readonly memoryBytes: number;
  /** False when a body that begins with these bytes does not have the coding. */
  readonly fits: (head: Uint8Array) => boolean;
  /** Its streams begin with a magic number: what fits by chance is rare. */
  readonly hasMagic: boolean;
  readonly createDecoder: () => Transform;
}

/** Codings of one answer; real ones have one. */
const CODINGS_MAX = 3;
/** Bytes by which a coding is recognised. */
const HEAD_BYTES = 64;
/** Decoded bytes of the head; more are not needed to see that it decodes. */
const HEAD_DECODED_BYTES_MAX = 4 * 1024;
/** Compressed bytes that may decode to nothing. */
const IDLE_BYTES_MAX = 1024 * 1024;
/** Largest window of zstd, as a power of two: 8 MiB, as RFC 9659 has it. */
const ZSTD_WINDOW_LOG_MAX = 23;
/** A body that was cut off, or lacks its checksum, is decoded as far as it goes. */
const TOLERANT = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
const HEAD_OPTIONS = { maxOutputLength: HEAD_DECODED_BYTES_MAX, info: true };
const { BROTLI_OPERATION_FLUSH } = zlib.constants;
/** Headers that describe the compressed bytes. */
const HEADERS_OF_COMPRESSED = [
  "accept-ranges",
  "content-encoding",
  "content-length",
  "content-range",
  "transfer-encoding",
];
/** Registered codings (RFC 9110 section 8.4.1) that nothing here decodes. */
const UNSUPPORTED_CODINGS: readonly string[] = ["compress", "x-compress", "zstd", "dcb", "dcz", "exi", "pack200-gzip"];

const GZIP: Coding = {
  memoryBytes: 64 * 1024,
  fits: (head) => head[0] === 0x1f && head[1] === 0x8b,
  hasMagic: true,
  createDecoder: () => zlib.createGunzip(TOLERANT),
};

/** zlib's format, as registered. */
const DEFLATE: Coding = {
  ...GZIP,
  fits: isZlib,
  hasMagic: false,
  createDecoder: () => zlib.createInflate(TOLERANT),
};

/** Without zlib's header, as some servers send it under the same name. */
const RAW_DEFLATE: Coding = {
  ...DEFLATE,
  fits: isRawDeflate,
  createDecoder: () => zlib.createInflateRaw(TOLERANT),
};

const BROTLI: Coding = {
  memoryBytes: 17 * 1024 * 1024,
  fits: isBrotli,
  hasMagic: false,
  createDecoder: () => zlib.createBrotliDecompress({ finishFlush: BROTLI_OPERATION_FLUSH }),
};

/** By name, with what servers send under it. */
const CODINGS: Readonly<Record<string, readonly Coding[]>> = {
  gzip: [GZIP],
  "x-gzip": [GZIP],
  deflate: [DEFLATE, RAW_DEFLATE, GZIP],
  br: [BROTLI],
  ...zstdCoding(),
};

/**
 * The answer with its body as it was before compression: without a length, and without ranges. Unregistered codings
 * (`utf-8`, `binary`, `aws-chunked`) are none, and neither is one that the bytes do not have.
 * @throws NodeError "input-answer-invalid" for a coding that cannot be decoded, "memory-exhausted"
 */
export async function decodedAnswer(answer: HttpAnswer, options: DecodingOptions): Promise<HttpAnswer> {
  const names = codingsOf(answer.headers);
  // What comes with an error is not read.
  if (names.length === 0 || !hasBody(answer.status)) return answer;
  if (names.length > CODINGS_MAX) throw answerError(answer.url, `it is compressed ${names.length} times`);
  let decoded = answer;
  // The last one was applied last.
  for (const name of names.reverse()) decoded = await withoutCoding(decoded, name, options);
  return decoded;
}

/** Names of the registered codings, in the order of their application. */
function codingsOf(headers: HttpHeaders): string[] {
  // Codings of the transfer were applied after those of the content. Chunks are removed already.
  const values = [headers["content-encoding"], headers["transfer-encoding"]].flatMap((value) => value ?? []);
  const names = values.flatMap((each) => each.split(",")).map((name) => name.trim().toLowerCase());
  return names.filter((name) => Object.hasOwn(CODINGS, name) || UNSUPPORTED_CODINGS.includes(name));
}

async function withoutCoding(answer: HttpAnswer, name: string, options: DecodingOptions): Promise<HttpAnswer> {
  const { head, body } = await peek(answer.body);
  if (head.length === 0) return { ...answer, body };
  const codings = Object.hasOwn(CODINGS, name) ? CODINGS[name] : undefined;
  if (codings === undefined) {
    body.cancel();
    throw answerError(answer.url, `the server compressed its answer unasked, with ${name}, which is not supported`);
  }
  const coding = codings.find((each) => each.fits(head));
  if (coding === undefined) return { ...answer, body };
  const { url, status, headers } = answer;
  const firstBytes = status === 206 ? looseContentRangeOf(headers)?.firstBytes : undefined;
  if (firstBytes !== undefined && firstBytes > 0) {
    if (!coding.hasMagic) return { ...answer, body };
    throw answerError(url, `the server sent a part from the middle of what it has compressed with ${name}`);
  }
  const plain = Object.fromEntries(Object.entries(headers).filter(([key]) => !HEADERS_OF_COMPRESSED.includes(key)));
  const decoded = new DecodedBody(body, { ...options, coding, url, name });
  return { url, status: status === 206 ? 200 : status, headers: plain, body: decoded };
}

/** The body's first bytes, and the body with them. */
async function peek(body: HttpBody): Promise<{ readonly head: Uint8Array; readonly body: HttpBody }> {
  let head: Uint8Array = new Uint8Array(0);
  while (head.length < HEAD_BYTES) {
    const chunk = await body.next();
    if (chunk === undefined) break;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
  }
  return { head: head.subarray(0, HEAD_BYTES), body: new PrefixedBody(head, body) };
}

class DecodedBody implements HttpBody {
  readonly #body: HttpBody;
  readonly #options: { readonly url: URL; readonly name: string };
  readonly #decoder: Transform;
  readonly #chunks: AsyncIterator<Uint8Array>;
  /** Received since something was decoded. */
  #idleBytes = 0;
  /** Why the compressed body broke off. */
  #failure: unknown;
  #timeoutMs: number | undefined;

  constructor(
    body: HttpBody,
    options: DecodingOptions & { readonly coding: Coding; readonly url: URL; readonly name: string },
  ) {
    const { coding, memory, signal } = options;
    memory.take(coding.memoryBytes, "decompressing the answer");
    this.#body = body;
    this.#options = options;
    const decoder = coding.createDecoder();
    this.#decoder = decoder;
    this.#chunks = decoder[Symbol.asyncIterator]();
    const stopListening = onAbort(signal, () => this.cancel());
    pipeline(Readable.from(this.#receive(), { objectMode: false }), decoder, () => {
      stopListening();
      memory.release(coding.memoryBytes);
    });
  }

  async next(timeoutMs?: number): Promise<Uint8Array | undefined> {
    this.#timeoutMs = timeoutMs;
    try {
      const { value, done } = await this.#chunks.next();
      this.#idleBytes = 0;
      if (done !== true) return value;
      if (this.#failure !== undefined) throw this.#failure;
      return undefined;
    } catch (error) {
      if (error instanceof NodeError) throw error;
      const { url, name } = this.#options;
      throw answerError(url, `what the server compressed with ${name} is damaged: ${(error as Error).message}`);
    }
  }

  cancel(): void {
    this.#body.cancel();
    this.#decoder.destroy();
  }

  async *#receive(): AsyncGenerator<Uint8Array> {
    for (;;) {
      // What has been received is decoded first.
      const chunk = await this.#body.next(this.#timeoutMs).catch((error) => {
        this.#failure = error;
        return undefined;
      });
      if (chunk === undefined) return;
      this.#idleBytes += chunk.length;
      if (this.#idleBytes > IDLE_BYTES_MAX) {
        throw answerError(
          this.#options.url,
          `what the server compressed with ${this.#options.name} decodes to nothing`,
        );
      }
      yield chunk;
    }
  }
}

/** RFC 1950: method 8, a window of 32 KiB at most, and a checksum. */
function isZlib([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 15) === 8 && method >> 4 <= 7 && ((method << 8) | flags) % 31 === 0;
}

function isRawDeflate(head: Uint8Array): boolean {
  return decodes(head, () => zlib.inflateRawSync(head, { ...TOLERANT, ...HEAD_OPTIONS }));
}

function isBrotli(head: Uint8Array): boolean {
  return decodes(head, () => zlib.brotliDecompressSync(head, { finishFlush: BROTLI_OPERATION_FLUSH, ...HEAD_OPTIONS }));
}

/** True when all of it belongs to one stream. The first byte of every Matroska file is an empty one of brotli. */
function decodes(head: Uint8Array, decode: () => unknown): boolean {
  try {
    const { engine } = decode() as { readonly engine: zlib.Zlib };
    return engine.bytesWritten === head.length;
  } catch (error) {
    // More than is needed is no failure. Others mean that the bytes are something else, which the caller expects.
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
  }
}

/** From Node.js 22.15 on. */
function zstdCoding(): Record<string, readonly Coding[]> {
  const { createZstdDecompress, constants } = zlib as unknown as {
    readonly createZstdDecompress?: (options: object) => Transform;
    readonly constants: Readonly<Record<string, number>>;
  };
  if (createZstdDecompress === undefined) return {};
  const params = { [constants.ZSTD_d_windowLogMax ?? 100]: ZSTD_WINDOW_LOG_MAX };
  const coding: Coding = {
    memoryBytes: 9 * 1024 * 1024,
    fits: (head) => Buffer.from(head).toString("hex", 0, 4) === "28b52ffd",
    hasMagic: true,
    createDecoder: () => createZstdDecompress({ params, finishFlush: constants.ZSTD_e_flush }),
  };
  return { zstd: [coding] };
}
