// Parses the text of an option with a single value: text, number, flag, choice, address of a server. Any thread.

import { parseFlag } from "../lib/flag-words.ts";
import { parseBaseUrl } from "../lib/parse-url.ts";
import type { PlainTree } from "../lib/plain-tree.ts";
import type { OptionType } from "../plugin-api/plugin.ts";

const TEXT_LENGTH_MAX = 65_536;
const WHOLE_NUMBER = /^[+-]?\d{1,15}$/;
/** Any number that JavaScript writes is of this form. */
const DECIMAL_NUMBER = /^[+-]?(\d{1,21}(\.\d{0,25})?|\.\d{1,25})(e[+-]?\d{1,3})?$/i;

/** An option with a single value. */
export type LeafOption = Exclude<OptionType, { readonly type: "group" | "groups" | "named" | "texts" }>;

type TextualOption = Extract<LeafOption, { readonly type: "text" | "secret" | "server" }>;

interface ParsedLeaf {
  readonly value?: string | number | boolean;
  readonly problem?: string;
}

/** True for options whose value is free text. */
export function isTextual(type: LeafOption): type is TextualOption {
  return type.type === "text" || type.type === "secret" || type.type === "server";
}

/** The value, or a description of the expected value; never the value found. */
export function parseLeaf(type: LeafOption, raw: PlainTree): ParsedLeaf {
  if (typeof raw === "string" && raw.length > TEXT_LENGTH_MAX) {
    return { problem: `expected at most ${TEXT_LENGTH_MAX} characters` };
  }
  const value = typeof raw === "string" ? meaningOf(type, raw) : undefined;
  return value === undefined ? { problem: `expected ${expectedOf(type)}` } : { value };
}

/** The one that is meant, in any case. */
export function nameIn(names: readonly string[], text: string): string | undefined {
  return names.find((name) => name.toLowerCase() === text.trim().toLowerCase());
}

function meaningOf(type: LeafOption, text: string): string | number | boolean | undefined {
  switch (type.type) {
    case "text":
    case "secret":
      return text;
    case "server":
      return parseBaseUrl(text);
    case "flag":
      return parseFlag(text);
    case "choice":
      return nameIn(type.names, text);
    default: {
      const pattern = type.type === "integer" ? WHOLE_NUMBER : DECIMAL_NUMBER;
      const value = pattern.test(text.trim()) ? Number(text) : Number.NaN;
      return value >= type.min && value <= type.max ? value : undefined;
    }
  }
}

function expectedOf(type: LeafOption): string {
  switch (type.type) {
    case "text":
    case "secret":
      return "a text";
    case "server":
      return "the address of a server such as http://192.0.2.7:8080, without user, query and fragment";
    case "flag":
      return "true or false";
    case "choice":
      return `one of ${type.names.join(", ")}`;
    default:
      return `${type.type === "integer" ? "a whole number" : "a number"} from ${type.min} to ${type.max}`;
  }
}
