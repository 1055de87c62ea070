// The types of the part of the WebAssembly interface that is used: those of Node.js do not include it.

/** Unit of WebAssembly memory. */
export const PAGE_BYTES = 65_536;

/** The memory of a module's instance. */
export interface WasmMemory {
  /** Another one after each growth. */
  readonly buffer: ArrayBuffer;
  /** Returns how many pages there were. Throws a RangeError beyond its maximum. */
  grow(pages: number): number;
}

/** A compiled `WebAssembly.Module`. It survives `postMessage`; the threads share its machine code. */
export type WasmModule = { readonly isModule: true };

interface WasmApi {
  readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => WasmMemory;
  readonly Module: new (binary: Uint8Array) => WasmModule;
  /** `Exports` is what the caller knows of the module. */
  readonly Instance: new <Exports>(
    module: WasmModule,
    imports: Readonly<Record<string, object>>,
  ) => { readonly exports: Exports };
}

/** The global of the same name. */
export const { WebAssembly: wasm } = globalThis as unknown as { readonly WebAssembly: WasmApi };
