// Small readers for what yt-dlp prints: a member that is missing or of another kind is undefined. Plugin thread.

import { webAddressIn } from "../reading/address.ts";

/** A text that is not blank, cut at `lengthMax`; a number counts as one. */
export function textOf(value: unknown, lengthMax = 1000): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text.trim() !== "" ? text.trim().slice(0, lengthMax) : undefined;
}

/** An address with http or https, as URL writes it. */
export function webAddressOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 8192) return undefined;
  return webAddressIn(value)?.href;
}
