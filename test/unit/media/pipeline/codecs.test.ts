import { compileOpusEncoder } from "@tonearm/opus-encoder";
import { expect, test, vi } from "vitest";
import { readWasmCodec } from "../../../../src/lib/read-wasm-codec.ts";
import { CodecModules } from "../../../../src/media/decode/codec-modules.ts";
import { OpusFrameEncoder } from "../../../../src/media/encode/opus-encoder.ts";
import { TonearmFrameEncoder } from "../../../../src/media/encode/tonearm-encoder.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";

/** Codecs that all fail to load, and a record of the requested ones. */
function setup(encoder: "libopus" | "tonearm" = "tonearm") {
  const asked: string[] = [];
  const fail = (name: string) => {
    asked.push(name);
    return Promise.reject(new Error("not installed"));
  };
  const modules = new CodecModules({ readWasm: fail, readEncoder: () => fail("encoder") });
  return { asked, codecs: new Codecs({ complexity: 10, bitrateBps: 128_000, encoder }, modules) };
}

test.each([
  ["mp3", ["encoder", "mp3", "opus"]],
  ["flac", ["encoder", "flac", "opus"]],
  ["mp4", ["encoder", "opus"]],
  ["adts|x", ["encoder", "opus"]],
  ["matroska/webm", []],
  ["ogg", []],
  ["toString", []],
  [undefined, []],
])(
  "a track found in %s has %o loaded while it is opened, libopus when the encoder fails; errors are reported later",
  async (container, names) => {
    const { asked, codecs } = setup();
    codecs.warmUp(container);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked.sort()).toEqual(names);
  },
);

test("libopus is loaded instead of Tonearm's encoder when it is configured", async () => {
  const { asked, codecs } = setup("libopus");
  codecs.warmUp("mp3");
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked.sort()).toEqual(["mp3", "opus"]);
});

test("the encoder is loaded once, ahead of its first use, and again after a failure", async () => {
  let requestCount = 0;
  const readEncoder = async () => {
    requestCount++;
    if (requestCount === 1) throw new Error("not now");
    return compileOpusEncoder();
  };
  const fail = () => Promise.reject(new Error("not installed"));
  const modules = new CodecModules({ readWasm: fail, readEncoder });
  const codecs = new Codecs({ complexity: 10, bitrateBps: 64_000, encoder: "tonearm" }, modules);
  codecs.loadEncoder();
  await new Promise((resolve) => setImmediate(resolve));
  codecs.loadEncoder();
  expect(await codecs.acquireEncoder()).toBeInstanceOf(TonearmFrameEncoder);
  expect(requestCount).toBe(2);
});

test("a thread that cannot run Tonearm's encoder encodes with libopus, and logs the reason once", async () => {
  const fail = () => Promise.reject(new Error("no SIMD"));
  const modules = new CodecModules({ readWasm: readWasmCodec, readEncoder: fail });
  const warn = vi.fn();
  for (const encoder of ["libopus", "tonearm"] as const) {
    const codecs = new Codecs({ complexity: 0, bitrateBps: 64_000, encoder }, modules, { warn });
    const acquired = [await codecs.acquireEncoder(), await codecs.acquireEncoder()];
    for (const each of acquired) {
      expect(each).toBeInstanceOf(OpusFrameEncoder);
      each.close();
    }
    expect(warn.mock.calls).toEqual(
      encoder === "libopus" ? [] : [[expect.stringMatching(/libopus.*`tonearm doctor`$/), { reason: "no SIMD" }]],
    );
  }
});

test("players get the configured encoder", async () => {
  const encoder = await new Codecs({ complexity: 10, bitrateBps: 64_000, encoder: "tonearm" }).acquireEncoder();
  expect(encoder).toBeInstanceOf(TonearmFrameEncoder);
  encoder.close();
});
