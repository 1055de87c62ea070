// Instantiates the hand-written WebAssembly loops of filters, each in a memory of its own. Audio thread.

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

export interface WasmLoop<Exports> {
  /** 64 kB. */
  readonly memory: ArrayBuffer;
  /** Undefined where the processor lacks the SIMD instructions (or `isSimd` is false): the caller has a plain loop. */
  readonly exports: Exports | undefined;
}

/** `Exports` is what the loop's .wat says it exports. */
export function createWasmLoop<Exports>(base64: string, { isSimd }: { readonly isSimd: boolean }): WasmLoop<Exports> {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const binary = Buffer.from(base64, "base64");
  if (!isSimd || !WebAssembly.validate(binary)) return { memory: memory.buffer, exports: undefined };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(binary), { host: { memory } });
  return { memory: memory.buffer, exports: exports as Exports };
}
