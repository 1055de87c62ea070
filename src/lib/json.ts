// JSON as the protocol needs it: 64-bit integers survive in both directions, and `50` can be told from `50.0`. Used at
// every place where JSON enters or leaves the node on the main thread. A leaf without domain knowledge.

/** An integer of any size: a number while that is exact, a bigint beyond 2^53. */
export type JsonInteger = number | bigint;

export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** What `parseJson` returns: as JsonValue, but numbers written with a point stay recognisable. */
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

/** A number that was written with a decimal point, or is no integer. */
export class JsonDecimal {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  toJSON(): number {
    return this.value;
  }
}

/** Parses strict JSON (RFC 8259) or throws a SyntaxError. The last of equal keys wins. */
export function parseJson(text: string): JsonTree {
  return new Reader(text).document();
}

/** Turns a parsed tree into plain values: `1.0` becomes 1. */
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
  if (depth > DEPTH_MAX) throw new RangeError("cannot write JSON nested this deeply");
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
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonTree {
    const value = this.#value(0);
    this.#skipWhitespace();
    if (this.#at !== this.#text.length) this.#fail();
    return value;
  }

  #value(depth: number): JsonTree {
    if (depth > DEPTH_MAX) throw new SyntaxError("JSON is nested too deeply");
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
    let end = this.#at;
    do {
      end = this.#text.indexOf('"', end + 1);
      if (end < 0) this.#fail();
    } while (this.#isEscaped(end));
    // The engine's parser undoes the escapes, and refuses wrong ones and control characters.
    const value = JSON.parse(this.#text.slice(this.#at, end + 1)) as string; // quotes around it: a string or an error
    this.#at = end + 1;
    return value;
  }

  #isEscaped(at: number): boolean {
    let first = at;
    while (this.#text[first - 1] === "\\") first--;
    return (at - first) % 2 === 1;
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
    if (fraction === undefined && exponent === undefined) {
      return text.length < 16 ? Number(text) : toJsonInteger(BigInt(text));
    }
    const value = Number(text);
    if (!Number.isFinite(value)) this.#fail();
    return fraction === undefined && Number.isSafeInteger(value) ? value : new JsonDecimal(value);
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
