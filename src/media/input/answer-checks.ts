// Whether an HTTP answer is the body that was asked for. Pure. Audio thread.

import type { HttpHeaders } from "../../network/header-value.ts";
import type { HttpAnswer } from "./http-answer.ts";
import { answerError, isWorthRetrying, statusError } from "./http-errors.ts";
import { type ContentRange, contentLengthOf, looseContentRangeOf } from "./http-headers.ts";

/** Statuses that the same request without extras would not change: refused, missing, or too many requests. */
const FINAL_STATUSES: readonly number[] = [401, 403, 404, 410, 429];

/** Throws unless the answer brings a body: "input-not-found", "input-http-status". */
export function checkHasBody({ url, status }: HttpAnswer): void {
  if (!hasBody(status)) throw statusError(url, status);
}

/** The range of a 206 answer; throws "input-answer-invalid" when it does not begin at this byte. */
export function checkedRange(answer: HttpAnswer, positionBytes: number): ContentRange {
  const range = looseContentRangeOf(answer.headers);
  if (range === undefined || range.firstBytes !== positionBytes) {
    throw answerError(answer.url, `the server sent other bytes than asked for (from ${positionBytes} on)`);
  }
  return range;
}

/** True when the answer to a request for a range is no use, and a request without one may get another answer. */
export function isWorthAskingBare({ status, headers }: HttpAnswer, positionBytes: number): boolean {
  if (!hasBody(status)) return !FINAL_STATUSES.includes(status);
  return contentLengthOf(headers) === 0 || (status === 206 && !isPlausible(headers, positionBytes));
}

/** The same of a request from the middle, where trouble that passes is waited for. */
export function isUselessPart(answer: HttpAnswer, positionBytes: number): boolean {
  const { status, url } = answer;
  return isWorthAskingBare(answer, positionBytes) && (status === 206 || !isWorthRetrying(statusError(url, status)));
}

/** A range that begins where it should, and is as long as the body. */
function isPlausible(headers: HttpHeaders, positionBytes: number): boolean {
  const { firstBytes, lastBytes, sizeBytes } = looseContentRangeOf(headers) ?? {};
  if (firstBytes !== positionBytes || lastBytes === undefined) return false;
  const lengthBytes = contentLengthOf(headers);
  return lengthBytes === undefined || lengthBytes === lastBytes + 1 - firstBytes || sizeBytes === undefined;
}

/** Any success that may bring one: some servers answer 201 or 202 to everything. */
export function hasBody(status: number): boolean {
  return (status >= 200 && status <= 203) || status === 206;
}
