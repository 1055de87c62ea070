import { expect, test } from "vitest";
import { TokenBucket } from "../../../../src/lib/token-bucket.ts";
import type { Decoder } from "../../../../src/media/decode/decoder.ts";
import { createWebCodecsDecoder } from "../../../../src/media/decode/webcodecs-decoder.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const { stream, packets } = readCodecFixture("aac");

test("the AAC decoder without the optional package reports what to install", async () => {
  const attempt = createWebCodecsDecoder(stream, { load: () => import("@tonearm/missing" as string) });
  await expect(attempt).rejects.toMatchObject({
    code: "codec-unavailable",
    message: expect.stringMatching(/is not installed; run "npm install @napi-rs\/webcodecs"$/),
  });
});

const tooNew = new Error("libm.so.6: version `GLIBC_2.38' not found\nRequire stack:\n- /x");
const notThere = Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND", cause: tooNew });

test.each([
  ["itself", tooNew],
  ["among its causes", new Error("Cannot find native binding.", { cause: notThere })],
])("the AAC decoder reports why the optional package cannot be loaded, %s", async (_, cause) => {
  const attempt = createWebCodecsDecoder(stream, { load: () => Promise.reject(cause) });
  const reason = "is installed but cannot be loaded: libm.so.6: version `GLIBC_2.38' not found; run";
  await expect(attempt).rejects.toMatchObject({
    code: "codec-unavailable",
    message: expect.stringContaining(reason),
    cause,
  });
});

test("the AAC decoder reports that the optional package has no library for this machine", async () => {
  const missing = Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
  const cause = new Error("Cannot find native binding. Please try again.", { cause: missing });
  await expect(createWebCodecsDecoder(stream, { load: () => Promise.reject(cause) })).rejects.toMatchObject({
    message: expect.stringMatching(/is installed without a library for this machine; run "npm install [^"]*" again$/),
  });
});

/** A package whose decoder does only what the test says. */
function fakePackage(onDecode: (output: (data: object) => void) => void) {
  class AudioDecoder {
    static count = 0;
    static decodeQueueSize = 0;
    readonly #output: (data: object) => void;
    constructor({ output }: { output: (data: object) => void }) {
      this.#output = output;
      AudioDecoder.count += 1;
    }
    get decodeQueueSize() {
      return AudioDecoder.decodeQueueSize;
    }
    configure() {}
    decode() {
      onDecode(this.#output);
    }
    async flush() {}
    reset() {}
    close() {}
  }
  return { AudioDecoder, EncodedAudioChunk: class {} };
}

const audioData = (numberOfFrames: number, sampleRate: number, numberOfChannels: number, value: number) => ({
  timestamp: 0,
  numberOfFrames,
  numberOfChannels,
  sampleRate,
  copyTo: (target: Float32Array) => target.fill(value),
  close: () => undefined,
});

test("a packet that yields nothing is dropped after a quarter of a second and the next one plays", async () => {
  const clock = new FakeClock();
  let isMute = true;
  const load = async () => fakePackage((output) => isMute || output(audioData(1024, 44_100, 2, 0.5)));
  const decoder = await createWebCodecsDecoder(stream, { clock, load });
  const pending = decoder.decode(packets[0]!);
  clock.advance(250);
  expect((await pending).lengthSamples).toBe(0);
  isMute = false;
  expect((await decoder.decode(packets[0]!)).lengthSamples).toBe(1024);
  expect(clock.pendingCount).toBe(0);
});

test("a packet whose decoder is starved by other load is waited for, and its audio is complete", async () => {
  const clock = new FakeClock();
  let deliver: () => void = () => undefined;
  const starved = fakePackage((output) => {
    deliver = () => output(audioData(1024, 44_100, 2, 0.5));
  });
  starved.AudioDecoder.decodeQueueSize = 1;
  const decoder = await createWebCodecsDecoder(stream, { clock, load: async () => starved });
  const pending = decoder.decode(packets[0]!);
  clock.advance(9000);
  starved.AudioDecoder.decodeQueueSize = 0;
  // Timers come before the audio when this thread, too, was held up.
  clock.advance(200);
  deliver();
  expect((await pending).lengthSamples).toBe(1024);
  expect(clock.pendingCount).toBe(0);
  expect(starved.AudioDecoder.count).toBe(1);
});

test("audio that waits for a stalled thread is not taken for damage", async () => {
  const clock = new FakeClock();
  let deliver: () => void = () => undefined;
  const load = async () =>
    fakePackage((output) => {
      deliver = () => output(audioData(1024, 44_100, 2, 0.5));
    });
  const decoder = await createWebCodecsDecoder(stream, { clock, load });
  const pending = decoder.decode(packets[0]!);
  clock.stall(3000);
  clock.advance(0);
  deliver();
  expect((await pending).lengthSamples).toBe(1024);
});

test("an AAC decoder whose thread hangs is replaced after ten seconds", async () => {
  const clock = new FakeClock();
  const hanging = fakePackage(() => undefined);
  hanging.AudioDecoder.decodeQueueSize = 1;
  const decoder = await createWebCodecsDecoder(stream, { clock, load: async () => hanging });
  const pending = decoder.decode(packets[0]!);
  clock.advance(10_000);
  expect((await pending).lengthSamples).toBe(0);
  decoder.decode(packets[0]!);
  expect(hanging.AudioDecoder.count).toBe(2);
  decoder.close();
  expect(clock.pendingCount).toBe(0);
});

test("the AAC decoder's block reports the true rate and channels, also when HE-AAC doubles them implicitly", async () => {
  const load = async () => fakePackage((output) => output(audioData(2048, 44_100, 2, 0.5)));
  const decoder = await createWebCodecsDecoder({ ...stream, sampleRateHz: 22_050, channelCount: 1 }, { load });
  const block = await decoder.decode(packets[0]!);
  expect([block.lengthSamples, block.sampleRateHz, block.channels.length]).toEqual([2048, 44_100, 2]);
});

test("the AAC decoder drops audio of packets from before a reset", async () => {
  const late: (() => void)[] = [];
  let packet = 0;
  const load = async () =>
    fakePackage((output) => {
      const data = { ...audioData(100, 44_100, 1, ++packet), timestamp: packet - 1 };
      late.push(() => output(data));
    });
  const decoder = await createWebCodecsDecoder(stream, { load });
  const before = decoder.decode(packets[0]!);
  decoder.reset();
  expect((await before).lengthSamples).toBe(0);
  const after = decoder.decode(packets[1]!);
  for (const deliver of late) deliver();
  const block = await after;
  expect([block.lengthSamples, block.channels[0]![0]]).toEqual([100, 2]);
});

test("two outputs of one AAC packet both arrive, in order", async () => {
  let value = 0;
  const load = async () =>
    fakePackage((output) => {
      output(audioData(100, 44_100, 1, ++value));
      output(audioData(100, 44_100, 1, ++value));
    });
  const decoder = await createWebCodecsDecoder(stream, { load });
  const received: number[] = [];
  for (let packet = 0; packet < 3; packet++) {
    const block = await decoder.decode(packets[0]!);
    for (let sample = 0; sample < block.lengthSamples; sample += 100) received.push(block.channels[0]![sample]!);
  }
  expect(received).toEqual([1, 2, 3, 4, 5]);
});

/** Samples that the next packet decodes to; time passes only when the decoder waits for it. */
async function decodeNext(decoder: Decoder, clock: FakeClock): Promise<number> {
  const block = decoder.decode(packets[0]!);
  if (clock.pendingCount > 0) clock.advance(20);
  return (await block).lengthSamples;
}

test("AAC behind a long run of damaged packets is not lost with them", async () => {
  const clock = new FakeClock();
  const replacements = new TokenBucket({ clock, burst: 24, perSecond: 12 });
  let count = 0;
  const isDamaged = () => count > 10 && count <= 110;
  const damagedPackage = fakePackage((output) => {
    if (isDamaged()) throw new Error("damaged");
    output(audioData(1024, 44_100, 2, 0.5));
  });
  const decoder = await createWebCodecsDecoder(stream, { clock, replacements, load: async () => damagedPackage });
  let goodSamples = 0;
  for (count = 1; count <= 200; count++) goodSamples += await decodeNext(decoder, clock);
  expect(goodSamples).toBeGreaterThanOrEqual((100 - 5) * 1024);
});

test("packets of zeros cost the AAC decoder nothing", async () => {
  const load = async () => fakePackage((output) => output(audioData(1024, 44_100, 2, 0.5)));
  const clock = new FakeClock();
  const replacements = new TokenBucket({ clock, burst: 1, perSecond: 1 });
  const decoder = await createWebCodecsDecoder(stream, { clock, replacements, load });
  const blank = new Uint8Array(300);
  expect((await decoder.decode(packets[0]!)).lengthSamples).toBe(1024);
  for (let count = 0; count < 1000; count++) expect((await decoder.decode(blank)).lengthSamples).toBe(0);
  expect((await decoder.decode(packets[0]!)).lengthSamples).toBe(1024);
});

test("the AAC decoder rations replacements of failed decoders, and regains them with time", async () => {
  const clock = new FakeClock();
  const replacements = new TokenBucket({ clock, burst: 3, perSecond: 1 });
  let isBroken = true;
  const broken = fakePackage((output) => {
    if (isBroken) throw new Error("damaged");
    output(audioData(1024, 44_100, 2, 0.5));
  });
  const decoder = await createWebCodecsDecoder(stream, { clock, replacements, load: async () => broken });
  for (let count = 0; count < 30; count++) expect(await decodeNext(decoder, clock)).toBe(0);
  expect(broken.AudioDecoder.count).toBeLessThanOrEqual(1 + 4);
  isBroken = false;
  clock.advance(2000);
  expect((await decoder.decode(packets[0]!)).lengthSamples).toBe(1024);
});
