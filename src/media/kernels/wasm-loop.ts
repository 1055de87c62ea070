// The built WebAssembly loops of the resampler, the filters, loudness and our decoders: read when the module that uses one is
// imported (0.4 to 2 kB each, decoders 11 to 44 kB), compiled once per thread when first needed, each in separate
// memory. Their source is in assembly/; docs/decisions/build.md describes how they are built. Audio thread.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { WASM_PAGE_BYTES, type WasmModule } from "../../lib/web-assembly.ts";

/** Each is a file in assembly/. */
export const KERNEL_NAMES = [
  "aac",
  "celt",
  "distortion",
  "equalizer",
  "layer3",
  "loudness",
  "modulated-delay",
  "phaser",
  "resampler",
  "reverb",
  "timescale-search",
  "vibrato",
] as const;
export type KernelName = (typeof KERNEL_NAMES)[number];

/** File name of a built loop, in its folder. */
export function kernelFileName(name: KernelName): string {
  return `${name}.wasm`;
}

/** Those whose memory begins with tables, which the build computes: that takes up to 50 ms, within one tick. */
export type TabledKernelName = Extract<KernelName, "aac" | "layer3">;

/** File name of the tables, beside the loop. */
export function tablesFileName(name: TabledKernelName): string {
  return `${name}.tables`;
}

/** Loops of each kind that wait for their next user: the filters of dozens of players may change at once. */
const IDLE_LOOPS_MAX = 32;

export interface WasmLoop<Exports> {
  /** The requested size, rounded up to whole pages of 64 KiB. It never grows. */
  readonly memory: ArrayBuffer;
  /** Undefined where the processor lacks the SIMD instructions (or `isSimd` is false): the caller has a plain loop. */
  readonly exports: Exports | undefined;
}

/** Where the built loops are: beside the compiled form of this file, which tests run from its source. */
export const BUILT_KERNELS = new URL(
  import.meta.url.endsWith(".ts") ? "../../../dist/src/media/kernels/" : "./",
  import.meta.url,
);

/** `Exports` is what the loop's source exports. */
export class WasmKernel<Exports> {
  readonly #binary: Uint8Array;
  /** Undefined before its first use, null where it cannot run. */
  #module: WasmModule | null | undefined;
  readonly #idle: WasmLoop<Exports>[] = [];

  /** Reads the file; throws when it is missing. Call it when a module is loaded, never in a tick. */
  constructor(name: KernelName, folder = BUILT_KERNELS) {
    this.#binary = readBuilt(folder, kernelFileName(name));
  }

  /** With empty memory: a new one, or one that was released. Always with the same `sizeBytes`. */
  createLoop({
    isSimd,
    sizeBytes = WASM_PAGE_BYTES,
  }: {
    readonly isSimd: boolean;
    readonly sizeBytes?: number;
  }): WasmLoop<Exports> {
    const idle = isSimd ? this.#idle.pop() : undefined;
    if (idle !== undefined) {
      new Uint8Array(idle.memory).fill(0);
      return idle;
    }
    const pages = Math.ceil(sizeBytes / WASM_PAGE_BYTES);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const compiled = isSimd ? this.#compile() : null;
    if (compiled === null) return { memory: memory.buffer, exports: undefined };
    // The module built from assembly/ exports this; the tests that compare it with the plain loop would not run
    // otherwise.
    const { exports } = new WebAssembly.Instance<Exports>(compiled, { env: { memory } });
    return { memory: memory.buffer, exports };
  }

  /**
   * Its user is done with it: the next one spares the construction, and the collector 10 GB of address space. A loop
   * that is not released is garbage.
   */
  releaseLoop(loop: WasmLoop<Exports>): void {
    const isWanted = loop.exports !== undefined && this.#idle.length < IDLE_LOOPS_MAX && !this.#idle.includes(loop);
    if (isWanted) this.#idle.push(loop);
  }

  #compile(): WasmModule | null {
    if (this.#module === undefined) {
      this.#module = WebAssembly.validate(this.#binary) ? new WebAssembly.Module(this.#binary) : null;
    }
    return this.#module;
  }
}

/** The tables, from byte 0 of the memory on. Reads the file, and throws, as the constructor of a kernel does. */
export function readTables(name: TabledKernelName): Uint8Array {
  return readBuilt(BUILT_KERNELS, tablesFileName(name));
}

function readBuilt(folder: URL, fileName: string): Uint8Array {
  const file = new URL(fileName, folder);
  try {
    return readFileSync(file);
  } catch (cause) {
    const path = fileURLToPath(file);
    throw new Error(`cannot read the audio loop ${path}: run \`npm run build\` in Tonearm's folder`, { cause });
  }
}
