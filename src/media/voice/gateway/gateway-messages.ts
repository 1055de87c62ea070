// The voice gateway's opcodes and the shape of what it sends (discord-voice.md sections 1.3 to 1.6, 3.4, 3.5): frames
// of the WebSocket in, checked messages out. Between the gateway socket and the voice session, on the audio thread.

/** Opcodes we send; those we only receive are in the two parsers below. */
export const OPCODE = {
  identify: 0,
  selectProtocol: 1,
  heartbeat: 3,
  speaking: 5,
  resume: 7,
  mediaSinkWants: 15,
  daveTransitionReady: 23,
  mlsKeyPackage: 26,
  mlsCommitWelcome: 28,
  mlsInvalidCommitWelcome: 31,
} as const;

export interface VoiceReadyMessage {
  readonly kind: "ready";
  readonly ssrc: number;
  readonly address: string;
  readonly port: number;
  readonly modes: readonly string[];
}

export interface SessionDescriptionMessage {
  readonly kind: "sessionDescription";
  readonly mode: string;
  readonly secretKey: Uint8Array;
  readonly daveVersion: number;
}

/** Messages about end-to-end encryption: handled by the DAVE session in every state of the connection. */
export type DaveMessage =
  | { readonly kind: "usersPresent"; readonly userIds: readonly string[] }
  | { readonly kind: "userLeft"; readonly userId: string }
  | { readonly kind: "prepareTransition"; readonly transitionId: number; readonly version: number }
  | { readonly kind: "executeTransition"; readonly transitionId: number }
  | { readonly kind: "prepareEpoch"; readonly epoch: number; readonly version: number }
  | { readonly kind: "externalSender"; readonly senderPackage: Buffer }
  | { readonly kind: "proposals"; readonly operation: number; readonly proposals: Buffer }
  | { readonly kind: "commit"; readonly transitionId: number; readonly commit: Buffer }
  | { readonly kind: "welcome"; readonly transitionId: number; readonly welcome: Buffer };

export type GatewayMessage =
  | { readonly kind: "hello"; readonly heartbeatIntervalMs: number }
  | { readonly kind: "heartbeatRequest" }
  | { readonly kind: "heartbeatAck"; readonly nonce: number }
  | { readonly kind: "resumed" }
  | { readonly kind: "ignored"; readonly opcode: number }
  | VoiceReadyMessage
  | SessionDescriptionMessage
  | DaveMessage;

interface GatewayFrame {
  /** Undefined when the server gave the message no sequence number. 0 is a number like any other. */
  readonly seq: number | undefined;
  /** Undefined when the message is malformed; its `seq` still counts as received. */
  readonly message: GatewayMessage | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** Parses a JSON frame; undefined when it is not even an object with an opcode. */
export function parseTextFrame(text: string): GatewayFrame | undefined {
  const envelope = parseJsonObject(text);
  if (envelope === undefined || !isUnsigned(envelope.op, 0xffff)) return undefined;
  const seq = typeof envelope.seq === "number" ? envelope.seq : undefined;
  const data = envelope.d;
  return { seq, message: parseMessage(envelope.op, isFields(data) ? data : {}, data) };
}

function parseMessage(opcode: number, data: Fields, rawData: unknown): GatewayMessage | undefined {
  switch (opcode) {
    case 2:
      return parseReady(data);
    case 3:
      return { kind: "heartbeatRequest" };
    case 4:
      return parseSessionDescription(data);
    case 5:
      return isId(data.user_id) ? { kind: "usersPresent", userIds: [data.user_id] } : undefined;
    case 6:
      return parseHeartbeatAck(data, rawData);
    case 8:
      return parseHello(data);
    case 9:
      return { kind: "resumed" };
    case 11:
      return Array.isArray(data.user_ids) ? { kind: "usersPresent", userIds: data.user_ids.filter(isId) } : undefined;
    case 13:
      return isId(data.user_id) ? { kind: "userLeft", userId: data.user_id } : undefined;
    case 21:
    case 22:
    case 24:
      return parseTransition(opcode, data);
    default:
      return { kind: "ignored", opcode };
  }
}

function parseReady(data: Fields): VoiceReadyMessage | undefined {
  const { ssrc, ip: address, port, modes } = data;
  if (!isUnsigned(ssrc, 0xffff_ffff) || typeof address !== "string" || !isUnsigned(port, 0xffff)) return undefined;
  if (!Array.isArray(modes)) return undefined;
  return { kind: "ready", ssrc, address, port, modes: modes.filter((mode) => typeof mode === "string") };
}

function parseSessionDescription(data: Fields): SessionDescriptionMessage | undefined {
  const { mode, secret_key: key, dave_protocol_version: version = 0 } = data;
  if (typeof mode !== "string" || !isUnsigned(version, 0xffff)) return undefined;
  if (!Array.isArray(key) || key.length !== 32 || !key.every((byte) => isUnsigned(byte, 255))) return undefined;
  return { kind: "sessionDescription", mode, secretKey: Uint8Array.from(key), daveVersion: version };
}

/** Version 8 answers `{"t": nonce}`; older servers the bare nonce. */
function parseHeartbeatAck(data: Fields, rawData: unknown): GatewayMessage | undefined {
  const nonce = typeof rawData === "number" ? rawData : data.t;
  return typeof nonce === "number" ? { kind: "heartbeatAck", nonce } : undefined;
}

function parseHello(data: Fields): GatewayMessage | undefined {
  const interval = data.heartbeat_interval;
  if (typeof interval !== "number" || !(interval > 0) || !Number.isFinite(interval)) return undefined;
  return { kind: "hello", heartbeatIntervalMs: interval };
}

function parseTransition(opcode: 21 | 22 | 24, data: Fields): GatewayMessage | undefined {
  const { transition_id: transitionId, protocol_version: version, epoch } = data;
  if (opcode === 22) return isUnsigned(transitionId, 0xffff) ? { kind: "executeTransition", transitionId } : undefined;
  if (!isUnsigned(version, 0xffff)) return undefined;
  if (opcode === 24) {
    return isUnsigned(epoch, Number.MAX_SAFE_INTEGER) ? { kind: "prepareEpoch", epoch, version } : undefined;
  }
  return isUnsigned(transitionId, 0xffff) ? { kind: "prepareTransition", transitionId, version } : undefined;
}

/**
 * Parses a binary frame: `seq` u16 BE, opcode u8, payload. Undefined when shorter than that. Payloads are copies,
 * because some are retained longer than the network buffer they arrived in.
 */
export function parseBinaryFrame(bytes: Buffer): GatewayFrame | undefined {
  if (bytes.length < 3) return undefined;
  return {
    seq: bytes.readUInt16BE(0),
    message: parseBinaryMessage(bytes.readUInt8(2), Buffer.from(bytes.subarray(3))),
  };
}

function parseBinaryMessage(opcode: number, payload: Buffer): GatewayMessage | undefined {
  switch (opcode) {
    case 25:
      return { kind: "externalSender", senderPackage: payload };
    case 27:
      if (payload.length < 1) return undefined;
      return { kind: "proposals", operation: payload.readUInt8(0), proposals: payload.subarray(1) };
    case 29:
      if (payload.length < 2) return undefined;
      return { kind: "commit", transitionId: payload.readUInt16BE(0), commit: payload.subarray(2) };
    case 30:
      if (payload.length < 2) return undefined;
      return { kind: "welcome", transitionId: payload.readUInt16BE(0), welcome: payload.subarray(2) };
    default:
      return { kind: "ignored", opcode };
  }
}

function parseJsonObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    // Not JSON: the caller counts and drops it like any other malformed frame.
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isUnsigned(value: unknown, max: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max;
}

/** Discord ids are decimal strings that fit 64 bits. */
function isId(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,20}$/.test(value) && BigInt(value) <= 0xffff_ffff_ffff_ffffn;
}
