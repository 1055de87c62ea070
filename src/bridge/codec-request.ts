// How an audio thread gets a codec without loading it: over a dedicated port it names the codec and receives what
// another thread has loaded. The ends are control/workers/codec-loader.ts and media/remote-codecs.ts.

import type { WasmCodec } from "../lib/wasm-codec.ts";
import type { WasmModule } from "../lib/web-assembly.ts";

/** The WebAssembly codecs, including our Opus encoder, and the native one (`aac`). */
export type CodecName = "opus" | "mp3" | "flac" | "vorbis" | "encoder" | "aac";

/** From an audio thread, when it first needs the codec. */
export interface CodecRequest {
  readonly codec: CodecName;
}

/** A loaded codec in a form that other threads can use. */
export type LoadedCodec =
  | { readonly kind: "wasm"; readonly wasm: WasmCodec }
  | { readonly kind: "encoder"; readonly module: WasmModule }
  /** The library is in the process' memory already, so that opening it takes a millisecond and not sixty. */
  | { readonly kind: "library"; readonly path: string };

/** One answer per request. After a `failure`, or no answer within 3 s, the audio thread loads the codec itself. */
export type CodecAnswer =
  | { readonly codec: CodecName; readonly loaded: LoadedCodec }
  | { readonly codec: CodecName; readonly failure: string };
