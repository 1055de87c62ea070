// Downloads a whole small body: playlists, segments and keys. Retries like a byte source, in bounded time; the body is
// kept in the pieces received. Audio thread.

import type { Egress } from "../../bridge/playable-link.ts";
import { NodeError } from "../../errors.ts";
import { describeUrl } from "../../lib/parse-url.ts";
import { checkedRange, checkHasBody, isUselessPart } from "./answer-checks.ts";
import { ByteWindow } from "./byte-window.ts";
import { getDecoded } from "./first-request.ts";
import type { HttpAnswer } from "./http-answer.ts";
import type { HttpClient } from "./http-client.ts";
import { answerError, interruptedError, isHangUp, isServerError, isWorthRetrying } from "./http-errors.ts";
import { contentLengthOf, mimeTypeOf, type Validator, validatorOf } from "./http-headers.ts";
import type { RequestPace } from "./request-pace.ts";
import { RetryBudget, type RetryLimits } from "./retry-budget.ts";

/** Transforms the received bytes; created for every attempt. */
export interface ByteTransform {
  update(chunk: Uint8Array): Uint8Array;
  final(): Uint8Array;
}

/** A download's source and bounds. */
export interface DownloadOptions {
  readonly client: HttpClient;
  readonly pace: RequestPace;
  readonly signal: AbortSignal;
  /** See HttpRequest, all three. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly headersOf?: URL | undefined;
  readonly egress?: Egress | undefined;
  /** More than this is an error. */
  readonly sizeBytesMax: number;
  /** Only these bytes of the file. */
  readonly range?: { readonly offsetBytes: number; readonly lengthBytes: number } | undefined;
  /** Bytes put in front of the download. */
  readonly prefix?: Uint8Array | undefined;
  readonly transform?: (() => ByteTransform) | undefined;
  /** Default: six tries over twenty seconds. */
  readonly retryLimits?: RetryLimits | undefined;
  /** The version that is known already: when it has not changed, nothing is downloaded. */
  readonly known?: Validator | undefined;
}

/** The downloaded bytes, and the validator for the next request. */
export interface Downloaded {
  /** The caller's to reset when it is done with it. */
  readonly data: ByteWindow;
  /** Address after redirects. */
  readonly url: URL;
  readonly mimeType: string | undefined;
  readonly validator: Validator;
}

/** Nothing that is downloaded here is empty. Asked once more, the server may send it. */
class EmptyAnswerError extends NodeError {}

/** For all attempts together. A site that takes longer for a few seconds of audio cannot be played. */
const DOWNLOAD_MS_MAX = 60_000;
const NOT_MODIFIED = 304;
/** All of a file is received only for a range near its beginning. */
const WHOLE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Downloads it, with up to six more tries over twenty seconds when there is trouble that may pass.
 * @returns undefined when it is still the version that is known
 * @throws NodeError as `HttpClient.get`, and "input-not-found", "input-http-status", "input-answer-invalid",
 * "memory-exhausted"
 */
export function downloadIfChanged(url: URL, options: DownloadOptions): Promise<Downloaded | undefined> {
  return options.pace.budget.upstream.await(tryDownload(url, options));
}

async function tryDownload(url: URL, options: DownloadOptions): Promise<Downloaded | undefined> {
  const { clock, upstream } = options.pace.budget;
  const retries = new RetryBudget(clock, options.retryLimits);
  const tooLong = new AbortController();
  const timer = clock.after(DOWNLOAD_MS_MAX, () => tooLong.abort(new Error(`it took more than ${DOWNLOAD_MS_MAX} ms`)));
  const signal = AbortSignal.any([options.signal, tooLong.signal]);
  // Every second try, where requests for the range bring nothing, is for all of it, and only the range is kept.
  let isBare = false;
  let wasEmpty = false;
  try {
    for (;;) {
      try {
        return await downloadOnce(url, { ...options, signal, isBare });
      } catch (error) {
        options.signal.throwIfAborted();
        if (signal.aborted) throw interruptedError(url, signal.reason);
        const isFirstEmpty: boolean = error instanceof EmptyAnswerError && !wasEmpty;
        if (!(isWorthRetrying(error) || isFirstEmpty) || !(await retries.waitForTry(signal))) throw error;
        isBare = retries.triesUsed % 2 === 0 && fitsWhole(options) && isUnanswered(error);
        wasEmpty ||= isFirstEmpty;
        upstream.countReopened();
      }
    }
  } finally {
    timer.cancel();
  }
}

/** Downloads without a known earlier version. */
export async function download(url: URL, options: Omit<DownloadOptions, "known">): Promise<Downloaded> {
  const loaded = await downloadIfChanged(url, options);
  if (loaded === undefined) throw answerError(url, "the server says that it has not changed, unasked");
  return loaded;
}

/** True when the range can be cut out of all of the file, without receiving much more. */
function fitsWhole({ range, sizeBytesMax }: DownloadOptions): boolean {
  return range !== undefined && range.offsetBytes + range.lengthBytes <= Math.min(sizeBytesMax, WHOLE_BYTES_MAX);
}

/** True when a server that can be reached sent no body. */
function isUnanswered(error: unknown): boolean {
  if (!(error instanceof NodeError)) return false;
  return isServerError(error) || (isHangUp(error) && error.code !== "input-interrupted");
}

async function downloadOnce(
  url: URL,
  options: DownloadOptions & { readonly isBare: boolean },
): Promise<Downloaded | undefined> {
  const { client, pace, signal, range, known, headersOf, egress } = options;
  const get = (headers: Record<string, string>): Promise<HttpAnswer> =>
    getDecoded({ client, pace }, { url, headers, headersOf, signal, egress });
  let answer = await get(requestHeaders(options));
  if (range !== undefined && !options.isBare && fitsWhole(options) && isUselessPart(answer, range.offsetBytes)) {
    answer.body.cancel();
    answer = await get({ ...options.headers });
  }
  const data = new ByteWindow(pace.budget.memory);
  try {
    if (answer.status === NOT_MODIFIED && known !== undefined) return undefined;
    checkHasBody(answer);
    if (answer.status === 206) checkedRange(answer, range?.offsetBytes ?? 0);
    // A server that ignores ranges sends everything; only what lies before and within the range is read.
    const skipBytes = answer.status === 206 ? 0 : (range?.offsetBytes ?? 0);
    data.append(options.prefix ?? new Uint8Array(0));
    await receive(answer, { ...options, skipBytes, data });
    return { data, url: answer.url, mimeType: mimeTypeOf(answer.headers), validator: validatorOf(answer.headers) };
  } catch (error) {
    data.reset(0);
    throw error;
  } finally {
    answer.body.cancel();
  }
}

function requestHeaders({
  range,
  known,
  headers: given,
  isBare,
}: DownloadOptions & { readonly isBare: boolean }): Record<string, string> {
  const headers: Record<string, string> = { ...given };
  if (range !== undefined && !isBare) {
    headers.range = `bytes=${range.offsetBytes}-${range.offsetBytes + range.lengthBytes - 1}`;
  }
  if (known?.etag !== undefined) headers["if-none-match"] = known.etag;
  if (known?.lastModified !== undefined) headers["if-modified-since"] = known.lastModified;
  return headers;
}

async function receive(
  { url, headers, body }: HttpAnswer,
  options: DownloadOptions & { readonly skipBytes: number; readonly data: ByteWindow },
): Promise<void> {
  const { range, skipBytes, sizeBytesMax, data, pace } = options;
  const transform = options.transform?.();
  const neededBytes = range?.lengthBytes ?? Number.POSITIVE_INFINITY;
  const tooLarge = (): Error => answerError(url, `it is larger than ${sizeBytesMax} bytes`);
  if (skipBytes + Math.min(neededBytes, contentLengthOf(headers) ?? 0) > sizeBytesMax) throw tooLarge();
  let receivedBytes = 0;
  while (receivedBytes < skipBytes + neededBytes) {
    const chunk = await body.next();
    if (chunk === undefined) break;
    pace.budget.upstream.countReceived(url, chunk.length);
    const from = Math.max(0, skipBytes - receivedBytes);
    const part = chunk.subarray(from, Math.max(from, skipBytes + neededBytes - receivedBytes));
    receivedBytes += chunk.length;
    if (receivedBytes > sizeBytesMax) throw tooLarge();
    data.append(transform === undefined ? part : transform.update(part));
  }
  if (Number.isFinite(neededBytes) && receivedBytes < skipBytes + neededBytes) {
    throw interruptedError(url, new Error("the answer is shorter than the range asked for"));
  }
  if (range === undefined && receivedBytes === 0) {
    throw new EmptyAnswerError("input-answer-invalid", `loading ${describeUrl(url)}: the answer is empty`);
  }
  if (transform !== undefined) data.append(transform.final());
}
