// Makes plain data immutable. Has no domain knowledge; any thread.

/**
 * Freezes lists and objects to their leaves, and returns them. A frozen object is assumed to be frozen to its leaves.
 */
export function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === "object" && member !== null && !Object.isFrozen(member)) deepFreeze(member);
  }
  return Object.freeze(value);
}
