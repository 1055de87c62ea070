import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../../../lab/seeded-random.ts";
import { readFirstMlsHeader, readMlsHeader } from "../../../../../src/media/voice/dave/mls-header.ts";
import { parseBinaryFrame, parseTextFrame } from "../../../../../src/media/voice/gateway/gateway-messages.ts";

const text = (op: number, d: unknown, seq?: number) => parseTextFrame(JSON.stringify({ op, d, seq }));

describe("JSON frames", () => {
  test.each([
    [8, { v: 8, heartbeat_interval: 13_750.5 }, { kind: "hello", heartbeatIntervalMs: 13_750.5 }],
    [3, null, { kind: "heartbeatRequest" }],
    [6, { t: 17 }, { kind: "heartbeatAck", nonce: 17 }],
    [6, 17, { kind: "heartbeatAck", nonce: 17 }],
    [9, null, { kind: "resumed" }],
    [5, { user_id: "12", ssrc: 1, speaking: 1 }, { kind: "usersPresent", userIds: ["12"] }],
    [11, { user_ids: ["12", 13, "x", "14"] }, { kind: "usersPresent", userIds: ["12", "14"] }],
    [13, { user_id: "12" }, { kind: "userLeft", userId: "12" }],
    [21, { transition_id: 0, protocol_version: 0 }, { kind: "prepareTransition", transitionId: 0, version: 0 }],
    [22, { transition_id: 0 }, { kind: "executeTransition", transitionId: 0 }],
    [24, { protocol_version: 1, epoch: 1 }, { kind: "prepareEpoch", epoch: 1, version: 1 }],
    [18, { user_id: "12" }, { kind: "ignored", opcode: 18 }],
    [99, "what", { kind: "ignored", opcode: 99 }],
  ])("opcode %i with %j is parsed", (op, d, expected) => {
    expect(text(op, d)).toEqual({ seq: undefined, message: expected });
  });

  test("Ready and Session Description are parsed", () => {
    const ready = { ssrc: 0xffff_ffff, ip: "1.2.3.4", port: 5, modes: ["a", 1], heartbeat_interval: 1 };
    expect(text(2, ready)?.message).toEqual({
      kind: "ready",
      ssrc: 0xffff_ffff,
      address: "1.2.3.4",
      port: 5,
      modes: ["a"],
    });
    const key = Array.from({ length: 32 }, (_, index) => 255 - index);
    expect(text(4, { mode: "m", secret_key: key, dave_protocol_version: 1 })?.message).toEqual({
      kind: "sessionDescription",
      mode: "m",
      secretKey: Uint8Array.from(key),
      daveVersion: 1,
    });
    expect(text(4, { mode: "m", secret_key: key })?.message).toMatchObject({ daveVersion: 0 });
  });

  test("sequence number 0 counts", () => {
    expect(text(9, null, 0)?.seq).toBe(0);
  });

  test("malformed messages are ignored, and their sequence number still counts", () => {
    const malformed: [number, unknown][] = [
      [2, { ssrc: -1, ip: "1.2.3.4", port: 5, modes: [] }],
      [2, { ssrc: 1, ip: "1.2.3.4", port: 70_000, modes: [] }],
      [2, null],
      [4, { mode: "m", secret_key: [1, 2] }],
      [4, { mode: "m", secret_key: Array(32).fill(256) }],
      [5, { user_id: "99999999999999999999" }],
      [8, { heartbeat_interval: 0 }],
      [11, {}],
      [13, { user_id: 5 }],
      [21, { transition_id: 65_536, protocol_version: 1 }],
      [22, {}],
      [24, { epoch: 1 }],
    ];
    for (const [op, d] of malformed) expect(text(op, d, 7), JSON.stringify(d)).toEqual({ seq: 7, message: undefined });
    for (const junk of ["", "{", "null", "[]", "5", '{"op":"2"}', "{}"]) expect(parseTextFrame(junk)).toBeUndefined();
  });
});

describe("binary frames", () => {
  const frame = (bytes: string) => parseBinaryFrame(Buffer.from(bytes, "hex"));

  test("external sender, proposals, commit and welcome are parsed", () => {
    expect(frame("000519aabb")).toEqual({
      seq: 5,
      message: { kind: "externalSender", senderPackage: Buffer.from("aabb", "hex") },
    });
    expect(frame("ffff1b01cc")).toEqual({
      seq: 65_535,
      message: { kind: "proposals", operation: 1, proposals: Buffer.from("cc", "hex") },
    });
    expect(frame("00001d0000dd")).toEqual({
      seq: 0,
      message: { kind: "commit", transitionId: 0, commit: Buffer.from("dd", "hex") },
    });
    expect(frame("00001effffee")).toEqual({
      seq: 0,
      message: { kind: "welcome", transitionId: 65_535, welcome: Buffer.from("ee", "hex") },
    });
    expect(frame("0001ff")?.message).toEqual({ kind: "ignored", opcode: 255 });
  });

  test("binary frames that end early are refused", () => {
    expect(frame("0001")).toBeUndefined();
    for (const bytes of ["00011b", "00011d00", "00011e00"]) expect(frame(bytes)?.message).toBeUndefined();
  });
});

describe("MLS headers", () => {
  const message = Buffer.from("0001000108000000000000177100000000000000050200000000", "hex");

  test("MLS group and epoch are found, alone and behind every length of length", () => {
    const expected = { groupId: 6001n, epoch: 5n };
    expect(readMlsHeader(message)).toEqual(expected);
    for (const length of ["1a", "401a", "8000001a"]) {
      expect(readFirstMlsHeader(Buffer.concat([Buffer.from(length, "hex"), message]))).toEqual(expected);
    }
  });

  test("other MLS messages have no group and epoch", () => {
    for (const bytes of [Buffer.alloc(0), message.subarray(0, 20), Buffer.alloc(40), Buffer.alloc(40, 0xff)]) {
      expect(readMlsHeader(bytes)).toBeUndefined();
      expect(readFirstMlsHeader(bytes)).toBeUndefined();
    }
  });

  test("random bytes never make the parsers throw", () => {
    const seed = 4711;
    const random = seededRandom(seed);
    for (let round = 0; round < 5000; round++) {
      const bytes = Buffer.from(Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 256)));
      expect(
        () => [readFirstMlsHeader(bytes), readMlsHeader(bytes), parseBinaryFrame(bytes)],
        `seed ${seed}`,
      ).not.toThrow();
      expect(() => parseTextFrame(bytes.toString("latin1")), `seed ${seed}`).not.toThrow();
    }
  });
});
