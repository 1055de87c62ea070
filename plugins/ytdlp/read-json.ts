// Small readers for what yt-dlp prints: a member that is missing or of another kind is undefined. Plugin thread.

export type JsonRecord = Readonly<Record<string, unknown>>;

/** Undefined: no object. */
export function recordOf(value: unknown): JsonRecord | undefined {
  // Only its members are looked at, one by one.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRecord) : undefined;
}

/** The objects of a list, `countMax` at most; of anything else none. */
export function recordsOf(value: unknown, countMax: number): readonly JsonRecord[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, countMax).flatMap((item): JsonRecord[] => {
    const record = recordOf(item);
    return record === undefined ? [] : [record];
  });
}

/** A text that is not blank, cut at `lengthMax`; a number counts as one. */
export function textOf(value: unknown, lengthMax = 1000): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text.trim() !== "" ? text.trim().slice(0, lengthMax) : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** An address with http or https, as URL writes it. */
export function webAddressOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 8192) return undefined;
  try {
    const { protocol, href } = new URL(value);
    return protocol === "http:" || protocol === "https:" ? href : undefined;
  } catch {
    return undefined;
  }
}
