import { Application, createEncoder } from "libopus-wasm";
import { describe, expect, test } from "vitest";
import { readWasmCodec } from "../../../../src/lib/read-wasm-codec.ts";
import { CodecModules } from "../../../../src/media/decode/codec-modules.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import type { Decoder, PcmBlock } from "../../../../src/media/decode/decoder.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { buildOpusPacket, parseOpusPacket } from "../../../../src/media/opus/opus-packet.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** Libraries that take until `finish`, or `fail`, to load. */
function heldModules() {
  const requests: string[] = [];
  let finish = (): void => undefined;
  let fail = (_error: Error): void => undefined;
  const end = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  const modules = new CodecModules({
    readWasm: async (name) => {
      requests.push(name);
      await end;
      return readWasmCodec(name);
    },
    readEncoder: () => Promise.reject(new Error("nothing is encoded here")),
  });
  return { modules, requests, finish, fail };
}

type HeldModules = ReturnType<typeof heldModules>;

interface Song {
  readonly stream: AudioStream;
  /** Decoded without a library. */
  readonly easy: readonly Uint8Array[];
  /** The first needs the library. */
  readonly hard: readonly Uint8Array[];
}

/** 192 kbit/s at 44.1 kHz: nothing is allocated, so it is silence. */
function layer2Frame(): Uint8Array {
  const frame = new Uint8Array(626);
  frame.set([0xff, 0xfd, 0xa0]);
  return frame;
}

function damagedFrame(): Uint8Array {
  const frame = readCodecFixture("mp3").packets[4]!.slice();
  frame[0] = 0;
  return frame;
}

function mp3Song(hard: Uint8Array): Song {
  const { stream, packets } = readCodecFixture("mp3");
  return { stream, easy: packets.slice(0, 4), hard: [hard, packets[5]!, hard, ...packets.slice(6, 9)] };
}

async function opusPackets(count: number, options: Parameters<typeof createEncoder>[0]): Promise<Uint8Array[]> {
  const channels = options?.channels ?? 2;
  const encoder = await createEncoder(options);
  const packets = Array.from({ length: count }, (_, frame) => {
    const pcm = Float32Array.from({ length: 960 * channels }, (_sample, at) => {
      return 0.3 * Math.sin((frame * 960 + Math.floor(at / channels)) * 0.03);
    });
    return encoder.encodeFloat(pcm, { frameSize: 960 }).slice();
  });
  encoder.free();
  return packets;
}

const OPUS = {
  codec: "opus",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
} as const satisfies AudioStream;

/** Music, then speech, which is not CELT only. */
async function opusSong(): Promise<Song> {
  const easy = await opusPackets(20, { channels: 2, bitrate: 128_000 });
  const speech = await opusPackets(8, { channels: 2, bitrate: 20_000, application: Application.Voip });
  const hard = [...speech.slice(2), ...easy.slice(0, 4)];
  expect(easy.every((packet) => parseOpusPacket(packet)?.mode === "celt")).toBe(true);
  expect(parseOpusPacket(hard[0]!)?.mode).not.toBe("celt");
  return { stream: OPUS, easy, hard };
}

const SONGS = [
  ["MP3 decoder, at a damaged frame,", () => mp3Song(damagedFrame())],
  ["MP3 decoder, at a frame of layer II,", () => mp3Song(layer2Frame())],
  ["Opus decoder, at speech,", opusSong],
] as const;

/** A copy that later packets do not overwrite. */
function copyOf({ channels, lengthSamples, isConcealed }: PcmBlock) {
  return { lengthSamples, isConcealed, channels: channels.map((channel) => channel.slice(0, lengthSamples)) };
}

async function decodeAll(decoder: Decoder, packets: readonly Uint8Array[]) {
  const blocks: ReturnType<typeof copyOf>[] = [];
  for (const packet of packets) blocks.push(copyOf(await decoder.decode(packet)));
  return blocks;
}

/** The same packets by a decoder whose library was there from the start. */
async function decodeComplete(stream: AudioStream, packets: readonly Uint8Array[]) {
  const decoder = await createDecoder(stream, { isComplete: true });
  const blocks = await decodeAll(decoder, packets);
  decoder.close();
  return blocks;
}

/** A decoder that has decoded the easy packets, and waits for the library with the first of the hard ones. */
async function waitingDecoder({ modules }: HeldModules, { stream, easy, hard }: Song) {
  const budget = createTrackBudget();
  const decoder = await createDecoder(stream, { modules, budget });
  const decoded = easy.map((packet) => copyOf(decoder.decode(packet) as PcmBlock)); // see the first test
  const pending = decoder.decode(hard[0]!);
  expect(pending).toBeInstanceOf(Promise);
  return { decoder, decoded, pending, budget };
}

describe.each(SONGS)("an %s whose library is not loaded", (_name, createSong) => {
  test("decodes what needs no library at once", async () => {
    const { modules, requests } = heldModules();
    const { stream, easy } = await createSong();
    const decoder = await createDecoder(stream, { modules });
    const blocks = easy.map((packet) => {
      const block = decoder.decode(packet);
      expect(block).not.toBeInstanceOf(Promise);
      return copyOf(block as PcmBlock);
    });
    expect(blocks).toEqual(await decodeComplete(stream, easy));
    expect(requests.length).toBe(1);
    decoder.close();
  });

  test("answers the packet that needs it once it is loaded, and sounds as if it had been there", async () => {
    const held = heldModules();
    const song = await createSong();
    const { decoder, decoded, pending } = await waitingDecoder(held, song);
    held.finish();
    const first = copyOf(await pending);
    const rest = song.hard.slice(1).map((packet) => copyOf(decoder.decode(packet) as PcmBlock)); // it is loaded
    expect([...decoded, first, ...rest]).toEqual(await decodeComplete(song.stream, [...song.easy, ...song.hard]));
    expect(held.requests.length).toBe(1);
    decoder.close();
  });

  test("reports that the library cannot be loaded, and tries again with the next packet that needs it", async () => {
    const held = heldModules();
    const song = await createSong();
    const { decoder, pending } = await waitingDecoder(held, song);
    held.fail(new Error("the package is missing"));
    await expect(pending).rejects.toMatchObject({
      code: "codec-unavailable",
      message: expect.stringMatching(
        /^loading the library that decodes (mp3|opus): the package is missing; install Tonearm again$/,
      ),
    });
    expect((await decoder.decode(song.easy[0]!)).lengthSamples).toBeGreaterThan(0);
    await expect(decoder.decode(song.hard[0]!)).rejects.toMatchObject({ code: "codec-unavailable" });
    expect(held.requests.length).toBe(2);
    decoder.close();
  });

  test("is silent when it is closed while the library is being loaded, and retains no memory", async () => {
    const held = heldModules();
    const { decoder, pending, budget } = await waitingDecoder(held, await createSong());
    decoder.close();
    expect(budget.memory.usedBytes).toBe(0);
    held.finish();
    expect((await pending).lengthSamples).toBe(0);
  });

  test("drops the waiting packet at a reset, and decodes the next ones like a new one", async () => {
    const held = heldModules();
    const song = await createSong();
    const { decoder, pending } = await waitingDecoder(held, song);
    decoder.reset();
    held.finish();
    expect((await pending).lengthSamples).toBe(0);
    const packets = [...song.easy, ...song.hard];
    expect(await decodeAll(decoder, packets)).toEqual(await decodeComplete(song.stream, packets));
    decoder.close();
  });

  test("waits for the library when it has to be complete", async () => {
    const { modules, finish } = heldModules();
    const { stream, hard } = await createSong();
    let isReady = false;
    const creating = createDecoder(stream, { modules, isComplete: true });
    creating.then(() => {
      isReady = true;
    });
    await new Promise((next) => setImmediate(next));
    expect(isReady).toBe(false);
    finish();
    const decoder = await creating;
    expect(decoder.decode(hard[0]!)).not.toBeInstanceOf(Promise);
    decoder.close();
  });
});

test("several Opus streams in one packet wait for the library before any of them is decoded", async () => {
  const music = await opusPackets(4, { channels: 1, bitrate: 96_000 });
  const speech = await opusPackets(4, { channels: 1, bitrate: 16_000, application: Application.Voip });
  const head = Buffer.concat([
    Buffer.from("OpusHead"),
    Uint8Array.of(1, 2, 0, 0, 128, 187, 0, 0, 0, 0, 255, 2, 0, 0, 1),
  ]);
  const stream: AudioStream = { ...OPUS, description: head };
  const packets = music.map((packet, index) => {
    const { config, frames } = parseOpusPacket(packet)!;
    const [size] = [frames[0]!.length];
    const length = size < 252 ? [size] : [252 + (size & 3), (size - 252 - (size & 3)) / 4];
    const selfDelimited = Buffer.concat([Uint8Array.of(config << 3), Uint8Array.from(length), frames[0]!]);
    const { config: speechConfig, frames: speechFrames } = parseOpusPacket(speech[index]!)!;
    return new Uint8Array(Buffer.concat([selfDelimited, buildOpusPacket(speechConfig, false, [...speechFrames])]));
  });
  const held = heldModules();
  const decoder = await createDecoder(stream, { modules: held.modules });
  const first = decoder.decode(packets[0]!);
  held.finish();
  const blocks = [copyOf(await first), ...(await decodeAll(decoder, packets.slice(1)))];
  expect(blocks.every(({ lengthSamples }) => lengthSamples === 960)).toBe(true);
  expect(blocks).toEqual(await decodeComplete(stream, packets));
  decoder.close();
});
