// What anything thrown says. Has no domain knowledge; all threads.

/** The message of an error; anything else thrown, as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
