// Records of counters by name. Both sides.

/** A new record with 0 for each name, in their order. */
export function zeroCounts<Name extends string>(names: readonly Name[]): Record<Name, number> {
  const counts = {} as Record<Name, number>; // complete after the loop
  for (const name of names) counts[name] = 0;
  return counts;
}
