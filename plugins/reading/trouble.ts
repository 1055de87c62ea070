// Errors of sites that a load goes on with. Pure. Plugin threads.

import { SourceError } from "../../src/plugin-api/plugin.ts";

/** The value, or the SourceError that it rejects with. Rejects with the reason of `signal`, and with any other error. */
export async function valueOrTrouble<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | SourceError> {
  try {
    return await value;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SourceError) return error;
    throw error;
  }
}
