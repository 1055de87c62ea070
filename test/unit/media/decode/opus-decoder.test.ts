import { createEncoder } from "libopus-wasm";
import { expect, test } from "vitest";
import { fitTone, makeTone } from "../../../../lab/listen/tone.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import type { Decoder, PcmBlock } from "../../../../src/media/decode/decoder.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { parseOpusPacket } from "../../../../src/media/opus/opus-packet.ts";

function opusStream(channelCount: number, description?: Uint8Array): AudioStream {
  return { codec: "opus", sampleRateHz: 48_000, channelCount, description, pcm: undefined };
}

/** An OpusHead packet (RFC 7845 section 5.1). */
function opusHead(channels: number, { gainQ8 = 0, family = 0, table = [] as number[] } = {}): Uint8Array {
  const head = new Uint8Array(19 + table.length);
  head.set(new TextEncoder().encode("OpusHead"));
  const view = new DataView(head.buffer);
  view.setUint8(8, 1);
  view.setUint8(9, channels);
  view.setUint16(10, 312, true);
  view.setInt16(16, gainQ8, true);
  view.setUint8(18, family);
  head.set(table, 19);
  return head;
}

/** Packets of one second of tones, one per channel. */
async function tonePackets(frequencies: readonly number[], frameMs = 20): Promise<Uint8Array[]> {
  const encoder = await createEncoder({ channels: frequencies.length === 1 ? 1 : 2, bitrate: 128_000 });
  const samples = frameMs * 48;
  const tones = frequencies.map((frequencyHz) => {
    return makeTone({ frequencyHz, sampleRateHz: 48_000, lengthSamples: 48_000 });
  });
  const packets = Array.from({ length: Math.floor(48_000 / samples) }, (_, packet) => {
    const pcm = new Float32Array(samples * tones.length);
    for (const [channel, tone] of tones.entries()) {
      for (let i = 0; i < samples; i++) pcm[i * tones.length + channel] = tone[packet * samples + i]!;
    }
    return encoder.encodeFloat(pcm, { frameSize: samples });
  });
  encoder.free();
  return packets;
}

/** All output of a synchronous decoder, one array per channel. */
function decodeAll(decoder: Decoder, packets: readonly Uint8Array[]): Float32Array[] {
  const channels: number[][] = [];
  for (const packet of packets) {
    const block = decoder.decode(packet) as PcmBlock; // Opus decodes at once
    for (const [index, channel] of block.channels.entries()) {
      channels[index] ??= [];
      channels[index].push(...channel.subarray(0, block.lengthSamples));
    }
  }
  return channels.map((channel) => Float32Array.from(channel));
}

const levelOf = (channel: Float32Array | undefined, frequencyHz: number) =>
  fitTone(channel!.subarray(9600, 43_200), frequencyHz, 48_000).amplitude;

test.each([5, 10, 20, 40, 60])("stereo Opus packets of %i ms decode to the audio that was encoded", async (frameMs) => {
  const decoder = await createDecoder(opusStream(2, opusHead(2)), { isComplete: true });
  const [left, right] = decodeAll(decoder, await tonePackets([440, 1000], frameMs));
  decoder.close();
  expect(left?.length).toBe(Math.floor(1000 / frameMs) * frameMs * 48);
  expect(levelOf(left, 440)).toBeCloseTo(0.5, 1);
  expect(levelOf(right, 1000)).toBeCloseTo(0.5, 1);
  expect(levelOf(left, 1000)).toBeLessThan(0.01);
});

test("a mono Opus stream decodes to one channel", async () => {
  const decoder = await createDecoder(opusStream(1, opusHead(1)), { isComplete: true });
  const channels = decodeAll(decoder, await tonePackets([440]));
  expect(channels.length).toBe(1);
  expect(levelOf(channels[0], 440)).toBeCloseTo(0.5, 1);
  decoder.close();
});

test("the Opus header's output gain is applied", async () => {
  const decoder = await createDecoder(opusStream(1, opusHead(1, { gainQ8: -6 * 256 })), { isComplete: true });
  const channels = decodeAll(decoder, await tonePackets([440]));
  expect(levelOf(channels[0], 440)).toBeCloseTo(0.5 * 10 ** (-6 / 20), 2);
  decoder.close();
});

test("six Opus channels are decoded from four streams in one packet, each to its position", async () => {
  const streams = await Promise.all([
    tonePackets([300, 400]),
    tonePackets([500, 600]),
    tonePackets([700]),
    tonePackets([80]),
  ]);
  const packets = streams[0]!.map((_, index) => {
    return Buffer.concat(
      streams.map((packetsOf, stream) => {
        const packet = packetsOf[index]!;
        return stream === 3 ? packet : selfDelimited(packet);
      }),
    );
  });
  // Vorbis order L C R Ls Rs LFE out of the decoded L R Ls Rs C LFE.
  const description = opusHead(6, { family: 1, table: [4, 2, 0, 4, 1, 2, 3, 5] });
  const decoder = await createDecoder(opusStream(6, description), { isComplete: true });
  const channels = decodeAll(decoder, packets);
  decoder.close();
  expect(channels.length).toBe(6);
  for (const [index, frequencyHz] of [300, 700, 400, 500, 600, 80].entries()) {
    expect(levelOf(channels[index], frequencyHz), `channel ${index}`).toBeGreaterThan(0.45);
  }
});

test.each([
  [2, [300, 400]],
  [3, [300, 500, 400]],
  [6, [300, 500, 400, 600, 700, 80]],
] as const)("%d Opus channels of mapping family 255 are taken to be in the order of WAV", async (count, wanted) => {
  const streams = await Promise.all([300, 400, 500, 80, 600, 700].slice(0, count).map((hz) => tonePackets([hz])));
  const packets = streams[0]!.map((_, index) => {
    return Buffer.concat(
      streams.map((packetsOf, stream) => {
        const packet = packetsOf[index]!;
        return stream === count - 1 ? packet : selfDelimited(packet);
      }),
    );
  });
  const table = [count, 0, ...Array.from({ length: count }, (_, index) => index)];
  const decoder = await createDecoder(opusStream(count, opusHead(count, { family: 255, table })), { isComplete: true });
  const channels = decodeAll(decoder, packets);
  decoder.close();
  expect(channels.length).toBe(count);
  for (const [index, frequencyHz] of wanted.entries()) {
    expect(levelOf(channels[index], frequencyHz), `channel ${index}`).toBeGreaterThan(0.4);
  }
});

/** The packet in the framing of RFC 6716 appendix B (code 0: its length follows the header byte). */
function selfDelimited(packet: Uint8Array): Uint8Array {
  const frame = parseOpusPacket(packet)!.frames[0]!;
  const length =
    frame.length < 252 ? [frame.length] : [252 + (frame.length & 3), (frame.length - 252 - (frame.length & 3)) / 4];
  return Uint8Array.from([packet[0]! & 0xfc, ...length, ...frame]);
}

test("an Opus decoder after a reset decodes like a new one", async () => {
  const packets = await tonePackets([440, 1000]);
  const decoder = await createDecoder(opusStream(2), { isComplete: true });
  const fresh = decodeAll(decoder, packets.slice(20));
  decodeAll(decoder, packets.slice(0, 7));
  decoder.reset();
  expect(decodeAll(decoder, packets.slice(20))).toEqual(fresh);
  decoder.close();
});

test.each([1, 2, 6])(
  "random Opus bytes never throw before the fiftieth in a row (%i channels)",
  async (channelCount) => {
    const seed = 99 + channelCount;
    const random = seededRandom(seed);
    const description =
      channelCount === 6 ? opusHead(6, { family: 1, table: [4, 2, 0, 4, 1, 2, 3, 5] }) : opusHead(channelCount);
    const decoder = await createDecoder(opusStream(channelCount, description), { isComplete: true });
    let damagedRun = 0;
    for (let round = 0; round < 3000; round++) {
      const packet = Uint8Array.from({ length: Math.floor(random() * 400) }, () => Math.floor(random() * 256));
      if (damagedRun === 49) {
        // One good packet (a frame that was not sent) clears the count.
        decoder.reset();
        damagedRun = 0;
        if (channelCount === 6) break;
        decoder.decode(Uint8Array.of(0xfc));
        continue;
      }
      const block = decoder.decode(packet) as PcmBlock;
      damagedRun = block.lengthSamples === 0 ? damagedRun + 1 : 0;
      expect(block.lengthSamples, `seed ${seed} round ${round}`).toBeLessThanOrEqual(5760);
    }
    decoder.close();
  },
);

test("fifty damaged Opus packets in a row are an error, forty-nine are not", async () => {
  const decoder = await createDecoder(opusStream(2), { isComplete: true });
  for (let packet = 0; packet < 49; packet++) decoder.decode(new Uint8Array(0));
  expect(() => decoder.decode(new Uint8Array(0))).toThrow(expect.objectContaining({ code: "media-decode-failed" }));
  decoder.close();
});

test.each([
  ["damaged", new Uint8Array(8)],
  ["of ambisonics", opusHead(4, { family: 2, table: [4, 0, 0, 1, 2, 3] })],
  ["of nine streams", opusHead(9, { family: 255, table: [9, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8] })],
  ["with a mapping beyond its streams", opusHead(2, { family: 1, table: [1, 1, 0, 9] })],
])("an Opus header that is %s is refused", async (_, description) => {
  const attempt = createDecoder(opusStream(2, description));
  await expect(attempt).rejects.toMatchObject({ code: "media-unsupported-codec" });
});

test("closing an Opus decoder twice is harmless, and a closed one is silent", async () => {
  const decoder = await createDecoder(opusStream(2), { isComplete: true });
  decoder.close();
  decoder.close();
  expect((decoder.decode(Uint8Array.of(0xfc)) as PcmBlock).lengthSamples).toBe(0);
});
