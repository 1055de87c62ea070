// Reads untrusted parsed JSON, for all built-in plugins: a value of an unexpected form reads as missing. Limits on
// texts are up to each site. Pure. Plugin threads.

/** An object whose members are not checked yet. */
export type Members = Readonly<Record<string, unknown>>;

/** Undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says what it is instead.
    return undefined;
  }
}

/** An object, and no list. */
export function objectOf(value: unknown): Members | undefined {
  // Checked to be an object here; its members are checked by the reader.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

/** Without members where it is not an object. */
export function membersOf(value: unknown): Members {
  return objectOf(value) ?? {};
}

/** The entries of a list that are objects, of the first `countMax`. */
export function objectsOf(value: unknown, countMax: number): Members[] {
  return listOf(value)
    .slice(0, countMax)
    .map(objectOf)
    .filter((entry) => entry !== undefined);
}

/** Empty if the value is not a list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A finite number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A text without the blanks around it; undefined for a blank one. */
export function trimmedText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}
