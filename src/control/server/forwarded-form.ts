// The form in which machines of a cluster pass requests on, and answer them: a line of JSON, then the body as it is.
// What comes from another machine is checked here. Main thread; for request-passing.ts.

import { z } from "zod";
import { NodeError } from "../../errors.ts";
import { parseJson, plainJson, stringifyJson } from "../../lib/json.ts";
import { BODY_SIZE_MAX_BYTES } from "./body-reader.ts";

/** The longest body of an answer: some ten thousand players. */
export const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024;
/** More than the head of an HTTP request holds, some parts of it twice. */
const HEAD_LENGTH_MAX = 128 * 1024;
const TEXT_LENGTH_MAX = 16 * 1024;
const SEGMENTS_MAX = 16;
const HEADERS_MAX = 32;
/** They are about the connection, not about the answer. */
const CONNECTION_HEADERS = /^(?:connection|content-length|keep-alive|trailer|transfer-encoding|upgrade)$/i;

const text = z.string().max(TEXT_LENGTH_MAX);

/** A record without more members than that. */
function recordOf(name: RegExp, value: z.ZodType<string>, countMax: number): z.ZodType<Record<string, string>> {
  return z.record(z.string().regex(name), value).refine((record) => Object.keys(record).length <= countMax);
}

const requestHead = z.object({
  method: z.string().regex(/^[A-Z]{1,16}$/),
  /** The path of the route, with `:name` segments. */
  path: text,
  segments: recordOf(/^[A-Za-z]{1,64}$/, text, SEGMENTS_MAX),
  /** Path and query, as the client has sent them. */
  target: text,
  /** All that routes about sessions look at. */
  headers: z.object({
    accept: text.optional(),
    "content-type": text.optional(),
    "user-agent": text.optional(),
  }),
  /** The name of the client's key; null: it has shown the password. */
  key: text.nullable(),
  /** The client's. Undefined: unknown. */
  address: text.optional(),
});

/** A request that is passed on. */
export type ForwardedRequest = z.output<typeof requestHead> & { readonly body: string };

const answerHead = z.union([
  z.object({ kind: z.literal("moved") }),
  z.object({
    kind: z.literal("answered"),
    status: z.int().min(200).max(599),
    headers: recordOf(/^[A-Za-z][A-Za-z-]{0,63}$/, z.string().regex(/^[\t\x20-\x7e]{0,4096}$/), HEADERS_MAX).refine(
      (headers) => !Object.keys(headers).some((name) => CONNECTION_HEADERS.test(name)),
    ),
    hasBody: z.boolean(),
  }),
]);

/** What the other machine says: `moved`: it does not have the session any more, and has done nothing. */
export type ForwardedAnswer =
  | { readonly kind: "moved" }
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer | undefined;
    };

/** The text of a request. */
export function writeRequest({ body, ...head }: ForwardedRequest): string {
  return `${stringifyJson(head)}\n${body}`;
}

/** @throws NodeError "internal" for anything that `writeRequest` does not write */
export function readRequest(written: string): ForwardedRequest {
  const { head, body } = parts(written, { what: "request", bodyLengthMax: BODY_SIZE_MAX_BYTES });
  return { ...checked(requestHead, head, "request"), body };
}

/** The text of an answer. */
export function writeAnswer(answer: ForwardedAnswer): string {
  if (answer.kind === "moved") return `${stringifyJson(answer)}\n`;
  const { kind, status, headers, body } = answer;
  return `${stringifyJson({ kind, status, headers, hasBody: body !== undefined })}\n${body ?? ""}`;
}

/** @throws NodeError "internal" for anything that `writeAnswer` does not write */
export function readAnswer(written: string): ForwardedAnswer {
  const { head, body } = parts(written, { what: "answer", bodyLengthMax: ANSWER_SIZE_MAX_BYTES });
  const answer = checked(answerHead, head, "answer");
  if (answer.kind === "moved") return answer;
  const { kind, status, headers, hasBody } = answer;
  return { kind, status, headers, body: hasBody ? Buffer.from(body) : undefined };
}

function parts(
  written: string,
  { what, bodyLengthMax }: { readonly what: string; readonly bodyLengthMax: number },
): { readonly head: string; readonly body: string } {
  const end = written.indexOf("\n");
  if (end < 0 || end > HEAD_LENGTH_MAX || written.length - end - 1 > bodyLengthMax) {
    throw unreadable(what, "it has no head, or is too long");
  }
  return { head: written.slice(0, end), body: written.slice(end + 1) };
}

function checked<Schema extends z.ZodType>(schema: Schema, head: string, what: string): z.output<Schema> {
  const result = schema.safeParse(parsed(head, what));
  if (!result.success) throw unreadable(what, z.prettifyError(result.error));
  return result.data;
}

function parsed(head: string, what: string): unknown {
  try {
    return plainJson(parseJson(head));
  } catch (error) {
    throw unreadable(what, "its head is not JSON", error);
  }
}

function unreadable(what: string, why: string, cause?: unknown): NodeError {
  return new NodeError("internal", `the ${what} of another machine of the cluster cannot be read: ${why}`, { cause });
}
