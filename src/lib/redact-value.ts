// Converts any value to plain values without secrets, fit for a log line, whatever the caller has passed. Checks names
// first and then texts (redact-text.ts); survives exceptions from foreign code, and always terminates. Has no domain
// knowledge; any thread.

import { REDACTED, redactText } from "./redact-text.ts";
import { isSecretName } from "./secret-names.ts";

const DEPTH_MAX = 6;
const CAUSES_MAX = 8;
/** Limit of the members of one list or object, and of the total. */
const MEMBERS_MAX = 200;
const NODES_MAX = 2000;
const TEXT_LENGTH_MAX = 256 * 1024;
const UNREADABLE = "<unreadable>";

/**
 * Redacts the fields of a log line. Top-level names are ours: `sessionId` there is the node's own, deeper it is
 * Discord's.
 */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const walk = new Walk();
  return Object.fromEntries(
    walk.members(fields).map(([name, value]) => {
      return [redactText(name), name === "sessionId" ? walk.value(value, 0) : walk.member(name, value, 0)];
    }),
  );
}

class Walk {
  #nodeCount = 0;
  #textLength = 0;

  value(value: unknown, depth: number): unknown {
    try {
      return this.#plain(value, depth);
    } catch {
      // A getter, a proxy or a toJSON that throws: the line is worth more than this member of it.
      return UNREADABLE;
    }
  }

  member(name: string, value: unknown, depth: number): unknown {
    const isNothing = value === undefined || value === null || typeof value === "boolean";
    return isSecretName(name) && !isNothing ? REDACTED : this.value(value, depth);
  }

  /** The object's own members; each is read on its own, so that one that throws costs only itself. */
  members(object: object): [string, unknown][] {
    return Object.keys(object)
      .slice(0, MEMBERS_MAX)
      .map((name) => {
        try {
          return [name, object[name as keyof typeof object]];
        } catch {
          // A getter that throws.
          return [name, UNREADABLE];
        }
      });
  }

  #plain(value: unknown, depth: number): unknown {
    if (++this.#nodeCount > NODES_MAX) return "…";
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "bigint" || typeof value === "symbol") return this.#text(String(value));
    if (typeof value === "function") return "<function>";
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Error) return this.#error(value);
    if (depth >= DEPTH_MAX) return "…";
    if (Array.isArray(value)) return this.#list(value, depth);
    // The content of bytes cannot be checked here, and a key consists of bytes.
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
      return `<${value.byteLength} bytes>`;
    }
    return this.#object(value, depth);
  }

  #text(text: string): string {
    this.#textLength += text.length;
    return this.#textLength > TEXT_LENGTH_MAX ? "…" : redactText(text);
  }

  #object(value: object, depth: number): unknown {
    if (value instanceof Set) return this.#list([...value], depth);
    if (isEntries(value)) return this.#entries([...value], depth);
    if (value instanceof RegExp || value instanceof String) return this.#text(String(value));
    // Secrets, dates, addresses and the like define how they are shown; the result is checked like any other value.
    if ("toJSON" in value && typeof value.toJSON === "function") return this.value(value.toJSON(), depth + 1);
    return this.#entries(this.members(value), depth);
  }

  #entries(entries: readonly (readonly [unknown, unknown])[], depth: number): Record<string, unknown> {
    const shown = entries.slice(0, MEMBERS_MAX).map(([key, member]) => {
      const name = typeof key === "object" && key !== null ? UNREADABLE : String(key);
      return [redactText(name), this.member(name, member, depth + 1)];
    });
    return Object.fromEntries(shown);
  }

  /** In lists of names and values, as raw headers are, the value follows its name. */
  #list(items: readonly unknown[], depth: number): unknown[] {
    return items.slice(0, MEMBERS_MAX).map((item, index) => {
      const before = items[index - 1];
      return typeof before === "string" && isSecretName(before) && typeof item === "string"
        ? REDACTED
        : this.value(item, depth + 1);
    });
  }

  #error(error: Error): Record<string, unknown> {
    const lines: string[] = [];
    let current: unknown = error;
    for (let depth = 0; depth < CAUSES_MAX && current !== undefined; depth++) {
      lines.push(depth === 0 ? errorText(current) : `caused by: ${errorText(current)}`);
      if (current instanceof AggregateError) lines.push(...[...current.errors].slice(0, CAUSES_MAX).map(errorText));
      current = current instanceof Error ? current.cause : undefined;
    }
    const code = "code" in error ? { code: this.value(error.code, DEPTH_MAX) } : {};
    return { ...code, message: this.value(error.message, 0), stack: redactText(lines.join("\n")) };
  }
}

function isEntries(value: object): value is Iterable<readonly [unknown, unknown]> {
  return (
    value instanceof Map || value instanceof URLSearchParams || value instanceof Headers || value instanceof FormData
  );
}

/** With its stack where it is an error; never throws. */
function errorText(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : redactCause(error);
  } catch {
    // Its stack is a getter that throws, or is not a text.
    return UNREADABLE;
  }
}

/** A thrown value that is not an error: as text, an object would say only `[object Object]`. */
function redactCause(cause: unknown): string {
  return typeof cause === "object" && cause !== null
    ? (JSON.stringify(new Walk().value(cause, 0)) ?? "")
    : String(cause);
}
