// A whole small body at once: playlists, segments and keys. Tries again as a byte source would. Audio thread.

import type { Clock } from "../../lib/clock.ts";
import { checkedRange, checkHasBody } from "./answer-checks.ts";
import type { HttpAnswer, HttpClient } from "./http-client.ts";
import { answerError, interruptedError, isWorthRetrying } from "./http-errors.ts";
import { contentLengthOf, mimeTypeOf } from "./http-headers.ts";
import { RetryBudget } from "./retry-budget.ts";

export interface DownloadOptions {
  readonly client: HttpClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** More than this is an error. */
  readonly sizeBytesMax: number;
  /** Only these bytes of the file. */
  readonly range?: { readonly offsetBytes: number; readonly lengthBytes: number } | undefined;
}

export interface Download {
  readonly bytes: Uint8Array;
  /** Where it came from after redirects. */
  readonly url: URL;
  readonly mimeType: string | undefined;
}

/**
 * Downloads it, with up to six more tries over twenty seconds when there is trouble that may pass.
 * @throws NodeError as `HttpClient.get`, and "input-not-found", "input-http-status", "input-answer-invalid"
 */
export async function download(url: URL, options: DownloadOptions): Promise<Download> {
  const retries = new RetryBudget(options.clock);
  for (;;) {
    try {
      return await downloadOnce(url, options);
    } catch (error) {
      options.signal.throwIfAborted();
      if (!isWorthRetrying(error) || !(await retries.waitForTry(options.signal))) throw error;
    }
  }
}

async function downloadOnce(url: URL, options: DownloadOptions): Promise<Download> {
  const { client, signal, range, sizeBytesMax } = options;
  const endBytes = range === undefined ? undefined : range.offsetBytes + range.lengthBytes;
  const headers =
    range === undefined || endBytes === undefined ? {} : { range: `bytes=${range.offsetBytes}-${endBytes - 1}` };
  const answer = await client.get({ url, headers, signal });
  try {
    checkHasBody(answer);
    if (answer.status === 206) checkedRange(answer, range?.offsetBytes ?? 0);
    // A server that ignores ranges sends everything; only what lies before and within the range is read.
    const skipBytes = answer.status === 206 ? 0 : (range?.offsetBytes ?? 0);
    const wantedBytes = range?.lengthBytes ?? Number.POSITIVE_INFINITY;
    const bytes = await receive(answer, { skipBytes, wantedBytes, sizeBytesMax });
    return { bytes, url: answer.url, mimeType: mimeTypeOf(answer.headers) };
  } finally {
    answer.body.cancel();
  }
}

async function receive(
  { url, headers, body }: HttpAnswer,
  bounds: { readonly skipBytes: number; readonly wantedBytes: number; readonly sizeBytesMax: number },
): Promise<Uint8Array> {
  const { skipBytes, wantedBytes, sizeBytesMax } = bounds;
  const tooLarge = (): Error => answerError(url, `it is larger than ${sizeBytesMax} bytes`);
  if (skipBytes + Math.min(wantedBytes, contentLengthOf(headers) ?? 0) > sizeBytesMax) throw tooLarge();
  const parts: Uint8Array[] = [];
  let receivedBytes = 0;
  while (receivedBytes < skipBytes + wantedBytes) {
    const chunk = await body.next();
    if (chunk === undefined) break;
    const from = Math.max(0, skipBytes - receivedBytes);
    parts.push(chunk.subarray(from, Math.max(from, skipBytes + wantedBytes - receivedBytes)));
    receivedBytes += chunk.length;
    if (receivedBytes > sizeBytesMax) throw tooLarge();
  }
  if (Number.isFinite(wantedBytes) && receivedBytes < skipBytes + wantedBytes) {
    throw interruptedError(url, new Error("the answer is shorter than the range asked for"));
  }
  return Buffer.concat(parts);
}
