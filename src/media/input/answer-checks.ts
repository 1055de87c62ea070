// Whether an HTTP answer is the body that was asked for. Pure. Audio thread.

import { headerOf } from "../../network/header-value.ts";
import type { HttpAnswer } from "./http-answer.ts";
import { answerError, statusError } from "./http-errors.ts";
import { type ContentRange, contentRangeOf } from "./http-headers.ts";

/** Throws unless the answer brings a body as it is: "input-not-found", "input-http-status", "input-answer-invalid". */
export function checkHasBody({ url, status, headers }: HttpAnswer): void {
  if (status !== 200 && status !== 203 && status !== 206) throw statusError(url, status);
  const encoding = headerOf(headers, "content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity") {
    throw answerError(url, `the server compressed its answer (${encoding.slice(0, 20)}) unasked`);
  }
}

/** The range of a 206 answer; throws "input-answer-invalid" when it does not begin at this byte. */
export function checkedRange(answer: HttpAnswer, positionBytes: number): ContentRange {
  const range = contentRangeOf(answer.headers);
  if (range === undefined || range.firstBytes !== positionBytes) {
    throw answerError(answer.url, `the server sent other bytes than asked for (from ${positionBytes} on)`);
  }
  return range;
}
