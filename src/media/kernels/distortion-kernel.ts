// The distortion's inner loops and their memory, one for all distortions of the thread, which load their tables one
// after the other. WebAssembly where the processor has SIMD, else the same in plain JavaScript. Audio thread.

import { clamp } from "../format/clamp.ts";
import { F32_BYTES, F64_BYTES, KERNEL_SAMPLES } from "./numbers/block.ts";
import {
  CURVE_ANGLES,
  CURVE_BYTES,
  CURVE_COS_OFFSET,
  CURVE_OFFSET,
  CURVE_SCALE,
  CURVE_SIN_OFFSET,
  CURVE_STEPS,
  CURVE_TAN_OFFSET,
  DISTORTION_LEFT,
  DISTORTION_RIGHT,
  DISTORTION_TABLE,
  ROW_VALUE_MAX,
} from "./numbers/distortion.ts";
import { WasmKernel } from "./wasm-loop.ts";

/**
 * `offset + scale * (sinOffset + sin(x * sinScale)) * (cosOffset + cos(x * cosScale)) * (tanOffset + tan(x *
 * tanScale))`.
 */
export interface Curve {
  readonly sinOffset: number;
  readonly sinScale: number;
  readonly cosOffset: number;
  readonly cosScale: number;
  readonly tanOffset: number;
  readonly tanScale: number;
  readonly offset: number;
  readonly scale: number;
}

/** Rows per unit. The fine table holds each value of 16-bit audio exactly; it takes 256 kB and 1 ms to compute. */
const COARSE_ROWS = 4096;
const FINE_ROWS = 32_768;
/** The coarse table is used where reading between its rows is wrong by less than this (-120 dB). */
const TABLE_ERROR_MAX = 1e-6;
/** Angles advance by a fixed step from row to row, and are exact again after this many. */
const EXACT_ROWS = 256;
/** The curve at -1, -1 + 1 / rowsPerUnit, … 1, and one row more. */
const rowCountOf = (rowsPerUnit: number) => 2 * rowsPerUnit + 2;
const SIZE_BYTES = DISTORTION_TABLE + rowCountOf(FINE_ROWS) * F32_BYTES;

/** The exports of assembly/distortion.ts. */
interface Loops {
  fill(row: number, count: number): void;
  bend(rows: number): number;
  shape(count: number, middle: number): void;
}

const WASM = new WasmKernel<Loops>("distortion");

/** Audio goes in and out through `left` and `right`. */
export class DistortionKernel {
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly #curve: Float64Array;
  readonly #table: Float32Array;
  readonly #loops: Loops | undefined;
  /** The table that is in `#table` now. */
  #loaded: Float32Array | undefined;

  /** `isSimd` false forces the plain loops (for tests). */
  constructor({ isSimd = true }: { readonly isSimd?: boolean } = {}) {
    const { memory, exports } = WASM.createLoop({ isSimd, sizeBytes: SIZE_BYTES });
    this.left = new Float32Array(memory, DISTORTION_LEFT, KERNEL_SAMPLES);
    this.right = new Float32Array(memory, DISTORTION_RIGHT, KERNEL_SAMPLES);
    this.#curve = new Float64Array(memory, CURVE_ANGLES, CURVE_BYTES / F64_BYTES);
    this.#table = new Float32Array(memory, DISTORTION_TABLE, rowCountOf(FINE_ROWS));
    this.#loops = exports;
  }

  /** A table of the curve, coarse when that is exact enough. */
  makeTable(curve: Curve): Float32Array {
    this.#loaded = undefined;
    this.#fill(curve, COARSE_ROWS);
    const isCoarseEnough = this.#bend(2 * COARSE_ROWS) / 8 <= TABLE_ERROR_MAX;
    if (!isCoarseEnough) this.#fill(curve, FINE_ROWS);
    return this.#table.slice(0, rowCountOf(isCoarseEnough ? COARSE_ROWS : FINE_ROWS));
  }

  /** Processes the first `count` samples of `left` and `right` in place, with a table of `makeTable`. */
  run(table: Float32Array, count: number): void {
    if (this.#loaded !== table) {
      this.#table.set(table);
      this.#loaded = table;
    }
    const middle = table.length / 2 - 1;
    if (this.#loops !== undefined) this.#loops.shape(count, middle);
    else this.#shapePlainly(count, middle);
  }

  #fill(curve: Curve, rowsPerUnit: number): void {
    const end = rowCountOf(rowsPerUnit);
    for (let row = 0; row < end; row += EXACT_ROWS) {
      const count = Math.min(EXACT_ROWS, end - row);
      if (this.#loops === undefined) this.#fillPlainly(curve, rowsPerUnit, { row, count });
      else {
        this.#writeCurve(curve, { x: row / rowsPerUnit - 1, step: 1 / rowsPerUnit });
        this.#loops.fill(row, count);
      }
    }
  }

  #writeCurve(curve: Curve, { x, step }: { readonly x: number; readonly step: number }): void {
    const write = (address: number, value: number) => {
      this.#curve[(address - CURVE_ANGLES) / F64_BYTES] = value;
    };
    for (const [index, scale] of [curve.sinScale, curve.cosScale, curve.tanScale].entries()) {
      const angle = 2 * F64_BYTES * index;
      write(CURVE_ANGLES + angle, Math.sin(scale * x));
      write(CURVE_ANGLES + angle + F64_BYTES, Math.cos(scale * x));
      write(CURVE_STEPS + angle, Math.sin(scale * step));
      write(CURVE_STEPS + angle + F64_BYTES, Math.cos(scale * step));
    }
    write(CURVE_SIN_OFFSET, curve.sinOffset);
    write(CURVE_COS_OFFSET, curve.cosOffset);
    write(CURVE_TAN_OFFSET, curve.tanOffset);
    write(CURVE_OFFSET, curve.offset);
    write(CURVE_SCALE, curve.scale);
  }

  #bend(rows: number): number {
    if (this.#loops !== undefined) return this.#loops.bend(rows);
    const table = this.#table;
    let largest = 0;
    for (let row = 1; row <= rows; row++) {
      const [a, b, c] = [table[row - 1]!, table[row]!, table[row + 1]!];
      if (Math.min(a, b, c) >= 1 || Math.max(a, b, c) <= -1) continue;
      largest = Math.max(largest, Math.abs(a + c - 2 * b));
    }
    return largest;
  }

  #fillPlainly(curve: Curve, rowsPerUnit: number, rows: { readonly row: number; readonly count: number }): void {
    for (let row = rows.row; row < rows.row + rows.count; row++) {
      const x = row / rowsPerUnit - 1;
      const sine = curve.sinOffset + Math.sin(x * curve.sinScale);
      const cosine = curve.cosOffset + Math.cos(x * curve.cosScale);
      const tangent = curve.tanOffset + Math.tan(x * curve.tanScale);
      const value = curve.offset + curve.scale * sine * cosine * tangent;
      this.#table[row] = Number.isNaN(value) ? 0 : Math.min(Math.max(value, -ROW_VALUE_MAX), ROW_VALUE_MAX);
    }
  }

  #shapePlainly(count: number, middle: number): void {
    const table = this.#table;
    for (const audio of [this.left, this.right]) {
      for (let sample = 0; sample < count; sample++) {
        const address = (clamp(audio[sample]!) + 1) * middle;
        const row = Math.floor(address);
        const base = table[row]!;
        audio[sample] = clamp(base + (table[row + 1]! - base) * (address - row));
      }
    }
  }
}

let shared: DistortionKernel | undefined;

/** The thread's kernel, created when it is first needed. */
export function sharedDistortionKernel(): DistortionKernel {
  shared ??= new DistortionKernel();
  return shared;
}
