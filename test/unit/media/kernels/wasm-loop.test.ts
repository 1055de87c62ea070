import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ASSEMBLY, compileEncoder, compileLoop, ENCODER_FILE } from "../../../../lab/kernels/build-kernels.ts";
import { BUILT_KERNELS, KERNEL_NAMES, kernelFileName, WasmKernel } from "../../../../src/media/kernels/wasm-loop.ts";

const NOT_THERE = new URL("not-there/", BUILT_KERNELS);

it.each(KERNEL_NAMES)("the built loop %s matches its source", async (name) => {
  const built = readFileSync(new URL(kernelFileName(name), BUILT_KERNELS));
  const compiled = await compileLoop(name);
  expect(built.equals(compiled)).toBe(true);
});

it("the built Opus encoder matches its sources", async () => {
  expect(readFileSync(ENCODER_FILE).equals(await compileEncoder())).toBe(true);
});

it("each file of assembly/ is a loop, except the shared ones", () => {
  const shared = ["bits.ts", "lanes.ts"];
  const files = readdirSync(ASSEMBLY).filter((name) => name.endsWith(".ts") && !shared.includes(name));
  expect(files.toSorted()).toEqual(KERNEL_NAMES.map((name) => `${name}.ts`));
});

it("a loop that was not built reports what to do", () => {
  expect(() => new WasmKernel("reverb", NOT_THERE)).toThrow(
    /cannot read the audio loop .*reverb\.wasm: run `npm run build`/,
  );
});

it("a loop's memory is as large as requested, in whole pages, and never grows", () => {
  const { memory, exports } = new WasmKernel<object>("reverb").createLoop({ isSimd: true, sizeBytes: 65_537 });
  expect(memory.byteLength).toBe(2 * 65_536);
  expect(Object.keys(exports ?? {})).toEqual(["reverberate"]);
});

it("without SIMD there is a memory and no loop", () => {
  const { memory, exports } = new WasmKernel<object>("phaser").createLoop({ isSimd: false });
  expect(memory.byteLength).toBe(65_536);
  expect(exports).toBeUndefined();
});

it("a released loop is given out again, once and empty", () => {
  const kernel = new WasmKernel<object>("reverb");
  const loop = kernel.createLoop({ isSimd: true });
  new Uint8Array(loop.memory).fill(7);
  kernel.releaseLoop(loop);
  kernel.releaseLoop(loop);
  const again = kernel.createLoop({ isSimd: true });
  expect(again).toBe(loop);
  expect(new Uint8Array(again.memory).every((byte) => byte === 0)).toBe(true);
  expect(kernel.createLoop({ isSimd: true })).not.toBe(loop);
});

it("no more than 32 released loops are kept", () => {
  const kernel = new WasmKernel<object>("reverb");
  const loops = Array.from({ length: 40 }, () => kernel.createLoop({ isSimd: true }));
  for (const loop of loops) kernel.releaseLoop(loop);
  const again = loops.map(() => kernel.createLoop({ isSimd: true }));
  expect(again.filter((loop) => loops.includes(loop)).length).toBe(32);
});
