// A codec of one of the packages, compiled to WebAssembly and ready to run on any thread. The packages' own JavaScript,
// which unpacks and starts them, is not run, because it blocks its thread for 30 to 100 ms (read-wasm-codec.ts unpacks
// them on another thread). Instantiating one takes a millisecond; each instance has separate memory, whose size is
// bounded here.

import { WASM_PAGE_BYTES, type WasmMemory, type WasmModule } from "./web-assembly.ts";

/** Plain data: it may be sent to other threads, which then share the compiled code. */
export interface WasmCodec {
  readonly module: WasmModule;
  /** The exports of the module, by the names that the package's own code uses. */
  readonly exportNames: Readonly<Record<string, string>>;
  /** The function that sets its memory up. */
  readonly startName: string;
  /** The package's names of what the module imports, by its own. */
  readonly importNames: Readonly<Record<string, string>>;
}

/**
 * `Functions` is what the caller knows of the package's exports, by the names that the package's own code has for them.
 */
export interface WasmCodecInstance<Functions> {
  /** The callable functions. They share the instance's memory, so one call at a time. */
  readonly functions: Functions;
  /** Views of its memory; they are replaced when it grows. */
  readonly heap: { readonly buffer: ArrayBuffer };
}

/** EBADF, returned for all file operations: the instance has no files. */
const NO_FILE = 8;

/**
 * A new instance. It may grow to `sizeBytesMax` (by default not at all; beyond, its own allocations fail). A function
 * of it that runs wild throws WebAssembly.RuntimeError, after which the instance must not be used any more.
 */
export function startWasmCodec<Functions>(
  codec: WasmCodec,
  { sizeBytesMax = 0 }: { readonly sizeBytesMax?: number } = {},
): WasmCodecInstance<Functions> {
  const grow = (sizeBytes: number): number => {
    const missing = Math.ceil(((sizeBytes >>> 0) - memory.buffer.byteLength) / WASM_PAGE_BYTES);
    if (sizeBytes >>> 0 > sizeBytesMax) return 0;
    memory.grow(Math.max(0, missing));
    return 1;
  };
  const imports = Object.entries(codec.importNames).map(([name, meaning]) => [name, importFor(meaning, grow)]);
  const { exports } = new WebAssembly.Instance<Readonly<Record<string, unknown>>>(codec.module, {
    a: Object.fromEntries(imports),
  });
  const functions = Object.entries(codec.exportNames).map(([name, inModule]) => [name, exports[inModule]]);
  const heap = Object.fromEntries(functions) as { readonly wasmMemory: WasmMemory };
  const memory = heap.wasmMemory;
  (exports[codec.startName] as () => void)();
  return { functions: heap as Functions, heap: memory };
}

/** The imports that a codec needs: memory and arithmetic. All others return constants. */
function importFor(name: string, grow: (sizeBytes: number) => number): (...values: number[]) => number {
  switch (name) {
    case "_emscripten_resize_heap":
      return grow;
    case "_emscripten_math_atan":
      return Math.atan;
    case "_emscripten_math_cos":
      return Math.cos;
    case "_emscripten_math_exp":
      return Math.exp;
    case "_emscripten_math_log":
      return Math.log;
    case "_emscripten_math_pow":
      return Math.pow;
    case "_emscripten_math_sin":
      return Math.sin;
    case "__setitimer_js":
    case "__emscripten_runtime_keepalive_clear":
      return () => 0;
    case "_fd_close":
    case "_fd_read":
    case "_fd_write":
    case "_fd_seek":
      return () => NO_FILE;
    default:
      return () => {
        throw new Error(`the codec gave up (${name})`);
      };
  }
}
