import { expect, test } from "vitest";
import { readWasmCodec } from "../../../../src/lib/read-wasm-codec.ts";
import { CodecModules } from "../../../../src/media/decode/codec-modules.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import { TonearmFrameEncoder } from "../../../../src/media/encode/tonearm-encoder.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";

/** Codecs of which none can be loaded, and what of them was asked for. */
function setup(encoder?: "libopus" | "tonearm") {
  const asked: string[] = [];
  const fail = (name: string) => {
    asked.push(name);
    return Promise.reject(new Error("not installed"));
  };
  const modules = new CodecModules({ readWasm: fail, readEncoder: () => fail("encoder"), loadAac: () => fail("aac") });
  return { asked, codecs: new Codecs({ complexity: 10, bitrateBps: 128_000, encoder }, modules) };
}

test.each([
  ["mp3", ["mp3", "opus"]],
  ["flac", ["flac", "opus"]],
  ["mp4", ["aac", "opus"]],
  ["adts|x", ["aac", "opus"]],
  ["matroska/webm", []],
  ["ogg", []],
  ["toString", []],
  [undefined, []],
])(
  "a track found in %s has %o loaded while it is opened; what cannot be loaded is told later",
  async (container, names) => {
    const { asked, codecs } = setup();
    codecs.warmUp(container);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked.sort()).toEqual(names);
  },
);

test("the encoder of our own is loaded in place of libopus where it is chosen", async () => {
  const { asked, codecs } = setup("tonearm");
  codecs.warmUp("mp3");
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked.sort()).toEqual(["encoder", "mp3"]);
});

test("what cannot run the encoder of our own encodes with libopus", async () => {
  const fail = () => Promise.reject(new Error("no SIMD"));
  const modules = new CodecModules({ readWasm: readWasmCodec, readEncoder: fail, loadAac: fail });
  const encoder = await new Codecs({ complexity: 0, bitrateBps: 64_000, encoder: "tonearm" }, modules).acquireEncoder();
  expect(encoder).toBeInstanceOf(OpusFrameEncoder);
  encoder.close();
});

test("the encoder that is chosen is the one that players get", async () => {
  const encoder = await new Codecs({ complexity: 10, bitrateBps: 64_000, encoder: "tonearm" }).acquireEncoder();
  expect(encoder).toBeInstanceOf(TonearmFrameEncoder);
  encoder.close();
});
