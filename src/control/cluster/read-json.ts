// Reads what another machine has written. Main thread.

/** Undefined: it is no JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // as documented
  }
}
