// Collects the problems with the options of a plugin: each with its path, never with a value. Any thread.

import { closestName } from "../lib/closest-name.ts";

/** Further mistakes are only counted. */
const REPORTED_MAX = 50;
const SHOWN_NAME_LENGTH_MAX = 60;

/** Where in the options something stands. */
export interface OptionLocation {
  /** `plugins.youtube.remoteCipher`, `plugins.x.servers[0]`. */
  readonly path: string;
  /** Number of enclosing groups. */
  readonly depth: number;
}

export class OptionProblems {
  readonly #reported: string[] = [];
  #unreportedCount = 0;
  #isTooMuchReported = false;

  add({ path }: Pick<OptionLocation, "path">, message: string): void {
    if (this.#reported.length < REPORTED_MAX) this.#reported.push(`${path}: ${message}`);
    else this.#unreportedCount++;
  }

  unknown({ path }: OptionLocation, name: string, known: readonly string[]): void {
    const closest = this.#reported.length < REPORTED_MAX ? closestName(name, known) : undefined;
    const hint = closest === undefined ? "" : `; did you mean ${closest}?`;
    this.add({ path: `${path}.${shownName(name)}` }, `there is no such option${hint}`);
  }

  /** Reported once: further reports would say the same. */
  tooMuch(location: OptionLocation): void {
    if (!this.#isTooMuchReported) this.add(location, "the options are too deep or too many");
    this.#isTooMuchReported = true;
  }

  all(): readonly string[] {
    return this.#unreportedCount === 0 ? this.#reported : [...this.#reported, `and ${this.#unreportedCount} more`];
  }
}

/** A name that a user wrote, shortened and escaped for use in a path. */
export function shownName(name: string): string {
  const short = name.length > SHOWN_NAME_LENGTH_MAX ? `${name.slice(0, SHOWN_NAME_LENGTH_MAX)}…` : name;
  return /^[\w-]+…?$/.test(short) ? short : JSON.stringify(short);
}
