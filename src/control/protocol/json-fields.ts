// The field types of request bodies, with the leniency of the published parser (protocol-v4.md section 1.5): numbers
// and booleans may be written as strings, `50.0` is not an integer, numbers are not strings. Main thread; they check what
// `parseJson` returns, and describe themselves for OpenAPI by their `meta`.

import { z } from "zod";
import { INT64_MAX, INT64_MIN } from "../../lib/int64.ts";
import {
  JsonDecimal,
  type JsonInteger,
  type JsonObject,
  type JsonTree,
  type JsonValue,
  plainJson,
  toJsonInteger,
} from "../../lib/json.ts";

const INTEGER_TEXT = /^[+-]?\d{1,20}$/;
/** No digit can be matched in two ways, so a text that is not a number is rejected in one pass. */
const DECIMAL_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
/** A number written as a text is not longer. */
const NUMBER_TEXT_LENGTH_MAX = 400;

const INT32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
const INT64 = { min: INT64_MIN, max: INT64_MAX };

/** -2^31 to 2^31 - 1, as a number without a fraction or a text of digits. */
export const int32Field = field("integer", { type: "integer", format: "int32" }, (value) => {
  const integer = readInteger(value, INT32);
  return integer === undefined ? undefined : Number(integer);
});

/** Exact over the whole range: a bigint beyond 2^53. */
export const int64Field = field("integer", { type: "integer", format: "int64" }, (value): JsonInteger | undefined => {
  const integer = readInteger(value, INT64);
  return integer === undefined ? undefined : toJsonInteger(integer);
});

/** Finite, as a number or the text of one. */
export const float64Field = field("number", { type: "number", format: "double" }, readDecimal);

/** Rounded to 32 bits and back, so that it is echoed as clients know it: 0.3333333333 becomes 0.33333334. */
export const float32Field = field("number", { type: "number", format: "float" }, (value) => {
  const decimal = readDecimal(value);
  return decimal === undefined ? undefined : roundToFloat32(decimal);
});

/** `true` and `false`, also as texts in any case. */
export const booleanField = field("boolean", { type: "boolean" }, (value) => {
  if (typeof value === "boolean") return value;
  const text = typeof value === "string" ? value.toLowerCase() : undefined;
  return text === "true" || text === "false" ? text === "true" : undefined;
});

/** Enough for all that is a name, an id or a token. */
const TEXT_LENGTH_MAX = 4096;

/** At most 4,096 characters. */
export const textField = longTextField(TEXT_LENGTH_MAX);

/** At most `lengthMax` characters (UTF-16 units). */
export function longTextField(lengthMax: number) {
  return z.string().max(lengthMax);
}

/**
 * At most `countMax` items, counted before the first is checked. With `isItem` nothing behind the first invalid item is
 * checked either: long lists need it, as each wrong item costs more than a right one.
 */
export function listField<Item extends z.ZodType>(
  item: Item,
  { countMax, isItem = () => true }: { countMax: number; isItem?: (value: unknown) => boolean },
) {
  return z.preprocess((value, context) => {
    if (!Array.isArray(value)) return value;
    if (value.length > countMax) {
      context.addIssue({ code: "too_big", origin: "array", maximum: countMax, input: value });
      return z.NEVER;
    }
    const wrong = value.findIndex((candidate) => !isItem(candidate));
    return wrong < 0 ? value : value.slice(0, wrong + 1);
  }, z.array(item).max(countMax));
}

/** Any JSON object, stored unchanged. */
export const objectField = field(
  "object",
  { type: "object" },
  // plainJson turns objects into objects
  (value): JsonObject | undefined => (isObject(value) ? (plainJson(value) as JsonObject) : undefined),
);

/** Any JSON array, stored unchanged. */
export const arrayField = field("array", { type: "array" }, (value): readonly JsonValue[] | undefined =>
  Array.isArray(value) ? value.map(plainJson) : undefined,
);

/** A field whose value `read` returns, or undefined when it is of another type. */
function field<Value>(name: string, meta: z.core.GlobalMeta, read: (value: JsonTree) => Value | undefined) {
  return z
    .custom<JsonTree>((value) => value !== undefined && read(value as JsonTree) !== undefined, `not a ${name}`)
    .transform((value) => read(value) as Value) // checked just before
    .meta(meta);
}

function readInteger(value: JsonTree, range: { min: bigint; max: bigint }): bigint | undefined {
  let integer: bigint;
  if (typeof value === "bigint") integer = value;
  else if (typeof value === "number") integer = BigInt(value);
  else if (typeof value === "string" && INTEGER_TEXT.test(value)) integer = BigInt(value.replace("+", ""));
  else return undefined;
  return integer >= range.min && integer <= range.max ? integer : undefined;
}

/** Undefined also for a value too large for a number: it would be infinite. */
function readDecimal(value: JsonTree): number | undefined {
  const decimal = decimalOf(value);
  return decimal !== undefined && Number.isFinite(decimal) ? decimal : undefined;
}

function decimalOf(value: JsonTree): number | undefined {
  if (value instanceof JsonDecimal) return value.value;
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  const isDecimal = typeof value === "string" && value.length <= NUMBER_TEXT_LENGTH_MAX && DECIMAL_TEXT.test(value);
  return isDecimal ? Number(value) : undefined;
}

/** The shortest decimal that is the same 32-bit float, or undefined if there is none. */
function roundToFloat32(value: number): number | undefined {
  const float = Math.fround(value);
  if (!Number.isFinite(float)) return undefined;
  if (Number.isInteger(float)) return float;
  for (let digits = 6; digits <= 9; digits++) {
    const decimal = Number(float.toPrecision(digits));
    if (Math.fround(decimal) === float) return decimal;
  }
  return float;
}

function isObject(value: JsonTree): value is { [key: string]: JsonTree } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonDecimal);
}
