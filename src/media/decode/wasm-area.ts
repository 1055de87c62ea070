// An area of fixed size in a codec's own memory that passes packets in and audio out. MP3, FLAC and Vorbis have one
// instance per decoder, whose functions are called directly: the packages' own methods copy every packet's audio three
// times and log damage to the console; docs/decisions/codecs.md has the measurements. Audio thread.

import type { WasmCodecInstance } from "../../lib/wasm-codec.ts";

/** `pointer` is passed to the codec's functions, `view` is the same memory in JavaScript. Freed with the instance. */
export interface WasmArea<T> {
  readonly pointer: number;
  readonly view: T;
}

interface Allocating {
  _malloc(sizeBytes: number): number;
}

/** `lengthItems` of 32 bits. Their instances do not grow, so the view stays valid. */
export function integerArea(codec: WasmCodecInstance<Allocating>, lengthItems: number): WasmArea<Uint32Array> {
  const pointer = allocate(codec, 4 * lengthItems);
  return { pointer, view: new Uint32Array(codec.heap.buffer, pointer, lengthItems) };
}

/** Allocates an area of 32-bit floats. */
export function floatArea(codec: WasmCodecInstance<Allocating>, lengthItems: number): WasmArea<Float32Array> {
  const pointer = allocate(codec, 4 * lengthItems);
  return { pointer, view: new Float32Array(codec.heap.buffer, pointer, lengthItems) };
}

/** Allocates an area of bytes. */
export function byteArea(codec: WasmCodecInstance<Allocating>, lengthItems: number): WasmArea<Uint8Array> {
  const pointer = allocate(codec, lengthItems);
  return { pointer, view: new Uint8Array(codec.heap.buffer, pointer, lengthItems) };
}

function allocate({ functions }: WasmCodecInstance<Allocating>, sizeBytes: number): number {
  const pointer = functions._malloc(sizeBytes);
  if (pointer === 0) throw new Error("a decoder has no memory to start");
  return pointer;
}
