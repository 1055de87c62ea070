// How an audio thread gets a codec without loading it: over a dedicated port it names the codec and receives what
// another thread has loaded. The ends are control/workers/codec-loader.ts and media/remote-codecs.ts.

import type { WasmCodec } from "../lib/wasm-codec.ts";
import type { WasmModule } from "../lib/web-assembly.ts";

/** The WebAssembly codecs of packages, and our Opus encoder. */
export type CodecName = "opus" | "mp3" | "flac" | "vorbis" | "encoder";

/** From an audio thread, when it first needs the codec, and from the main thread to the codec thread. */
export interface CodecRequest {
  readonly requestId: number;
  readonly codec: CodecName;
}

/** A loaded codec in a form that other threads can use. */
export type LoadedCodec =
  | { readonly kind: "wasm"; readonly wasm: WasmCodec }
  | { readonly kind: "encoder"; readonly module: WasmModule };

/** One answer per request. After a `failure`, or no answer within 3 s, the audio thread loads the codec itself. */
export type CodecAnswer =
  | { readonly requestId: number; readonly loaded: LoadedCodec }
  | { readonly requestId: number; readonly failure: string };
