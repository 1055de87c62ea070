// Reads members of SoundCloud's answers, which are untrusted: undefined for any value of another form. Plugin thread.

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
