// How one configured text becomes a value: number, flag, name from a list, address block. File, environment and command
// line all go through these, so a value means the same wherever it is written. Main thread, at start.

import { parseFlag } from "../../lib/flag-words.ts";
import { parseIpAddress, parseIpBlock } from "../../lib/ip-block.ts";
import { parseBaseUrl } from "../../lib/parse-url.ts";
import { Secret } from "./secret.ts";

/** A parsed value; with a `warning` when it had to be adjusted. */
interface Parsed<T> {
  readonly value: T;
  readonly warning?: string;
}

export interface ValueType<T> {
  /** Completes "expected …" in an error message. */
  readonly expected: string;
  /** Undefined when the text is not such a value. */
  parse(text: string): Parsed<T> | undefined;
  /** The text that would parse to `value`, for messages and the example file; undefined for secrets. */
  format(value: T): string | undefined;
}

export interface IntegerOptions {
  readonly min: number;
  readonly max: number;
  /** A number outside the range becomes this one, with a warning. Without it such a number is an error. */
  readonly outsideValue?: number;
}

/** A whole number in a range, both ends included. */
export function integerType(options: IntegerOptions): ValueType<number> {
  const { min, max, outsideValue } = options;
  return {
    expected: `a whole number from ${min} to ${max}`,
    parse(text) {
      if (!/^[+-]?\d{1,15}$/.test(text.trim())) return undefined;
      const value = Number(text);
      if (value >= min && value <= max) return { value };
      if (outsideValue === undefined) return undefined;
      return { value: outsideValue, warning: `is outside ${min} to ${max}, using ${outsideValue}` };
    },
    format: String,
  };
}

export const flagType: ValueType<boolean> = {
  expected: "true or false",
  parse(text) {
    const value = parseFlag(text);
    return value === undefined ? undefined : { value };
  },
  format: String,
};

export const textType: ValueType<string> = {
  expected: "a text",
  parse: (text) => ({ value: text }),
  format: (value) => value,
};

/** A text that is never shown. An empty text counts as not set. */
export const secretType: ValueType<Secret | undefined> = {
  expected: "a text",
  parse: (text) => ({ value: text === "" ? undefined : new Secret(text) }),
  format: () => undefined,
};

/** One of a few names, in any mix of upper and lower case. */
export function choiceType<T extends string>(names: readonly T[]): ValueType<T> {
  return {
    expected: `one of ${names.join(", ")}`,
    parse(text) {
      const written = text.trim().toLowerCase();
      const value = names.find((name) => name.toLowerCase() === written);
      return value === undefined ? undefined : { value };
    },
    format: (value) => value,
  };
}

export const addressType: ValueType<string> = {
  expected: "an IP address such as 192.0.2.7 or 2001:db8::7",
  parse: (text) => (parseIpAddress(text.trim()) === undefined ? undefined : { value: text.trim() }),
  format: (value) => value,
};

/** First segments of the paths that are taken by the protocol. */
const TAKEN_PATHS = /^(v3|v4|version|plugins|loadtracks|decodetracks?|routeplanner|youtube|dashboard)(\/|$)/;

/** The path of a route outside the protocol's, with a leading slash; or empty. */
export const freePathType: ValueType<string> = {
  expected: "a path such as /metrics that neither the protocol nor the dashboard uses, or nothing",
  parse(text) {
    const path = text.trim().replace(/^\//, "");
    if (path === "") return { value: "" };
    if (!/^[\w.~-]+(\/[\w.~-]+)*$/.test(path) || TAKEN_PATHS.test(path)) return undefined;
    return { value: `/${path}` };
  },
  format: (value) => value,
};

export const addressBlockType: ValueType<string> = {
  expected: "an address block such as 10.0.0.0/8 or 2001:db8::/48, or a single IP address",
  parse: (text) => (parseIpBlock(text.trim()) === undefined ? undefined : { value: text.trim() }),
  format: (value) => value,
};

/** A host name in lower case. A variable's name has underscores where the dots are; no host has any. */
export const hostNameType: ValueType<string> = {
  expected: "a host name such as www.example.com",
  parse(text) {
    const host = text.trim().toLowerCase().replaceAll("_", ".");
    const isHost = host.length <= 253 && /^[a-z\d-]{1,63}(\.[a-z\d-]{1,63})*$/.test(host);
    return isHost ? { value: host } : undefined;
  },
  format: (value) => value,
};

/** A track's `sourceName`, in lower case; the list of sources is known only after plugins have been loaded. */
export const sourceNameType: ValueType<string> = {
  expected: "the name of a source such as youtube",
  parse(text) {
    const value = text.trim().toLowerCase();
    return /^[\w.-]{1,64}$/.test(value) ? { value } : undefined;
  },
  format: (value) => value,
};

/** The base URL of a server: scheme, host, port and the beginning of all paths, without a trailing slash. */
export const baseUrlType: ValueType<string> = {
  expected: "an address such as http://192.0.2.7:8080, without user, query and fragment",
  parse(text) {
    const value = parseBaseUrl(text);
    return value === undefined ? undefined : { value };
  },
  format: (value) => value,
};
