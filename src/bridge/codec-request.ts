// How an audio thread gets a codec without loading it: over a port of its own it names what it wants, and is given what
// another thread has loaded. control/workers/codec-loader.ts is the one end, media/remote-codecs.ts the other.

import type { WasmCodec } from "../lib/wasm-codec.ts";
import type { WasmModule } from "../lib/web-assembly.ts";

/** Those that are WebAssembly, the Opus encoder of our own among them, and the one that is native. */
export type CodecName = "opus" | "mp3" | "flac" | "vorbis" | "encoder" | "aac";

/** From an audio thread, when it first needs the codec. */
export interface CodecRequest {
  readonly codec: CodecName;
}

/** What was loaded, in a form that other threads can use. */
export type LoadedCodec =
  | { readonly kind: "wasm"; readonly wasm: WasmCodec }
  | { readonly kind: "encoder"; readonly module: WasmModule }
  /** The library is in the process' memory already, so that opening it takes a millisecond and not sixty. */
  | { readonly kind: "library"; readonly path: string };

/** One for each wish. After a `failure`, or none within 3 s, the audio thread loads the codec by itself. */
export type CodecAnswer =
  | { readonly codec: CodecName; readonly loaded: LoadedCodec }
  | { readonly codec: CodecName; readonly failure: string };
