import { expect, it } from "vitest";
import { readWasmCodec } from "../../../src/lib/read-wasm-codec.ts";
import { startWasmCodec } from "../../../src/lib/wasm-codec.ts";
import { createOpusDecoder } from "../../../src/media/decode/opus-decoder.ts";
import { OpusFrameEncoder } from "../../../src/media/encode/opus-encoder.ts";
import { Libopus, loadLibopus } from "../../../src/media/opus/libopus.ts";
import { loaded } from "../../support/loaded.ts";
import { SCRIPTED_STREAM } from "../../support/scripted-decoder.ts";

interface Allocating {
  _malloc(sizeBytes: number): number;
}

const MEGABYTE = 1024 * 1024;
const OPUS = { ...SCRIPTED_STREAM, codec: "opus" } as const;

it("a codec with fixed memory cannot grow it", async () => {
  const { functions, heap } = startWasmCodec<Allocating>(await readWasmCodec("vorbis"));
  const startBytes = heap.buffer.byteLength;
  expect(functions._malloc(MEGABYTE)).toBeGreaterThan(0);
  expect(functions._malloc(32 * MEGABYTE)).toBe(0);
  expect(heap.buffer.byteLength).toBe(startBytes);
});

it("a codec that may grow its memory does so up to its bound", async () => {
  const sizeBytesMax = 64 * MEGABYTE;
  const { functions, heap } = startWasmCodec<Allocating>(await readWasmCodec("opus"), { sizeBytesMax });
  expect(functions._malloc(24 * MEGABYTE)).toBeGreaterThan(0);
  expect(functions._malloc(128 * MEGABYTE)).toBe(0);
  expect(heap.buffer.byteLength).toBeLessThanOrEqual(sizeBytesMax);
});

it("a decoder that crashes ends its own track, and others of the same library continue", async () => {
  const opus = new Libopus(await readWasmCodec("opus"));
  const encoder = new OpusFrameEncoder(await loadLibopus(), { complexity: 0, bitrateBps: 64_000 });
  const tone = Float32Array.from({ length: 960 }, (_, at) => 0.5 * Math.sin(at / 10));
  const packets = Array.from({ length: 4 }, () => Uint8Array.from(encoder.encode(tone, tone)));
  const bystander = createOpusDecoder(await loaded(opus), OPUS);
  const control = new OpusFrameEncoder(opus, { complexity: 0, bitrateBps: 64_000 });
  const undecided = new OpusFrameEncoder(opus, { complexity: 0, bitrateBps: 64_000 });
  bystander.decode(packets[0]!);
  control.encode(tone, tone);
  undecided.encode(tone, tone);
  // An address behind the end of its memory.
  expect(() => opus.decode(0x7fff_fff0, 10)).toThrow(expect.objectContaining({ code: "media-decode-failed" }));
  expect(opus.generation).toBe(1);
  expect(bystander.decode(packets[1]!)).toMatchObject({ lengthSamples: 960 });
  expect(control.encode(tone, tone).length).toBeGreaterThan(10);
  // Its state from before its last frame was lost with the instance: it starts again.
  undecided.rewind(1);
  encoder.reset();
  encoder.makeNextIndependent();
  expect(undecided.encode(tone, tone)).toEqual(encoder.encode(tone, tone));
  for (const each of [bystander, control, undecided, encoder]) each.close();
});
