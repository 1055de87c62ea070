// Reads a codec out of its package and compiles it: 30 to 100 ms of work, meant for a thread that plays nothing
// (media/codec-main.ts). The packages carry their WebAssembly inside of JavaScript text, next to the list of names that
// the compiler has shortened; both are taken from the text, which is never run. Versions are pinned in package.json.

import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import type { WasmCodec } from "./wasm-codec.ts";

/** The decoders that come as WebAssembly; `opus` encodes as well. */
const WASM_CODECS = ["opus", "mp3", "flac", "vorbis"] as const;
/** One of them. */
export type WasmCodecName = (typeof WASM_CODECS)[number];

/** The file in each package, seen from its entry: it is not among the exports. */
const FILES: Record<WasmCodecName, readonly [packageName: string, file: string]> = {
  opus: ["libopus-wasm", "./generated/libopus.generated.mjs"],
  mp3: ["mpg123-decoder", "./src/EmscriptenWasm.js"],
  flac: ["@wasm-audio-decoders/flac", "./src/EmscriptenWasm.js"],
  vorbis: ["@wasm-audio-decoders/ogg-vorbis", "./src/EmscriptenWasm.js"],
};
/** No module unpacks to more. */
const BINARY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The codec, compiled, for `startWasmCodec` on this thread or another. Not cached: each call reads and compiles again.
 * @throws Error when the package is missing, or is not built as its pinned version is
 */
export async function readWasmCodec(name: WasmCodecName): Promise<WasmCodec> {
  const [packageName, file] = FILES[name];
  const text = await readFile(new URL(file, import.meta.resolve(packageName)), "utf8");
  const binary = name === "opus" ? readPlainBinary(text) : await readPackedBinary(text);
  const names = (pattern: RegExp) => Array.from(text.matchAll(pattern), (match) => match.slice(1));
  const [startName] = names(/wasmExports\["(\w+)"\]\(\)/g)[0] ?? [];
  const [importList = ""] = names(/wasmImports ?= ?\{([^}]*)\}/g)[0] ?? [];
  if (startName === undefined) throw new Error(`${packageName} is not built as expected`);
  return {
    module: await WebAssembly.compile(binary),
    exportNames: Object.fromEntries(names(/(\w+) ?= ?(?:Module\["\w+"\] ?= ?)?wasmExports\["(\w+)"\](?!\()/g)),
    startName,
    importNames: Object.fromEntries(
      Array.from(importList.matchAll(/"?(\w+)"? ?: ?(\w+)/g), (match) => [match[1], match[2]]),
    ),
  };
}

/** `binaryDecode('…')`: a character per byte, those with a meaning in JavaScript behind a backslash. */
function readPlainBinary(text: string): Uint8Array {
  const mark = "binaryDecode('";
  const bytes = new Uint8Array(text.length);
  let size = 0;
  for (let at = text.indexOf(mark) + mark.length; at < text.length && text[at] !== "'"; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x5c) {
      // Zero is written as a character that is not a byte.
      bytes[size++] = code > 255 ? 0 : code;
      continue;
    }
    const escaped = text[++at];
    bytes[size++] = escaped === "n" ? 10 : escaped === "r" ? 13 : text.charCodeAt(at);
  }
  return bytes.subarray(0, size);
}

/**
 * `dynEncode01` offset(2) checksum(8) and bytes in yEnc: the offset added to each, "=" before one that is 64 more;
 * deflated.
 */
async function readPackedBinary(text: string): Promise<Uint8Array> {
  const mark = "dynEncode01";
  const start = text.indexOf(mark) + mark.length;
  const offset = Number.parseInt(text.slice(start, start + 2), 16);
  const bytes = new Uint8Array(text.length);
  let size = 0;
  for (let at = start + 10; at < text.length && text[at] !== "`"; at++) {
    const isEscaped = text[at] === "=";
    if (isEscaped) at += 1;
    bytes[size++] = text.charCodeAt(at) - (isEscaped ? 64 : 0) - offset;
  }
  return promisify(inflateRaw)(bytes.subarray(0, size), { maxOutputLength: BINARY_BYTES_MAX });
}
