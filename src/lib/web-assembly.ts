// The types of the part of the WebAssembly interface that is used; those of Node 20 do not include it. Any thread.

/** The unit of WebAssembly memory. */
export const WASM_PAGE_BYTES = 65_536;

/** The memory of a module instance. */
export interface WasmMemory {
  /** Another one after each growth. */
  readonly buffer: ArrayBuffer;
  /** Returns how many pages there were. Throws a RangeError beyond the most it was made with. */
  grow(pages: number): number;
}

/** A compiled `WebAssembly.Module`. It survives `postMessage`; the threads share its machine code. */
export type WasmModule = { readonly isModule: true };

declare global {
  const WebAssembly: {
    readonly Memory: new (pages: { readonly initial: number; readonly maximum?: number }) => WasmMemory;
    readonly Module: {
      new (binary: Uint8Array): WasmModule;
      imports(module: WasmModule): readonly { readonly module: string; readonly name: string }[];
    };
    /** `Exports` is what the caller knows of the module. */
    readonly Instance: new <Exports>(
      module: WasmModule,
      imports: Readonly<Record<string, object>>,
    ) => { readonly exports: Exports };
    compile(binary: Uint8Array): Promise<WasmModule>;
    validate(binary: Uint8Array): boolean;
  };
}
