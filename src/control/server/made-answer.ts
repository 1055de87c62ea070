// Answers as they are sent, over HTTP or to the machine that has passed the request on: made of what a route has
// answered, or of what it has thrown (protocol-v4.md section 1). Main thread.

import type { Readable } from "node:stream";
import { NodeError } from "../../errors.ts";
import { stringifyJson } from "../../lib/json.ts";
import type { TaskSlicer } from "../../lib/task-slicer.ts";
import type { LogFields } from "../../log/log.ts";
import { accepts } from "../api/accept.ts";
import type { ApiContext } from "../api/api-context.ts";
import { errorObject, retryAfterOf } from "../api/api-error.ts";
import { listBody } from "../api/list-answer.ts";
import type { RestAnswer } from "../api/route.ts";
import { isTraced, pathOf } from "./request-target.ts";

/** An answer but for the headers that all answers have. */
export interface MadeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** UTF-8; a stream is of a long list. Undefined: there is none. */
  readonly body: Buffer | Readable | undefined;
  /** Fields for the request's line in the log. */
  readonly logged?: LogFields | undefined;
}

interface MakeOptions {
  /** The request's header Accept. */
  readonly accept: string | undefined;
  /** That of the client's account. */
  readonly slicer: Pick<TaskSlicer, "next">;
}

/** What is sent for the answer of a route. */
export function makeAnswer(answer: RestAnswer, options: MakeOptions): MadeAnswer {
  return { ...sentOf(answer, options), logged: answer.logged };
}

function sentOf(answer: RestAnswer, { accept, slicer }: MakeOptions): MadeAnswer {
  switch (answer.kind) {
    case "empty":
      return { status: answer.status, headers: answer.headers ?? {}, body: undefined };
    case "text": {
      const headers = { ...answer.headers, "Content-Type": answer.contentType };
      return { status: answer.status, headers, body: Buffer.from(answer.text) };
    }
    case "json":
    case "list":
    case "written": {
      if (!accepts(accept, "application/json")) return { status: 406, headers: {}, body: undefined };
      const body = answer.kind === "json" ? jsonBody(answer.value) : listBody(answer, slicer);
      const status = answer.kind === "json" ? (answer.status ?? 200) : 200;
      return { status, headers: { "Content-Type": "application/json" }, body };
    }
  }
}

/** What is sent for anything that was thrown: the error object. Logs what nobody expected. */
export function makeFailure(
  error: unknown,
  { method, target }: { readonly method: string; readonly target: string },
  { clock, logger }: Pick<ApiContext, "clock" | "logger">,
): MadeAnswer & { readonly body: Buffer } {
  const object = errorObject(error, {
    path: pathOf(target),
    epochMs: clock.epochMs(),
    isTraced: isTraced(target),
  });
  // Failures with another cause are logged where they happened, if at all.
  if (object.status >= 500 && !(error instanceof NodeError && error.fault !== "ourselves")) {
    logger.error("request failed: unexpected error", { method, path: object.path, error });
  }
  const retryAfterS = retryAfterOf(error);
  const headers = {
    ...(retryAfterS !== undefined && { "Retry-After": String(retryAfterS) }),
    "Content-Type": "application/json",
  };
  return { status: object.status, headers, body: jsonBody(object) };
}

/**
 * As bytes, as all other texts: to strings the framework would add a character set, which the published server does not
 * name.
 */
function jsonBody(value: unknown): Buffer {
  return Buffer.from(stringifyJson(value));
}
