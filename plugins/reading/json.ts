// Looks at parsed JSON of a stranger, for all plugins that come with the node: whatever is not of the form that was
// hoped for reads as missing. What texts may be, each site says by itself. Pure. Plugin threads.

/** An object of whose members nothing is known. */
export type Members = Readonly<Record<string, unknown>>;

/** An object, and no list. */
export function objectOf(value: unknown): Members | undefined {
  // Looked at here, and its members one by one by whoever takes them.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

/** Without members where it is no object. */
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

/** Empty for what is no list. */
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
