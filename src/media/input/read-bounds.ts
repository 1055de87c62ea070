// Rules that every byte source keeps: how much may be read at once, and what a closed one says. Audio thread.

import { NodeError } from "../../errors.ts";

/** Bound of a single read. The largest honest pieces are indexes of long videos, some ten MiB. */
export const READ_BYTES_MAX = 64 * 1024 * 1024;

export function readTooLargeError(lengthBytes: number): NodeError {
  return new NodeError("input-read-too-large", `reading ${lengthBytes} bytes at once: the file is damaged or hostile`);
}

export function closedError(): NodeError {
  return new NodeError("input-closed", "reading from an input that was closed");
}
