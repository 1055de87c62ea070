// The requests of JetStream's API that the bucket needs, as JSON over core NATS
// (https://docs.nats.io/reference/reference-protocols/nats_api_reference). Below nats-stream.ts, record-feed.ts and
// nats-bucket.ts. Main thread.

import { ask, type LiveNats } from "./live-nats.ts";

/** Error codes of the server's errors.json. */
export const API_ERRORS = {
  notEnabled: 10076,
  notEnabledForAccount: 10039,
  noAccount: 10035,
  clusterNotAvailable: 10008,
  clusterNotLeader: 10009,
  noPeers: 10005,
  accountResources: 10002,
  insufficientResources: 10023,
  memoryResources: 10028,
  storageResources: 10047,
  streamNotFound: 10059,
  streamExists: 10058,
  subjectsOverlap: 10065,
  replicasNotSupported: 10074,
  messageNotFound: 10037,
  messageTooLarge: 10054,
  storeFailed: 10077,
  maxBytesOfAccount: 10122,
  wrongLastSequence: 10071,
  wrongLastSequenceUnsaid: 10164,
  batchDisabled: 10174,
  batchIncomplete: 10176,
  batchesTooMany: 10210,
} as const;

/** JetStream has answered that it does not. */
export class ApiRefusal extends Error {
  override readonly name = "ApiRefusal";
  /** See API_ERRORS. */
  readonly code: number;

  constructor(code: number, description: string) {
    super(description);
    this.code = code;
  }
}

/**
 * The answer of the API, without its fields checked.
 * @throws ApiRefusal, NodeError "cluster-away"
 */
export async function askApi(
  live: LiveNats,
  verb: string,
  body: unknown,
  timeoutMs: number,
): Promise<Readonly<Record<string, unknown>>> {
  const payload = body === undefined ? "" : JSON.stringify(body);
  const answer = await ask(live, `$JS.API.${verb}`, payload, { timeoutMs });
  if (answer === "nobody") throw new ApiRefusal(API_ERRORS.notEnabled, "JetStream not enabled");
  return parseAnswer(answer.data);
}

/** @throws ApiRefusal */
export function parseAnswer(data: Uint8Array): Readonly<Record<string, unknown>> {
  const parsed = asRecord(parseJson(data));
  if (parsed.error === undefined) return parsed;
  const { err_code: code, description } = asRecord(parsed.error);
  throw new ApiRefusal(typeof code === "number" ? code : 0, String(description ?? "unknown error").slice(0, 300));
}

function parseJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    // Also an empty answer, which some servers give to requests that they do not know.
    throw new ApiRefusal(0, "an answer that is not JSON");
  }
}

/** The value if it is an object; an empty one if not. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The value if it is a number; 0 if not. */
export function asNumber(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
