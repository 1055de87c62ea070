// Reads members of a filter's settings. The control side has checked and filled them in; here a value that is no usable
// number becomes its default all the same, so that nothing a client sends can break the sound. Audio thread.

/** `settings[member]` cut to `min` … `max`, or `fallback` where it is missing or not a finite number. */
export function numberSetting(
  settings: unknown,
  member: string,
  { fallback, min = -Number.MAX_VALUE, max = Number.MAX_VALUE }: { fallback: number; min?: number; max?: number },
): number {
  const value: unknown = typeof settings === "object" && settings !== null ? Reflect.get(settings, member) : undefined;
  if (typeof value !== "number" || !Number.isFinite(value)) return fallback;
  return Math.min(Math.max(value, min), max);
}

/** True when the filter is there at all: `null` is the same as absent. */
export function isPresent(settings: unknown): boolean {
  return typeof settings === "object" && settings !== null;
}
