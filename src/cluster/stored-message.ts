// A message of the stream as its leader has it: the newest of a subject. Below nats-bucket.ts and nats-stream.ts.
// Main thread.

import { API_ERRORS, ApiRefusal, askApi, asNumber, asRecord } from "./jetstream-api.ts";
import type { LiveNats } from "./live-nats.ts";

export interface StoredMessage {
  readonly revision: number;
  /** Undefined: a mark of removal. */
  readonly data: Uint8Array | undefined;
}

/**
 * The newest message of the subject; undefined when there is none.
 * @throws ApiRefusal, NodeError "cluster-away"
 */
export async function lastMessage(
  live: LiveNats,
  stream: string,
  subject: string,
  timeoutMs: number,
): Promise<StoredMessage | undefined> {
  try {
    const { message } = await askApi(live, `STREAM.MSG.GET.${stream}`, { last_by_subj: subject }, timeoutMs);
    const { seq, data, hdrs } = asRecord(message);
    const headers = typeof hdrs === "string" ? Buffer.from(hdrs, "base64").toString("latin1") : "";
    const isRemoved = /^KV-Operation: ?(?:DEL|PURGE)\s*$/m.test(headers);
    const bytes = Buffer.from(typeof data === "string" ? data : "", "base64");
    return { revision: asNumber(seq), data: isRemoved ? undefined : bytes };
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === API_ERRORS.messageNotFound) return undefined;
    throw error;
  }
}
