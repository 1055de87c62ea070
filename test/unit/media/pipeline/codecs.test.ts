import { expect, test } from "vitest";
import { CodecModules } from "../../../../src/media/decode/codec-modules.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";

/** Codecs of which none can be loaded, and what of them was asked for. */
function setup() {
  const asked: string[] = [];
  const fail = (name: string) => {
    asked.push(name);
    return Promise.reject(new Error("not installed"));
  };
  const modules = new CodecModules({ readWasm: fail, loadAac: () => fail("aac") });
  return { asked, codecs: new Codecs({ complexity: 10, bitrateBps: 128_000 }, modules) };
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
