// Instantiates the hand-written WebAssembly loops of the resampler and the filters, each in a memory of its own. Compiles each
// once per thread. Audio thread.

/** The part of the WebAssembly interface used here; the types of Node 20 leave it out. */
interface WasmMemory {
  readonly buffer: ArrayBuffer;
}
type WasmModule = { readonly isModule: true };
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory;
  readonly Module: new (binary: Uint8Array) => WasmModule;
  readonly Instance: new (
    module: WasmModule,
    imports: { readonly host: { readonly memory: WasmMemory } },
  ) => { readonly exports: unknown };
  validate(binary: Uint8Array): boolean;
};

/** One instance, for one thread. Each has a memory of its own, which never grows. */
export interface WasmLoop<Exports> {
  /** As large as was asked for, rounded up to whole pages of 64 KiB. */
  readonly memory: ArrayBuffer;
  /** Undefined where the processor lacks the SIMD instructions (or `isSimd` is false): the caller has a plain loop. */
  readonly exports: Exports | undefined;
}

const PAGE_BYTES = 65_536;
/** By their text; null where they cannot run. There are as many as the project has `.wat` files. */
const compiledModules = new Map<string, WasmModule | null>();

/** `Exports` is what the loop's .wat says it exports. */
export function createWasmLoop<Exports>(
  base64: string,
  { isSimd, sizeBytes = PAGE_BYTES }: { readonly isSimd: boolean; readonly sizeBytes?: number },
): WasmLoop<Exports> {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(sizeBytes / PAGE_BYTES) });
  const compiled = isSimd ? compile(base64) : null;
  if (compiled === null) return { memory: memory.buffer, exports: undefined };
  const { exports } = new WebAssembly.Instance(compiled, { host: { memory } });
  return { memory: memory.buffer, exports: exports as Exports };
}

function compile(base64: string): WasmModule | null {
  let compiled = compiledModules.get(base64);
  if (compiled === undefined) {
    const binary = Buffer.from(base64, "base64");
    compiled = WebAssembly.validate(binary) ? new WebAssembly.Module(binary) : null;
    compiledModules.set(base64, compiled);
  }
  return compiled;
}
