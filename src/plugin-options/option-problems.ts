// Gathers what is wrong with the options of a plugin: each with its path, never with a value. Any thread.

import { closestName } from "../lib/closest-name.ts";

/** More mistakes than this are counted, not told. */
const TOLD_MAX = 50;
const SHOWN_NAME_LENGTH_MAX = 60;

/** Where in the options something stands. */
export interface OptionPlace {
  /** `plugins.youtube.remoteCipher`, `plugins.x.servers[0]`. */
  readonly path: string;
  /** Of groups around it. */
  readonly depth: number;
}

export class OptionProblems {
  readonly #told: string[] = [];
  #untoldCount = 0;
  #isTooMuchTold = false;

  add({ path }: Pick<OptionPlace, "path">, message: string): void {
    if (this.#told.length < TOLD_MAX) this.#told.push(`${path}: ${message}`);
    else this.#untoldCount++;
  }

  unknown({ path }: OptionPlace, name: string, known: readonly string[]): void {
    const closest = this.#told.length < TOLD_MAX ? closestName(name, known) : undefined;
    const hint = closest === undefined ? "" : `; did you mean ${closest}?`;
    this.add({ path: `${path}.${shownName(name)}` }, `there is no such option${hint}`);
  }

  /** Told once: whatever follows would say the same. */
  tooMuch(place: OptionPlace): void {
    if (!this.#isTooMuchTold) this.add(place, "the options are too deep or too many");
    this.#isTooMuchTold = true;
  }

  all(): readonly string[] {
    return this.#untoldCount === 0 ? this.#told : [...this.#told, `and ${this.#untoldCount} more`];
  }
}

/** A name that somebody has written, as it can stand in a path. */
export function shownName(name: string): string {
  const short = name.length > SHOWN_NAME_LENGTH_MAX ? `${name.slice(0, SHOWN_NAME_LENGTH_MAX)}…` : name;
  return /^[\w-]+…?$/.test(short) ? short : JSON.stringify(short);
}
