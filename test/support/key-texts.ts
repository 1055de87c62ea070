// Texts on a configuration key, for the two documents that are made from the keys.

import type { Key } from "../../src/config/keys/key.ts";
import { variableNameOf } from "../../src/config/reading/key-names.ts";

/** The allowed values of a key, its unit and the default, in one sentence. */
export function factOf({ docs, defaultText, expected }: Key<unknown>): string {
  const unit = docs.unit === undefined ? "" : ` (${docs.unit})`;
  const defaultValue = docs.defaultNote ?? (defaultText === "" ? "empty" : String(defaultText));
  return `${expected.slice(0, 1).toUpperCase()}${expected.slice(1)}${unit}; default: ${defaultValue}.`;
}

/** The usual environment variable; of a key with names below it, the part that they have in common. */
export function variableTextOf(key: Key<unknown>): string {
  return `${variableNameOf(key)}${key.shape === "map" || key.shape === "tree" ? "_…" : ""}`;
}

/** Lines of at most so many columns, but for words that are longer. */
export function wrap(text: string, columns: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last.length + word.length + 1 > columns) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
