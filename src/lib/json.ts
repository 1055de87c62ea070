// JSON as the protocol needs it: 64-bit integers survive in both directions, and `50` can be distinguished from `50.0`.
// Used wherever JSON enters or leaves the node on the main thread. Has no domain knowledge.

/** An integer of any size: a number while that is exact, a bigint beyond 2^53. */
export type JsonInteger = number | bigint;

/** The values that `stringifyJson` writes exactly, and that `plainJson` makes of a parsed text. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;
/** `__proto__` is a member like any other: nothing that was read reaches a prototype. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** The result of `parseJson`: as JsonValue, but numbers written with a point stay recognisable. */
export type JsonTree =
  | null
  | boolean
  | number
  | bigint
  | string
  | JsonDecimal
  | JsonTree[]
  | { [key: string]: JsonTree };

/** Nesting beyond this is refused, so that a body of brackets cannot exhaust the stack. */
const DEPTH_MAX = 200;
/** Whatever was read can be written, with an answer around it. */
const WRITTEN_DEPTH_MAX = DEPTH_MAX + 50;
/** Limit of values and keys in one text: memory and parsing time depend on their number. */
const VALUE_COUNT_MAX = 16_384;
/** Limit of characters in one number. Converting digits to an integer takes time quadratic in their number. */
const NUMBER_LENGTH_MAX = 400;

/** Limit of characters in one text, which is copied out of the whole. An encoded track has at most half as many. */
const STRING_LENGTH_MAX = 2 * 1024 * 1024;

/** A text that is refused for its size, whether it is JSON or not. */
export class JsonLimitError extends SyntaxError {}

/** A number that was written with a decimal point, or is not an integer. */
export class JsonDecimal {
  /** The nearest double; finite. */
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  toJSON(): number {
    return this.value;
  }
}

/**
 * Parses strict JSON (RFC 8259) or throws a SyntaxError; a JsonLimitError for more than `valueCountMax` values and keys
 * (default 16,384), 200 levels, 400 characters of one number, or `stringLengthMax` of one text (default 2 Mi). Takes time in proportion to the
 * text. The last of equal keys wins.
 */
export function parseJson(
  text: string,
  { valueCountMax = VALUE_COUNT_MAX, stringLengthMax = STRING_LENGTH_MAX } = {},
): JsonTree {
  return new Reader(text, { valueCountMax, stringLengthMax }).document();
}

/** Converts a parsed tree to plain values: `1.0` becomes 1. */
export function plainJson(tree: JsonTree): JsonValue {
  if (tree instanceof JsonDecimal) return tree.value;
  if (Array.isArray(tree)) return tree.map(plainJson);
  if (typeof tree !== "object" || tree === null) return tree;
  const plain: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(tree)) setKey(plain, key, plainJson(value));
  return plain;
}

/** `JSON.stringify` that writes bigints as their digits. Only values that hold a bigint pay for it. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The engine refuses bigints with a TypeError, and only then is the slow writer needed; a cycle ends up there too
    // and is refused by its depth bound.
    if (error instanceof TypeError) return writeValue(value, 0) ?? "null";
    throw error;
  }
}

/** The approximate memory of a value, in bytes. */
export function jsonSizeBytes(value: JsonValue): number {
  if (typeof value === "string") return 16 + Buffer.byteLength(value);
  if (typeof value === "bigint") return 16 + value.toString().length;
  if (typeof value === "number") return 16;
  if (typeof value !== "object" || value === null) return 8;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + 8 + jsonSizeBytes(item), 32);
  let sizeBytes = 56;
  for (const [key, item] of Object.entries(value)) sizeBytes += 32 + Buffer.byteLength(key) + jsonSizeBytes(item);
  return sizeBytes;
}

/** The number nearest to `value` for arithmetic; exact within 2^53. */
export function toNumber(value: JsonInteger): number {
  return Number(value);
}

/** A number while that is exact, else the bigint itself. */
export function toJsonInteger(value: bigint): JsonInteger {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function writeValue(value: unknown, depth: number): string | undefined {
  if (depth > WRITTEN_DEPTH_MAX) throw new RangeError("cannot write JSON nested this deeply");
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (value instanceof JsonDecimal) return JSON.stringify(value.value);
  if (Array.isArray(value)) return `[${value.map((item) => writeValue(item, depth + 1) ?? "null").join(",")}]`;
  const members: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    const text = writeValue(item, depth + 1);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WHITESPACE = /[ \t\n\r]*/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

class Reader {
  readonly #text: string;
  readonly #valueCountMax: number;
  readonly #stringLengthMax: number;
  #at = 0;
  #valueCount = 0;

  constructor(
    text: string,
    { valueCountMax, stringLengthMax }: { readonly valueCountMax: number; readonly stringLengthMax: number },
  ) {
    this.#text = text;
    this.#valueCountMax = valueCountMax;
    this.#stringLengthMax = stringLengthMax;
  }

  document(): JsonTree {
    const value = this.#value(0);
    this.#skipWhitespace();
    if (this.#at !== this.#text.length) this.#fail();
    return value;
  }

  #value(depth: number): JsonTree {
    if (depth > DEPTH_MAX)
      throw new JsonLimitError(`the JSON is nested too deeply: at most ${DEPTH_MAX} levels are read`);
    this.#count();
    this.#skipWhitespace();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"':
        return this.#string();
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): JsonTree {
    const result: Record<string, JsonTree> = {};
    this.#at++;
    if (this.#take("}")) return result;
    do {
      this.#skipWhitespace();
      this.#count();
      const key = this.#string();
      if (!this.#take(":")) this.#fail();
      setKey(result, key, this.#value(depth + 1));
    } while (this.#take(","));
    if (!this.#take("}")) this.#fail();
    return result;
  }

  #array(depth: number): JsonTree {
    const result: JsonTree[] = [];
    this.#at++;
    if (this.#take("]")) return result;
    do result.push(this.#value(depth + 1));
    while (this.#take(","));
    if (!this.#take("]")) this.#fail();
    return result;
  }

  #string(): string {
    if (this.#text[this.#at] !== '"') this.#fail();
    const end = this.#endOfString();
    if (end - this.#at > this.#stringLengthMax) {
      throw new JsonLimitError(`a text in the JSON has more than ${this.#stringLengthMax} characters`);
    }
    // The engine's parser decodes the escapes, and refuses wrong ones and control characters. Its result is a copy: a
    // slice of the text would keep the whole text in memory.
    const value = JSON.parse(this.#text.slice(this.#at, end + 1)) as string; // quotes around it: a string or an error
    this.#at = end + 1;
    return value;
  }

  /** The position of the closing quote of the string that starts here. */
  #endOfString(): number {
    const quote = this.#text.indexOf('"', this.#at + 1);
    if (quote < 0) this.#fail();
    if (this.#text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const unit = this.#text.charCodeAt(at);
      if (unit === QUOTE) return at;
      if (unit === BACKSLASH) at++;
    }
    return this.#fail();
  }

  #word<Value>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) this.#fail();
    this.#at += word.length;
    return value;
  }

  #number(): JsonTree {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (match === null) return this.#fail();
    this.#at = NUMBER.lastIndex;
    const [text, fraction, exponent] = match;
    if (text.length > NUMBER_LENGTH_MAX) {
      throw new JsonLimitError(`a number in the JSON has more than ${NUMBER_LENGTH_MAX} characters`);
    }
    if (fraction === undefined && exponent === undefined) {
      return text.length < 16 ? Number(text) : toJsonInteger(BigInt(text));
    }
    const value = Number(text);
    if (!Number.isFinite(value)) this.#fail();
    return fraction === undefined && Number.isSafeInteger(value) ? value : new JsonDecimal(value);
  }

  #count(): void {
    if (++this.#valueCount > this.#valueCountMax) {
      throw new JsonLimitError(`the JSON has too many values: at most ${this.#valueCountMax} are read`);
    }
  }

  #take(character: string): boolean {
    this.#skipWhitespace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skipWhitespace(): void {
    WHITESPACE.lastIndex = this.#at;
    WHITESPACE.test(this.#text);
    this.#at = WHITESPACE.lastIndex;
  }

  #fail(): never {
    throw new SyntaxError(`unexpected JSON at offset ${this.#at}`);
  }
}

/** Assignment that treats `__proto__` as a name like any other. */
function setKey<Value>(target: Record<string, Value>, key: string, value: Value): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}
