// Vectors of discord-voice.md section 7, computed independently of this code.

import { describe, expect, test } from "vitest";
import { isDaveFrame } from "../../../../lab/discord/dave-frame.ts";
import { hChaCha20, openTransport, type TransportMode } from "../../../../lab/discord/transport-crypto.ts";
import { encodeDiscoveryAnswer } from "../../../../lab/discord/udp-server.ts";
import { openFrame, sealFrame, stepRatchet } from "../../../support/dave-reference.ts";

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

const OPUS = hex("fc0102030405060708090a0b0c0d0e0f");
const FRAME_1 = hex("2d24a9e84b85f61aa3ff477469f74cda 7d343585fc5c0562 01 0c fafa");
const FRAME_300 = hex("c7232a88f37fbcbecbeb4ee44fde97f1 c8e5bfd0b75c7447 ac02 0d fafa");
const SECRET_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index));

const PACKETS: [TransportMode, Buffer][] = [
  [
    "aead_aes256_gcm_rtpsize",
    hex(
      "8078123400003c0000000457 6912644247df02b2fcc322e4c04a795a1a0bfc4522a8396cb0907a6c " +
        "db5452bf7ffe96d3c8665db8c9f4f709 00000001",
    ),
  ],
  [
    "aead_xchacha20_poly1305_rtpsize",
    hex(
      "8078123400003c0000000457 2483f8c8248567c56d18e0e0adc7e2c95d2ff2fe9b0901698c86d8bb " +
        "eecce27e5163450f9f7d2592813185fd 00000001",
    ),
  ],
];

describe("transport encryption", () => {
  test.each(PACKETS)("transport encryption %s decrypts the vector", (mode, packet) => {
    expect(openTransport(mode, SECRET_KEY, packet)).toEqual(FRAME_1);
  });

  test.each(PACKETS)("transport encryption %s refuses every flipped byte and every truncation", (mode, packet) => {
    for (let index = 0; index < packet.length; index++) {
      const broken = Buffer.from(packet);
      broken[index] = (broken[index] ?? 0) ^ 1;
      expect(openTransport(mode, SECRET_KEY, broken)).toBeUndefined();
      expect(openTransport(mode, SECRET_KEY, packet.subarray(0, index))).toBeUndefined();
    }
  });
});

test("HChaCha20 matches the vector of draft-irtf-cfrg-xchacha-03 section 2.2.1", () => {
  const subkey = hChaCha20(SECRET_KEY, hex("000000090000004a0000000031415927"));
  expect(subkey).toEqual(hex("82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"));
});

describe("DAVE frames", () => {
  test("the DAVE key ratchet matches the vectors", () => {
    const first = stepRatchet(hex("cedd61b1b8a1ca69046554282cf70b7b"), 0);
    expect(first.key).toEqual(hex("7530f9a9945e2d2e06d0651f7b2a864b"));
    const second = stepRatchet(first.nextSecret, 1);
    expect(second.key).toEqual(hex("cddd06e0f3437596bacb9c06a0329c49"));
    const third = stepRatchet(second.nextSecret, 2);
    expect(third.key).toEqual(hex("651f0856cc3dbd6496079901a6b56d4d"));
    expect(third.nextSecret).toEqual(hex("823ef06651aae8ee22c9deb51892f0a1e243dfebd062b2b696a9ea3da83ceb09"));
  });

  test.each([
    [1, FRAME_1],
    [300, FRAME_300],
  ])("a DAVE frame with counter %i matches the vector", (counter, frame) => {
    const { key } = stepRatchet(hex("cedd61b1b8a1ca69046554282cf70b7b"), 0);
    expect(sealFrame(key, counter, OPUS)).toEqual(frame);
    expect(openFrame(key, frame)).toEqual(OPUS);
    expect(isDaveFrame(frame)).toBe(true);
  });

  test("DAVE frames are distinguished from plain Opus, also when it ends in the marker", () => {
    expect(isDaveFrame(OPUS)).toBe(false);
    expect(isDaveFrame(hex("f8fffe"))).toBe(false);
    expect(isDaveFrame(hex("fafa"))).toBe(false);
    expect(isDaveFrame(Buffer.concat([OPUS, hex("0afafa")]))).toBe(false); // shorter than any trailer
    expect(isDaveFrame(Buffer.concat([OPUS, hex("fffafa")]))).toBe(false); // longer than the frame
    expect(isDaveFrame(hex("000000000000000000000000000000808080808080 10fafa"))).toBe(false); // endless number
  });
});

test("the IP discovery answer matches the vector", () => {
  const answer = encodeDiscoveryAnswer(0x0004eb23, "91.90.123.93", 54_148);
  const address = Buffer.alloc(64);
  address.write("91.90.123.93");
  expect(answer).toEqual(Buffer.concat([hex("000200460004eb23"), address, hex("d384")]));
});
