// An atomic batch of JetStream: messages that are stored all or none, each under conditions
// (https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-50.md). Below nats-bucket.ts and
// nats-stream.ts. Main thread.

import { ApiRefusal, asNumber, parseAnswer } from "./jetstream-api.ts";
import { ask, type LiveNats } from "./live-nats.ts";

/** What a server takes as one batch. */
export const BATCH_LENGTH_MAX = 1000;
/** Longer than the headers of a message with its subject. */
export const HEADERS_SIZE_MAX_BYTES = 2048;
/** A removed record leaves a mark for so long: a watch that restarts meanwhile still sees the removal. */
const REMOVED_TTL = "60s";

/** The last revision that a subject must have for the batch to be stored; 0: no message. */
export interface Expectation {
  readonly subject: string;
  readonly revision: number;
}

export interface BatchMessage {
  readonly subject: string;
  /** Undefined: a mark of removal. */
  readonly data: Uint8Array | undefined;
  readonly expected: Expectation | undefined;
  /** For how long it is stored, in whole seconds. Default: for ever; a mark of removal: for a minute. */
  readonly ttlS?: number | undefined;
}

export type BatchOutcome =
  /** The revision of the first; the others follow. */
  | { readonly kind: "stored"; readonly firstRevision: number }
  | { readonly kind: "refused"; readonly refusal: ApiRefusal }
  /** No server takes messages of the stream now. */
  | { readonly kind: "nobody" };

/**
 * Sends the batch once.
 * @throws NodeError "cluster-away": it may have been stored
 */
export async function sendBatch(
  live: LiveNats,
  messages: readonly BatchMessage[],
  options: { readonly id: string; readonly timeoutMs: number },
): Promise<BatchOutcome> {
  live.signal.throwIfAborted();
  for (const [index, message] of messages.slice(0, -1).entries()) {
    live.nats.publish(message.subject, message.data ?? "", {
      headers: headersOf(live, message, options.id, index + 1),
    });
  }
  const last = messages.at(-1);
  if (last === undefined) throw new TypeError("an empty batch");
  const headers = headersOf(live, last, options.id, messages.length);
  headers.set("Nats-Batch-Commit", "1");
  const answer = await ask(live, last.subject, last.data ?? "", { timeoutMs: options.timeoutMs, headers });
  if (answer === "nobody") return { kind: "nobody" };
  try {
    const { seq } = parseAnswer(answer.data);
    return { kind: "stored", firstRevision: asNumber(seq) - messages.length + 1 };
  } catch (error) {
    if (error instanceof ApiRefusal) return { kind: "refused", refusal: error };
    throw error;
  }
}

function headersOf(
  { module }: LiveNats,
  { subject, data, expected, ttlS }: BatchMessage,
  id: string,
  sequence: number,
) {
  const headers = module.headers();
  headers.set("Nats-Batch-Id", id);
  headers.set("Nats-Batch-Sequence", String(sequence));
  // The server writes down what this replaces as removed. A limit of one message for each subject would do without:
  // then a server that is killed finds the record again once the mark of its removal is gone.
  headers.set("Nats-Rollup", "sub");
  if (data === undefined) {
    headers.set("KV-Operation", "DEL");
    headers.set("Nats-TTL", REMOVED_TTL);
  } else if (ttlS !== undefined) headers.set("Nats-TTL", `${ttlS}s`);
  if (expected !== undefined) {
    headers.set("Nats-Expected-Last-Subject-Sequence", String(expected.revision));
    if (expected.subject !== subject) headers.set("Nats-Expected-Last-Subject-Sequence-Subject", expected.subject);
  }
  return headers;
}
