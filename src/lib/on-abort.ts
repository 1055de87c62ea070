// Reacts to an abort signal, also to one that has aborted already. A leaf, on all threads.

/**
 * Calls `react` once when `signal` aborts: within this call if it already has. Returns what stops listening, for when
 * the work is over; a signal that outlives its work would keep every listener.
 */
export function onAbort(signal: AbortSignal, react: () => void): () => void {
  if (signal.aborted) {
    react();
    return () => undefined;
  }
  signal.addEventListener("abort", react, { once: true });
  return () => signal.removeEventListener("abort", react);
}
