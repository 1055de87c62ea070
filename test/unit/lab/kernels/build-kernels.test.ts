import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildKernels, refreshKernels } from "../../../../lab/kernels/build-kernels.ts";
import { compileKernel } from "../../../../lab/kernels/compile-kernel.ts";
import { layer3Tables } from "../../../../lab/kernels/tables/layer3-tables.ts";

let folder: URL;

beforeEach(() => {
  folder = pathToFileURL(`${mkdtempSync(join(tmpdir(), "tonearm-kernels-"))}/`);
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function sourceOf(text: string): URL {
  const file = new URL("loop.ts", folder);
  writeFileSync(file, text);
  return file;
}

it("audio loops are built again when one is missing or their sources have changed, and not otherwise", async () => {
  const [loop, builtFrom] = [new URL("phaser.wasm", folder), new URL("built-from.sha256", folder)];
  let compiled: string[] = [];
  const compile = async (source: URL) => {
    const name = source.pathname.slice(source.pathname.lastIndexOf("/") + 1);
    compiled.push(name);
    return Buffer.from(`the loop of ${name}`);
  };
  const encoderFile = new URL("encoder/opus-encoder.wasm", folder);
  const build = { folder, encoderFile, names: ["layer3", "phaser"], compile } as const;
  const refresh = async () => {
    compiled = [];
    await refreshKernels(build);
    return compiled;
  };
  const all = ["layer3.ts", "phaser.ts", "opus-encoder.ts"];
  const olds = ["removed-loop.wasm", "removed-loop.tables"].map((name) => new URL(name, folder));
  for (const old of olds) writeFileSync(old, "of an older build");
  await buildKernels(build);
  expect(compiled).toEqual(all);
  expect(olds.filter((old) => existsSync(old))).toEqual([]);
  expect(await refresh()).toEqual([]);
  writeFileSync(builtFrom, "of another source");
  expect(await refresh()).toEqual(all);
  expect(readFileSync(builtFrom, "utf8")).toMatch(/^[0-9a-f]{64}$/);
  rmSync(loop);
  expect(await refresh()).toEqual(all);
  expect(readFileSync(loop, "utf8")).toBe("the loop of phaser.ts");
  const tables = new URL("layer3.tables", folder);
  rmSync(tables);
  expect(await refresh()).toEqual(all);
  expect(readFileSync(tables).equals(layer3Tables())).toBe(true);
  rmSync(encoderFile);
  expect(await refresh()).toEqual(all);
});

it("a source that does not compile is refused with the compiler's message", async () => {
  await expect(compileKernel(sourceOf("export function f(): i32 { return 1.5; }"))).rejects.toThrow(
    /loop\.ts does not compile:\n.*Conversion from type 'f64' to 'i32'/,
  );
});

it("a source with static data is refused: the data would overlap the audio", async () => {
  const source = sourceOf(
    "const TABLE: StaticArray<i32> = [1, 2];\nexport function f(i: i32): i32 { return TABLE[i]; }",
  );
  await expect(compileKernel(source)).rejects.toThrow("needs static data or a runtime");
});

it("static data behind the allowed end are refused, and only there", async () => {
  const source = sourceOf(
    "const TABLE = memory.data<u32>([1, 2]);\nexport function f(i: usize): u32 { return load<u32>(TABLE + i); }",
  );
  await expect(compileKernel(source, { dataEndByte: 8192 })).resolves.toBeInstanceOf(Uint8Array);
  await expect(compileKernel(source, { dataEndByte: 1024 })).rejects.toThrow("needs static data or a runtime");
});
