// What the three decoders of the wasm-audio-decoders family (MP3, FLAC, Vorbis) have in common: a WebAssembly instance
// each (compiled once per thread), whose functions are called directly. The packages' own methods copy every packet's
// sound three times and write damage to the console; docs/decisions/codecs.md has the measurements. Audio thread.

/** An area of the instance's memory. Its size is fixed, so the view stays valid. */
export interface WasmArea<T> {
  readonly ptr: number;
  readonly len: number;
  readonly buf: T;
}

/** The parts of each package's decoder object that are used; versions are pinned in package.json. */
export interface WasmAudioInstance<Functions> {
  readonly ready: Promise<void>;
  readonly _common: { readonly wasm: Functions & { readonly HEAP: ArrayBuffer } };
  /** Address of the decoder's state; 0 when it could not be made. */
  _decoder: number;
}
