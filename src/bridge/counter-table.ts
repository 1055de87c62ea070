// Counters declared in a table: the record that counts them, what it has gained since the last report, and sums over
// reports all derive from the table. Both sides.

/** How one counter is declared. */
export interface CounterField {
  /** Prometheus name behind `tonearm_`. */
  readonly metric: string;
  /** Prometheus help text. */
  readonly help: string;
  /** Counted for each value of this label; undefined: one number. */
  readonly label?: { readonly name: string; readonly values: readonly string[] };
  /**
   * A histogram: the sum of all observations, then their number in each class (above the bound before, up to this one),
   * and the number beyond the last bound.
   */
  readonly boundsMs?: readonly number[];
}

/** The counters of a table, by name. */
export type CounterFields = Readonly<Record<string, CounterField>>;

/** A number per counter, a record of numbers per counter with a label, and a list of numbers per histogram. */
export type CountsOf<Fields extends CounterFields> = {
  -readonly [Name in keyof Fields]: Fields[Name] extends {
    readonly label: { readonly values: readonly (infer Value extends string)[] };
  }
    ? Record<Value, number>
    : Fields[Name] extends { readonly boundsMs: readonly number[] }
      ? number[]
      : number;
};

/** Pairs of a number's place in its table and its increase, one after the other. Made by `take`, read by `add`. */
export type Increases = readonly number[];

/** Where a number is in a record of counts: the counter, and its label value or histogram class. */
interface Cell {
  readonly name: string;
  readonly part: string | number | undefined;
}

/** Counts seen by cells. */
type CellValues = Record<string, number | Record<string | number, number>>;

/** Both threads have the same table, so that its order defines what `Increases` mean. */
export class CounterTable<const Fields extends CounterFields> {
  readonly fields: Fields;
  readonly #cells: readonly Cell[];

  constructor(fields: Fields) {
    this.fields = fields;
    this.#cells = Object.entries<CounterField>(fields).flatMap(([name, field]) =>
      partsOf(field).map((part) => ({ name, part })),
    );
  }

  /** A new record, all 0. */
  zero(): CountsOf<Fields> {
    const counts: Record<string, unknown> = {};
    for (const [name, field] of Object.entries<CounterField>(this.fields)) {
      const parts = partsOf(field);
      if (field.label !== undefined) counts[name] = Object.fromEntries(parts.map((part) => [part, 0]));
      else counts[name] = field.boundsMs === undefined ? 0 : parts.map(() => 0);
    }
    return counts as CountsOf<Fields>; // as the type derives it from the same fields
  }

  /** Returns the counts that are not 0 and sets them to 0; undefined: there are none. */
  take(counts: CountsOf<Fields>): Increases | undefined {
    const values = counts as CellValues;
    let increases: number[] | undefined;
    for (let index = 0; index < this.#cells.length; index++) {
      const cell = this.#cells[index]!;
      const increase = read(values, cell);
      if (increase === 0) continue;
      increases ??= [];
      increases.push(index, increase);
      write(values, cell, 0);
    }
    return increases;
  }

  /** Adds what was taken from another record. */
  add(sum: CountsOf<Fields>, increases: Increases): void {
    const values = sum as CellValues;
    for (let at = 0; at + 1 < increases.length; at += 2) {
      const cell = this.#cells[increases[at]!];
      if (cell !== undefined) write(values, cell, read(values, cell) + increases[at + 1]!);
    }
  }

  /** Makes no number of `counts` smaller than in `least`. */
  raise(counts: CountsOf<Fields>, least: CountsOf<Fields>): void {
    for (const cell of this.#cells) {
      const value = read(least as CellValues, cell);
      if (value > read(counts as CellValues, cell)) write(counts as CellValues, cell, value);
    }
  }
}

function partsOf({ label, boundsMs }: CounterField): readonly (string | number | undefined)[] {
  if (label !== undefined) return label.values;
  return boundsMs === undefined ? [undefined] : Array.from({ length: boundsMs.length + 2 }, (_, index) => index);
}

// The cells of a table exist in each record of its counts.

function read(values: CellValues, { name, part }: Cell): number {
  return part === undefined ? (values[name] as number) : (values[name] as Record<string | number, number>)[part]!;
}

function write(values: CellValues, { name, part }: Cell, value: number): void {
  if (part === undefined) values[name] = value;
  else (values[name] as Record<string | number, number>)[part] = value;
}
