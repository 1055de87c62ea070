// Reads members of what SoundCloud has answered: undefined for whatever has not the form that is asked for, so that
// nothing of a stranger's JSON is trusted. Plugin thread.

export type JsonObject = Readonly<Record<string, unknown>>;

/** An object, and no list. */
export function objectOf(value: unknown): JsonObject | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as JsonObject; // looked at in the line above
}

/** The entries of a list that are objects, of the first `countMax`. */
export function objectsOf(value: unknown, countMax: number): JsonObject[] {
  if (!Array.isArray(value)) return [];
  return value
    .slice(0, countMax)
    .map(objectOf)
    .filter((entry) => entry !== undefined);
}

/** A text that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** An id: a whole number, or its digits. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
  return typeof value === "string" && /^[1-9]\d{0,19}$/.test(value) ? value : undefined;
}

/** Milliseconds. */
export function durationOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : undefined;
}

/** An address that a client may be shown. */
export function webAddressOf(value: unknown): string | undefined {
  const text = textOf(value);
  return text !== undefined && text.length <= 2048 && /^https?:\/\/[^\s"<>]+$/i.test(text) ? text : undefined;
}

/** The address that a text is. Node's own `URL.canParse` is at times wrong about hosts outside of ASCII. */
export function urlOf(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    // Wrong text from clients and servers is nothing special.
    return undefined;
  }
}
