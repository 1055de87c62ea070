// Plain data that nobody can change any more. A leaf, any thread.

/** Freezes lists and objects to their leaves, and returns them. What is frozen already is taken to be so to its leaves. */
export function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === "object" && member !== null && !Object.isFrozen(member)) deepFreeze(member);
  }
  return Object.freeze(value);
}
