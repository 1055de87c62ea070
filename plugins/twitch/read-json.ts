// Looks at parsed JSON of a stranger: whatever is not of the form that was hoped for reads as missing. Plugin thread.

export type Members = Readonly<Record<string, unknown>>;

/** Without members where it is no object. */
export function membersOf(value: unknown): Members {
  // An object of whose members nothing is known.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

/** Undefined for an empty text, too. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
