// The filter of that name: `offset + scale * (sinOffset + sin(x * sinScale)) * (cosOffset + cos(…)) * (tanOffset + tan(…))`,
// cut to full scale, as upstream. What comes out depends on nothing but the sample that goes in, so it is read from a table
// made with the settings: three trigonometric functions per sample would cost five times as much. Audio thread; no
// allocation once made.

import type { AudioFilter } from "./audio-filter.ts";
import { clamp } from "./clamp.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { isPresent, numberSetting } from "./setting.ts";

const DEFAULTS = {
  sinOffset: 0,
  sinScale: 1,
  cosOffset: 0,
  cosScale: 1,
  tanOffset: 0,
  tanScale: 1,
  offset: 0,
  scale: 1,
} as const;
type Curve = Readonly<Record<keyof typeof DEFAULTS, number>>;
/** Where numbers are cut: beyond it the curve is noise anyway and its sines become slow. */
const SETTING_MAX = 1e6;

/** Rows per unit. The fine table holds each value of 16-bit sound exactly; it takes 256 kB and 1.5 ms to make. */
const COARSE_ROWS = 4096;
const FINE_ROWS = 32_768;
/** The coarse table is used where reading between its rows is wrong by less than this (-120 dB). */
const TABLE_ERROR_MAX = 1e-6;

class DistortionFilter implements AudioFilter {
  readonly #curve: Curve;
  readonly #table: Float32Array;

  constructor(curve: Curve, previous: DistortionFilter | undefined) {
    this.#curve = curve;
    this.#table = previous !== undefined && isSame(previous.#curve, curve) ? previous.#table : tableOf(curve);
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    const table = this.#table;
    const middle = (table.length - 2) / 2;
    for (let sample = 0; sample < lengthSamples; sample++) {
      // Beyond full scale the curve is not defined (upstream knows 16-bit sound only). The table has a row to spare.
      const l = (clamp(left[sample]!) + 1) * middle;
      const r = (clamp(right[sample]!) + 1) * middle;
      const leftRow = l | 0;
      const rightRow = r | 0;
      const leftBase = table[leftRow]!;
      const rightBase = table[rightRow]!;
      left[sample] = leftBase + (table[leftRow + 1]! - leftBase) * (l - leftRow);
      right[sample] = rightBase + (table[rightRow + 1]! - rightBase) * (r - rightRow);
    }
  }

  reset(): void {
    // Nothing is remembered.
  }
}

function tableOf(curve: Curve): Float32Array {
  const coarse = sampled(curve, COARSE_ROWS);
  return bend(coarse) / 8 <= TABLE_ERROR_MAX ? coarse : sampled(curve, FINE_ROWS);
}

/** The curve at -1, -1 + 1 / rowsPerUnit, … 1, and one row more. */
function sampled(curve: Curve, rowsPerUnit: number): Float32Array {
  const { sinOffset, cosOffset, tanOffset, offset, scale } = curve;
  const table = new Float32Array(2 * rowsPerUnit + 2);
  const pointers = [curve.sinScale, curve.cosScale, curve.tanScale].map((factor) => new Pointer(factor, rowsPerUnit));
  const [sinPointer, cosPointer, tanPointer] = pointers as [Pointer, Pointer, Pointer]; // three in, three out
  for (let row = 0; row <= 2 * rowsPerUnit; row++) {
    for (const pointer of pointers) pointer.moveTo(row);
    const sine = sinOffset + sinPointer.sine;
    const cosine = cosOffset + cosPointer.cosine;
    const tangent = tanOffset + tanPointer.sine / tanPointer.cosine;
    const value = offset + scale * sine * cosine * tangent;
    table[row] = Number.isNaN(value) ? 0 : clamp(value);
  }
  table[table.length - 1] = table[table.length - 2]!;
  return table;
}

/** Sine and cosine of `factor` times x, row by row; exact every 256 rows, turned by a fixed angle in between. */
class Pointer {
  sine = 0;
  cosine = 1;
  readonly #factor: number;
  readonly #rowsPerUnit: number;
  readonly #stepSine: number;
  readonly #stepCosine: number;

  constructor(factor: number, rowsPerUnit: number) {
    this.#factor = factor;
    this.#rowsPerUnit = rowsPerUnit;
    this.#stepSine = Math.sin(factor / rowsPerUnit);
    this.#stepCosine = Math.cos(factor / rowsPerUnit);
  }

  /** `row` is one more than at the last call, or a multiple of 256. */
  moveTo(row: number): void {
    if ((row & 255) === 0) {
      const angle = this.#factor * (row / this.#rowsPerUnit - 1);
      this.sine = Math.sin(angle);
      this.cosine = Math.cos(angle);
      return;
    }
    const { sine, cosine } = this;
    this.sine = sine * this.#stepCosine + cosine * this.#stepSine;
    this.cosine = cosine * this.#stepCosine - sine * this.#stepSine;
  }
}

/** Largest second difference: eight times what linear interpolation can be wrong by. */
function bend(table: Float32Array): number {
  let largest = 0;
  for (let row = 1; row < table.length - 2; row++) {
    largest = Math.max(largest, Math.abs(table[row - 1]! - 2 * table[row]! + table[row + 1]!));
  }
  return largest;
}

function curveOf(settings: unknown): Curve {
  const members = Object.entries(DEFAULTS).map(([member, fallback]) => [
    member,
    numberSetting(settings, member, { fallback, min: -SETTING_MAX, max: SETTING_MAX }),
  ]);
  return Object.fromEntries(members) as Curve; // one entry per member of the defaults
}

function isSame(one: Curve, other: Curve): boolean {
  return Object.keys(DEFAULTS).every((member) => Reflect.get(one, member) === Reflect.get(other, member));
}

export const distortion: FilterDefinition = {
  name: "distortion",
  isEnabled: (settings) => isPresent(settings) && !isSame(curveOf(settings), DEFAULTS),
  create: (settings, previous) =>
    new DistortionFilter(curveOf(settings), previous instanceof DistortionFilter ? previous : undefined),
};
