// The messages that clients may send over the voice WebSocket, checked field by field as Discord would
// (discord-voice.md sections 1.3 to 1.6). Each parser returns the message or, as a string, the problem with it.

import { TRANSPORT_MODES, type TransportMode } from "./transport-crypto.ts";

export interface Identify {
  readonly guildId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
  /** 0 when the field is missing: no DAVE. */
  readonly daveVersionMax: number;
}

export interface Resume {
  readonly guildId: string;
  readonly sessionId: string;
  readonly token: string;
  readonly seqAck: number;
}

interface Speaking {
  readonly speaking: number;
  readonly ssrc: number;
}

/** Further JSON opcodes that a client may send; they are accepted without a check. */
export const IGNORED_CLIENT_OPS: ReadonlySet<number> = new Set([12, 14, 15, 19, 32]);

const SNOWFLAKE = /^\d{1,20}$/;

type Fields = Readonly<Record<string, unknown>>;

/** Splits a text frame into opcode and payload. */
export function parseEnvelope(text: string): { readonly op: number; readonly d: unknown } | string {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return "not JSON";
  }
  const fields = asFields(message);
  if (fields === undefined || typeof fields.op !== "number") return "no numeric op";
  return { op: fields.op, d: fields.d };
}

export function parseIdentify(d: unknown): Identify | string {
  const fields = asFields(d);
  if (fields === undefined) return "Identify without a payload";
  const { server_id: guildId, user_id: userId, session_id: sessionId, token } = fields;
  if (!isSnowflake(guildId)) return "server_id is not a string of digits";
  if (!isSnowflake(userId)) return "user_id is not a string of digits";
  if (!isText(sessionId)) return "session_id is not a string";
  if (!isText(token)) return "token is not a string";
  const daveVersionMax = fields.max_dave_protocol_version ?? 0;
  if (!isWhole(daveVersionMax)) return "max_dave_protocol_version is not a number";
  return { guildId, userId, sessionId, token, daveVersionMax };
}

export function parseResume(d: unknown): Resume | string {
  const fields = asFields(d);
  if (fields === undefined) return "Resume without a payload";
  const { server_id: guildId, session_id: sessionId, token, seq_ack: seqAck } = fields;
  if (!isSnowflake(guildId)) return "server_id is not a string of digits";
  if (!isText(sessionId)) return "session_id is not a string";
  if (!isText(token)) return "token is not a string";
  if (typeof seqAck !== "number" || !Number.isInteger(seqAck)) return "seq_ack is not a number";
  return { guildId, sessionId, token, seqAck };
}

/** The chosen mode; `closeCode` when Discord answers the mistake with a specific code. */
export function parseSelect(
  d: unknown,
  offered: readonly TransportMode[],
): TransportMode | { readonly problem: string; readonly closeCode: number } {
  const fields = asFields(d);
  if (fields?.protocol !== "udp") return { problem: `protocol ${String(fields?.protocol)}`, closeCode: 4012 };
  const data = asFields(fields.data);
  const mode = TRANSPORT_MODES.find((candidate) => candidate === data?.mode && offered.includes(candidate));
  if (mode === undefined) return { problem: `mode ${String(data?.mode)} was not offered`, closeCode: 4016 };
  if (typeof data?.address !== "string") return { problem: "address is not a string", closeCode: 4002 };
  if (!isWhole(data.port) || data.port > 0xffff) return { problem: "port is not a port number", closeCode: 4002 };
  return mode;
}

export function parseSpeaking(d: unknown): Speaking | string {
  const fields = asFields(d);
  if (fields === undefined) return "Speaking without a payload";
  if (!isWhole(fields.speaking) || fields.speaking > 7) return "speaking is not a bit set of 0 to 7";
  if (!isWhole(fields.ssrc)) return "ssrc is not a number";
  if (fields.delay !== undefined && typeof fields.delay !== "number") return "delay is not a number";
  return { speaking: fields.speaking, ssrc: fields.ssrc };
}

/** Heartbeat of v8: nonce and the last sequence number seen, which is judged elsewhere. */
export function parseHeartbeat(d: unknown): { readonly t: number; readonly seqAck: unknown } | string {
  const fields = asFields(d);
  if (fields === undefined) return "Heartbeat payload is not { t, seq_ack }";
  if (typeof fields.t !== "number" || !Number.isInteger(fields.t)) return "Heartbeat t is not an integer";
  return { t: fields.t, seqAck: fields.seq_ack };
}

/** The id of op 23 and op 31. */
export function parseTransitionId(d: unknown): number | string {
  const id = asFields(d)?.transition_id;
  return isWhole(id) && id <= 0xffff ? id : "transition_id is not a number of 16 bits";
}

function asFields(value: unknown): Fields | undefined {
  // Any non-array object can be read as a record of unknowns.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function isSnowflake(value: unknown): value is string {
  return typeof value === "string" && SNOWFLAKE.test(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}
