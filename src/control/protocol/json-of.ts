// The parts that the schemas of this folder share, and the type derived from a schema. Main thread. Files that need
// only a type use a type import, and so load neither the schemas nor their library.

import { z } from "zod";
import type { JsonInteger, JsonObject } from "../../lib/json.ts";

/** The type of the JSON that a schema describes. Nothing in it is written to. */
export type JsonOf<Schema extends z.ZodType> = Immutable<z.output<Schema>>;

/** `true` for two types with the same members, each with the same values; else nothing is one. */
export type Same<One, Other> = [One, keyof One] extends [Other, keyof Other]
  ? [Other, keyof Other] extends [One, keyof One]
    ? true
    : never
  : never;

type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? { readonly [Member in keyof Value]: Immutable<Value[Member]> }
    : Value;

/** Any text. */
export const text = z.string();
/** Beyond 2^53 too, so not the integer of the library, which ends there. */
export const int64 = z.custom<JsonInteger>().meta({ type: "integer", format: "int64" });
/** A whole number, 0 or more. */
export const count = z.int().min(0);
/** Any JSON object. */
export const openObject = z.custom<JsonObject>().meta({ type: "object" });
/** A share of the whole, 0 to 1. */
export const share = z.number().min(0).max(1);
