// Reads what a server has answered without believing it: each reader gives a value of the form it promises, or
// undefined. Pure. Plugin threads; shared by the plugins for servers of the operator's own.

import { type Members, objectOf } from "../reading/json.ts";

/** Titles and names are cut here; real ones have some hundred characters. */
const TEXT_LENGTH_MAX = 4096;
/** Entries of a list that are read; further ones are ignored. */
const ITEMS_MAX = 20_000;

/** A text that is not empty; numbers count as texts, for ids are either. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, TEXT_LENGTH_MAX) : undefined;
}

/** A finite number, not below 0. */
export function amountOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** The objects of a list; servers that make JSON of XML write a list of one as that one. */
export function itemsOf(value: unknown): readonly Members[] {
  const list: readonly unknown[] = Array.isArray(value) ? value.slice(0, ITEMS_MAX) : [value];
  return list.map(objectOf).filter((item) => item !== undefined);
}
