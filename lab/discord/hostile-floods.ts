// The floods of a hostile voice gateway, as bytes on the wire: each is a block of WebSocket frames that is written
// again and again. Kept apart from the server that sends them (hostile-gateway.ts), so that a new one is an entry in
// this table.

import { randomBytes } from "node:crypto";
import { DAVESession } from "@snazzah/davey";
import { ExternalSender, encodeAppend, encodeGroupId } from "./external-sender.ts";

/** How far the handshake goes before the flood begins. */
type FloodStage = "upgrade" | "opened" | "live";

interface Flood {
  readonly env: FloodStage;
  /**
   * The bytes written once and the bytes written repeatedly after them. Called when the flood begins, once per
   * connection.
   */
  create(call: HostileCall): FloodBytes;
}

export interface FloodBytes {
  readonly start?: Buffer;
  readonly block: Buffer;
}

/** What a flood needs to know of the connection it is for. */
interface HostileCall {
  readonly channelId: string;
}

/** Big enough that the sender is never what limits a flood. */
const BLOCK_BYTES = 64 * 1024;
const MEGABYTE = 1 << 20;
const OPCODE_TEXT = 0x1;
const OPCODE_BINARY = 0x2;
const OPCODE_PING = 0x9;
const FIN = 0x80;
const COMPRESSED = 0x40;

function frame(firstByte: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(payload.length < 126 ? 2 : payload.length < 65_536 ? 4 : 10);
  header[0] = firstByte;
  if (header.length === 2) header[1] = payload.length;
  else if (header.length === 4) {
    header[1] = 126;
    header.writeUInt16BE(payload.length, 2);
  } else {
    header[1] = 127;
    header.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([header, payload]);
}

function text(payload: string): Buffer {
  return frame(FIN | OPCODE_TEXT, Buffer.from(payload));
}

function json(op: number, d: unknown): Buffer {
  return text(JSON.stringify({ op, d }));
}

function dave(op: number, payload: Uint8Array): Buffer {
  return frame(FIN | OPCODE_BINARY, Buffer.concat([Uint8Array.of(0, 1, op), payload]));
}

/** At least BLOCK_BYTES of what `next` makes of 0, 1, 2, … */
function blockOf(next: (index: number) => Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let sizeBytes = 0, index = 0; sizeBytes < BLOCK_BYTES; index++) {
    const one = next(index);
    frames.push(one);
    sizeBytes += one.length;
  }
  return Buffer.concat(frames);
}

function opened(next: (index: number) => Buffer): Flood {
  return { env: "opened", create: () => ({ block: blockOf(next) }) };
}

function live(next: (index: number, call: HostileCall) => Buffer): Flood {
  return { env: "live", create: (call) => ({ block: blockOf((index) => next(index, call)) }) };
}

/** One message that never ends. */
function fragments(payload: Uint8Array): Flood {
  return {
    env: "opened",
    create: () => ({ start: frame(OPCODE_TEXT, payload), block: blockOf(() => frame(0, payload)) }),
  };
}

const SECRET_KEY: readonly number[] = Array.from({ length: 32 }, (_, index) => index);
const XCHACHA = "aead_xchacha20_poly1305_rtpsize";

/** Genuine proposals: each message adds `addCount` members, and none is like another. */
function proposals(addCount: number): Flood {
  return {
    env: "live",
    create: ({ channelId }) => {
      const sender = new ExternalSender(encodeGroupId(channelId));
      const keyPackages = Array.from({ length: addCount }, (_, index) =>
        new DAVESession(1, String(9_000_000 + index), channelId).getSerializedKeyPackage(),
      );
      const announced = json(11, { user_ids: keyPackages.map((_, index) => String(9_000_000 + index)) });
      const rounds = Array.from({ length: 8 }, () =>
        dave(27, encodeAppend(keyPackages.map((keyPackage) => sender.add(0n, keyPackage)))),
      );
      return { start: Buffer.concat([dave(25, sender.packageBytes), announced]), block: Buffer.concat(rounds) };
    },
  };
}

/** A message of the group's next epoch with nothing but noise behind its header. */
function noisyMlsMessage(channelId: string, sizeBytes: number): Buffer {
  const message = Buffer.concat([Buffer.from([0, 1, 0, 1, 8]), encodeGroupId(channelId), randomBytes(sizeBytes)]);
  message.fill(0, 13, 21);
  return message;
}

function idOf(index: number): Buffer {
  return Buffer.from([(index >> 8) & 0xff, index & 0xff]);
}

/** Every flood by its name. */
export const FLOODS = {
  /** Interim answers instead of the upgrade. */
  "interim-answers": {
    env: "upgrade",
    create: () => ({ block: blockOf(() => Buffer.from("HTTP/1.1 102 P\r\n\r\n")) }),
  },
  "endless-header": {
    env: "upgrade",
    create: () => ({
      start: Buffer.from("HTTP/1.1 101 Switching Protocols\r\n"),
      block: blockOf((index) => Buffer.from(`X-${index}: 1\r\n`)),
    }),
  },
  "heartbeat-requests": opened(() => json(3, null)),
  "heartbeat-requests-1mb": opened(() => json(3, "x".repeat(MEGABYTE - 64))),
  "heartbeat-acks-1mb": opened(() => json(6, { t: "x".repeat(MEGABYTE - 64) })),
  "users-1mb": opened(() =>
    json(11, { user_ids: Array.from({ length: 45_000 }, (_, index) => `${10 ** 17 + index}`) }),
  ),
  "transitions-1mb": opened(() => json(21, { transition_id: 1, protocol_version: 1, x: "x".repeat(MEGABYTE - 128) })),
  "heartbeat-acks": opened((index) => json(6, { t: index })),
  hellos: opened((index) => json(8, { heartbeat_interval: [0, 1e-9, 1e308][index % 3] })),
  speaking: opened((index) => json(5, { user_id: String(1000 + index), ssrc: index, speaking: 1 })),
  users: opened((index) => json(11, { user_ids: [String(1000 + index)] })),
  leavers: opened((index) => json(13, { user_id: String(1000 + index) })),
  "unknown-opcodes": opened((index) => json(1000 + index, {})),
  "ignored-opcodes": opened((index) => json([12, 14, 15, 16, 18, 20][index % 6] ?? 18, {})),
  resumed: opened(() => json(9, null)),
  transitions: live((index) => json(21, { transition_id: 1 + (index % 65_535), protocol_version: 1 })),
  executions: live((index) => json(22, { transition_id: index % 65_536 })),
  epochs: live(() => json(24, { protocol_version: 1, epoch: 1 })),
  keys: live((index) =>
    json(4, { mode: XCHACHA, secret_key: SECRET_KEY.with(0, index % 256), dave_protocol_version: 1 }),
  ),
  pings: opened(() => frame(FIN | OPCODE_PING, Buffer.alloc(125))),
  "empty-pings": opened(() => frame(FIN | OPCODE_PING, Buffer.alloc(0))),
  "empty-fragments": fragments(Buffer.alloc(0)),
  fragments: fragments(Buffer.from(" ")),
  compressed: opened(() => frame(FIN | COMPRESSED | OPCODE_TEXT, randomBytes(64))),
  "claims-a-terabyte": {
    env: "opened",
    create: () => ({
      start: Buffer.from([FIN | OPCODE_BINARY, 127, 0, 0, 1, 0, 0, 0, 0, 0]),
      block: randomBytes(BLOCK_BYTES),
    }),
  },
  "deep-json": opened(() => text(`{"op":3,"d":${"[".repeat(30_000)}${"]".repeat(30_000)}}`)),
  "json-garbage": opened(() => text("{".repeat(1000))),
  "wide-json": opened(() => text(`{"op":3,"d":[${"1,".repeat(30_000)}1]}`)),
  "binary-garbage": opened(() => frame(FIN | OPCODE_BINARY, randomBytes(1000))),
  "dave-garbage": live((index) => dave(25 + (index % 6), randomBytes(400))),
  "external-senders": live((_, { channelId }) => dave(25, new ExternalSender(encodeGroupId(channelId)).packageBytes)),
  proposals: proposals(4),
  "large-proposals": proposals(99),
  commits: live((index, { channelId }) => dave(29, Buffer.concat([idOf(index), noisyMlsMessage(channelId, 400)]))),
  welcomes: live((index) => dave(30, Buffer.concat([idOf(index), Buffer.from([0, 2]), randomBytes(900)]))),
} as const satisfies Record<string, Flood>;

export type FloodName = keyof typeof FLOODS;
