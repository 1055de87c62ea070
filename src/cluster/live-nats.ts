// A connection to a NATS server while it stands, and requests over it. Made by nats-connection.ts, used by all that
// speaks to NATS. Main thread.

import type { Msg, MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { NodeError } from "../errors.ts";
import { messageOf } from "../lib/message-of.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";

/** The client library, which is loaded only in a cluster. */
export type NatsModule = typeof import("@nats-io/transport-node");

export interface LiveNats {
  readonly nats: NatsConnection;
  readonly module: NatsModule;
  /** Fires when the connection is lost; its reason is a NodeError "cluster-away". */
  readonly signal: AbortSignal;
}

/** A connection over which the bucket has been found ready. */
export interface LiveBucket extends LiveNats {
  /** When the bucket was made: one that was deleted and made again starts with low revisions. */
  readonly madeAt: string;
  /** How many servers hold the bucket. */
  readonly replicaCount: number;
}

export interface AskOptions {
  readonly timeoutMs: number;
  readonly headers?: MsgHdrs;
}

/**
 * The answer to a request, or "nobody" when nothing listens on that subject.
 * @throws NodeError "cluster-away": no answer in time, or the connection is lost. The request may have had its effect.
 */
export async function ask(
  { nats, module, signal }: LiveNats,
  subject: string,
  payload: Uint8Array | string,
  { timeoutMs, headers }: AskOptions,
): Promise<Msg | "nobody"> {
  signal.throwIfAborted();
  const options = { timeout: Math.max(1, Math.ceil(timeoutMs)), ...(headers && { headers }) };
  try {
    return await unlessAborted(nats.request(subject, payload, options), signal);
  } catch (error) {
    if (error instanceof module.RequestError && error.isNoResponders()) return "nobody";
    throw awayError(error);
  }
}

export function awayError(cause: unknown): NodeError {
  if (cause instanceof NodeError) return cause;
  const detail = messageOf(cause);
  return new NodeError("cluster-away", `no answer from NATS: ${detail}`, { cause });
}
