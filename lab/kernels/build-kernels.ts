// Writes the audio loops, their tables and the Opus encoder to where they are loaded from (src/media/kernels/wasm-loop.ts,
// opus-encoder/src/kernel.ts), and detects when that is needed.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { TABLES_END_BYTE } from "../../opus-encoder/src/numbers.ts";
import {
  BUILT_KERNELS,
  KERNEL_NAMES,
  type KernelName,
  kernelFileName,
  type TabledKernelName,
  tablesFileName,
} from "../../src/media/kernels/wasm-loop.ts";
import { aacTables } from "./tables/aac-tables.ts";
import { layer3Tables } from "./tables/layer3-tables.ts";

/** The project's folder; this file is compiled to dist/lab/kernels. */
const ROOT = new URL(import.meta.url.endsWith(".ts") ? "../../" : "../../../", import.meta.url);
export const ASSEMBLY = new URL("src/media/kernels/assembly/", ROOT);
const ENCODER = new URL("opus-encoder/", ROOT);
export const ENCODER_FILE = new URL("dist/opus-encoder.wasm", ENCODER);
/** Loops that have constants in their data: the CELT decoder shares them with the encoder. */
const WITH_DATA: ReadonlySet<KernelName> = new Set(["celt"]);
const MAKE_TABLES: Readonly<Record<TabledKernelName, () => Uint8Array>> = { aac: aacTables, layer3: layer3Tables };
/** The sources: of the loops, the numbers they share with the plain loops, the audio format, the encoder … */
const SOURCE_FOLDERS = [
  ASSEMBLY,
  new URL("aac/", ASSEMBLY),
  new URL("aac/ps/", ASSEMBLY),
  new URL("aac/sbr/", ASSEMBLY),
  new URL("celt/", ASSEMBLY),
  new URL("layer3/", ASSEMBLY),
  new URL("lab/kernels/tables/", ROOT),
  new URL("src/media/kernels/numbers/", ROOT),
  new URL("src/media/format/", ROOT),
  new URL("assembly/", ENCODER),
  new URL("src/", ENCODER),
];
/** … what compiles them, and in which version. */
const COMPILING = [new URL("lab/kernels/compile-kernel.ts", ROOT), new URL("package.json", ROOT)];
/** File next to the loops: a hash of their sources. */
const BUILT_FROM = "built-from.sha256";

/**
 * What to build, and where to: by default all loops and the encoder, to where they are loaded from (changed by tests).
 */
interface Build {
  readonly folder?: URL;
  readonly encoderFile?: URL;
  readonly names?: readonly KernelName[];
  /** By default the AssemblyScript compiler. */
  readonly compile?: Compile;
}

type Compile = typeof import("./compile-kernel.ts").compileKernel;

/**
 * Compiles the loops, which takes a few seconds. Each file is replaced atomically: a test run may be reading the last
 * one.
 */
export async function buildKernels(build: Build = {}): Promise<void> {
  const { folder = BUILT_KERNELS, encoderFile = ENCODER_FILE, names = KERNEL_NAMES } = build;
  const { compile = compileWithCompiler } = build;
  const sourceHash = await hashSources();
  await mkdir(folder, { recursive: true });
  for (const name of names) {
    await replaceFile(new URL(kernelFileName(name), folder), await compileLoop(name, compile));
    if (hasTables(name)) await replaceFile(new URL(tablesFileName(name), folder), MAKE_TABLES[name]());
  }
  await removeOld(folder, names.flatMap(fileNames));
  await mkdir(new URL(".", encoderFile), { recursive: true });
  await replaceFile(encoderFile, await compileEncoder(compile));
  await replaceFile(new URL(BUILT_FROM, folder), sourceHash);
}

/** Builds the loops unless they are up to date. For tests, which run from the sources. */
export async function refreshKernels(build: Build = {}): Promise<void> {
  const { folder = BUILT_KERNELS, encoderFile = ENCODER_FILE, names = KERNEL_NAMES } = build;
  const files = [BUILT_FROM, ...names.flatMap(fileNames)].map((name) => new URL(name, folder));
  const isComplete = [encoderFile, ...files].every((file) => existsSync(file));
  if (isComplete && (await readFile(new URL(BUILT_FROM, folder), "utf8")) === (await hashSources())) return;
  await buildKernels(build);
}

export async function compileLoop(name: KernelName, compile: Compile = compileWithCompiler): Promise<Uint8Array> {
  const source = new URL(`${name}.ts`, ASSEMBLY);
  return WITH_DATA.has(name) ? compile(source, { dataEndByte: TABLES_END_BYTE }) : compile(source);
}

/** The Opus encoder, compiled as the loops are, but with its own tables. */
export async function compileEncoder(compile: Compile = compileWithCompiler): Promise<Uint8Array> {
  return compile(new URL("assembly/opus-encoder.ts", ENCODER), { dataEndByte: TABLES_END_BYTE });
}

/** The compiler is large: it is not loaded before there is something to compile. */
const compileWithCompiler: Compile = async (...source) => {
  const { compileKernel } = await import("./compile-kernel.ts");
  return compileKernel(...source);
};

function hasTables(name: KernelName): name is TabledKernelName {
  return name in MAKE_TABLES;
}

function fileNames(name: KernelName): string[] {
  return hasTables(name) ? [kernelFileName(name), tablesFileName(name)] : [kernelFileName(name)];
}

/** What an older build has written: the lab's package would contain it. */
async function removeOld(folder: URL, current: readonly string[]): Promise<void> {
  const old = (await readdir(folder)).filter((name) => /\.(?:wasm|tables)$/.test(name) && !current.includes(name));
  for (const name of old) await rm(new URL(name, folder));
}

async function hashSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const folder of SOURCE_FOLDERS) {
    for (const name of (await readdir(folder)).filter((file) => file.endsWith(".ts")).toSorted()) {
      hash.update(name).update(await readFile(new URL(name, folder)));
    }
  }
  for (const file of COMPILING) hash.update(await readFile(file));
  return hash.digest("hex");
}

async function replaceFile(file: URL, contents: Uint8Array | string): Promise<void> {
  const unfinished = new URL(`${file.href}.${process.pid}`);
  await writeFile(unfinished, contents);
  await rename(unfinished, file);
}
