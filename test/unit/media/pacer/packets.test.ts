import { beforeAll, describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { PAYLOAD_BYTES_MAX } from "../../../../src/media/pacer/frame-ring.ts";
import { encodeDiscoveryRequest, parseDiscoveryResponse } from "../../../../src/media/pacer/ip-discovery.ts";
import { type RtpStart, RtpStream, randomRtpStart } from "../../../../src/media/pacer/rtp-stream.ts";
import {
  chooseEncryptionMode,
  createSealer,
  type EncryptionMode,
  PACKET_BYTES_MAX,
  prepareEncryption,
} from "../../../../src/media/pacer/transport-encryption.ts";
import { openPacket } from "../../../support/open-packet.ts";

const KEY = Uint8Array.from({ length: 32 }, (_, index) => index);
const MODES = ["aead_xchacha20_poly1305_rtpsize", "aead_aes256_gcm_rtpsize"] as const;
const HEADER = "8078123400003c0000000457";

beforeAll(prepareEncryption);

function sealOne(mode: EncryptionMode, payload: Uint8Array, firstCounter: number): Buffer {
  const packet = Buffer.alloc(PACKET_BYTES_MAX);
  packet.write(HEADER, "hex");
  return packet.subarray(0, createSealer(mode, KEY, firstCounter).seal(packet, payload));
}

describe("transport encryption", () => {
  // discord-voice.md section 7.
  const payload = Buffer.from("2d24a9e84b85f61aa3ff477469f74cda7d343585fc5c0562010cfafa", "hex");
  test.each([
    [
      "aead_aes256_gcm_rtpsize",
      "6912644247df02b2fcc322e4c04a795a1a0bfc4522a8396cb0907a6cdb5452bf7ffe96d3c8665db8c9f4f70900000001",
    ],
    [
      "aead_xchacha20_poly1305_rtpsize",
      "2483f8c8248567c56d18e0e0adc7e2c95d2ff2fe9b0901698c86d8bbeecce27e5163450f9f7d2592813185fd00000001",
    ],
  ] as const)("%s gives the bytes of the test vector", (mode, expected) => {
    expect(sealOne(mode, payload, 1).toString("hex")).toBe(HEADER + expected);
  });

  test.each(MODES)("%s packets open again at every size up to the largest", (mode) => {
    for (const size of [1, 3, 340, 1275, PAYLOAD_BYTES_MAX]) {
      const bytes = Buffer.alloc(size, size & 0xff);
      const packet = sealOne(mode, bytes, 77);
      expect(packet.length).toBe(12 + size + 16 + 4);
      expect(openPacket(mode, KEY, packet).equals(bytes)).toBe(true);
    }
  });

  test.each(MODES)("%s counts packets, and refuses to repeat a counter", (mode) => {
    const packet = Buffer.alloc(PACKET_BYTES_MAX);
    const sealer = createSealer(mode, KEY, 0xffff_fffe);
    const counters = [1, 2].map(() => {
      const size = sealer.seal(packet, Buffer.from("x"));
      return packet.readUInt32BE(size - 4);
    });
    expect(counters).toEqual([0xffff_fffe, 0xffff_ffff]);
    expect(sealer.seal(packet, Buffer.from("x"))).toBe(0);
    sealer.close();
    sealer.close();
    expect(sealer.seal(packet, Buffer.from("x"))).toBe(0);
  });

  test("sealers do not disturb each other's keys", () => {
    const other = createSealer("aead_xchacha20_poly1305_rtpsize", Uint8Array.from(KEY).reverse());
    const own = createSealer("aead_xchacha20_poly1305_rtpsize", KEY);
    const packet = Buffer.alloc(PACKET_BYTES_MAX);
    other.seal(packet, Buffer.from("other"));
    const size = own.seal(packet, Buffer.from("own"));
    expect(openPacket(MODES[0], KEY, packet.subarray(0, size)).toString()).toBe("own");
    other.close();
    expect(own.seal(packet, Buffer.from("again"))).toBeGreaterThan(0);
    own.close();
  });

  test("the cheaper encryption mode is preferred whatever the server's order, and unknown modes are ignored", () => {
    expect(chooseEncryptionMode(["aead_aes256_gcm_rtpsize", "aead_xchacha20_poly1305_rtpsize"])).toBe(MODES[0]);
    expect(chooseEncryptionMode(["xsalsa20_poly1305", "aead_aes256_gcm_rtpsize"])).toBe(MODES[1]);
    expect(chooseEncryptionMode(["xsalsa20_poly1305", "aead_aes256_gcm"])).toBeUndefined();
  });
});

describe("RTP stream", () => {
  const start = { ssrc: 0xfedc_ba98, sequence: 0xffff, timestamp: 0xffff_ffff - 959 };

  /** Sequence and timestamp of packets that are due at these moments. */
  function headersAt(begin: RtpStart, duesMs: readonly number[]): number[][] {
    const stream = new RtpStream(begin);
    const packet = Buffer.alloc(12);
    return duesMs.map((dueMs) => {
      stream.writeHeader(packet, dueMs);
      return [packet.readUInt16BE(2), packet.readUInt32BE(4)];
    });
  }

  test("RTP sequence and timestamp wrap, each at its own width", () => {
    const stream = new RtpStream(start);
    const packet = Buffer.alloc(12);
    const headers = [20, 40, 60].map((dueMs) => {
      stream.writeHeader(packet, dueMs);
      return packet.toString("hex");
    });
    expect(headers).toEqual(["8078fffffffffc40fedcba98", "8078000000000000fedcba98", "80780001000003c0fedcba98"]);
  });

  test("time without packets moves the RTP timestamp across its wrap and leaves the sequence alone", () => {
    const headers = headersAt({ ssrc: 1, sequence: 5, timestamp: 2 ** 32 - 960 }, [1000, 1080]);
    expect(headers).toEqual([
      [5, 2 ** 32 - 960],
      [6, 2880],
    ]);
  });

  test("the RTP stream begins at its start values, whenever its first packet is due", () => {
    expect(headersAt({ ssrc: 1, sequence: 5, timestamp: 7 }, [123_456])).toEqual([[5, 7]]);
  });

  test("the RTP timestamp advances by whole frames, to the nearest, and by at least one", () => {
    const duesMs = [0, 20.01, 39.99, 60, 71, 111, 111, 100];
    const frames = headersAt({ ssrc: 1, sequence: 0, timestamp: 0 }, duesMs).map(([, timestamp]) => timestamp! / 960);
    expect(frames).toEqual([0, 1, 2, 3, 4, 6, 7, 8]);
  });

  test("the RTP stream starts at random values", () => {
    const random = { bytes: () => new Uint8Array(), uint32: () => 0x89ab_cdef, unit: () => 0 };
    expect(randomRtpStart(1000, random)).toEqual({ ssrc: 1000, sequence: 0xcdef, timestamp: 0x89ab_cdef });
  });
});

describe("IP discovery", () => {
  const answer = Buffer.alloc(74);
  answer.write("000200460004eb23", "hex");
  answer.write("91.90.123.93", 8);
  answer.write("d384", 72, "hex");

  test("the discovery request is 74 bytes with our SSRC and zeros", () => {
    expect(encodeDiscoveryRequest(0x0004_eb23).toString("hex")).toBe(`000100460004eb23${"0".repeat(132)}`);
  });

  test("the discovery response of the reference is parsed", () => {
    expect(parseDiscoveryResponse(answer)).toEqual({ address: "91.90.123.93", port: 54_148 });
  });

  test("a discovery response whose address field has no end is refused", () => {
    const full = Buffer.from(answer);
    full.fill(0x31, 8, 72);
    expect(parseDiscoveryResponse(full)).toBeUndefined();
  });

  test("any packet that is no discovery response is refused", () => {
    const request = encodeDiscoveryRequest(1);
    const noAddress = Buffer.from(answer).fill(0, 8, 72);
    for (const packet of [
      request,
      answer.subarray(0, 73),
      Buffer.concat([answer, answer]),
      Buffer.alloc(0),
      noAddress,
    ]) {
      expect(parseDiscoveryResponse(packet)).toBeUndefined();
    }
  });

  test("random packets never make the discovery parser throw", () => {
    const seed = 20_260_101;
    const random = seededRandom(seed);
    for (let round = 0; round < 2000; round++) {
      const packet = Buffer.from(answer);
      for (let hit = 0; hit < 3; hit++) packet[Math.floor(random() * 74)] = Math.floor(random() * 256);
      const found = parseDiscoveryResponse(packet.subarray(0, random() < 0.9 ? 74 : Math.floor(random() * 74)));
      expect(found === undefined || found.port <= 65_535, `seed ${seed} round ${round}`).toBe(true);
    }
  });
});
