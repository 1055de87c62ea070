// Rules that every byte source keeps: how much may be read at once, and what a closed one says. Audio thread.

import { NodeError } from "../../errors.ts";

/**
 * Bound of a single read, which is copied in one go. The readers of containers take tables in pieces, and a packet at
 * most.
 */
export const READ_BYTES_MAX = 8 * 1024 * 1024;

export function readTooLargeError(lengthBytes: number): NodeError {
  return new NodeError("input-read-too-large", `reading ${lengthBytes} bytes at once: the file is damaged or hostile`);
}

/** NodeError "input-closed": no caller waits for the answer any more, so it is never shown. */
export function closedError(): NodeError {
  return new NodeError("input-closed", "reading from an input that was closed");
}
