// The password check (protocol-v4.md section 1.2). Main thread; used for REST and for the WebSocket handshake.

import { createHash, timingSafeEqual } from "node:crypto";

export type Authorization = "granted" | "missing" | "wrong";

/** Makes a check that takes the same time whatever is sent. The password itself is not kept. */
export function createPasswordCheck(password: string): (header: string | undefined) => Authorization {
  const expected = digest(password);
  return (header) => {
    if (header === undefined) return "missing";
    return timingSafeEqual(digest(header), expected) ? "granted" : "wrong";
  };
}

/** Digests have one length, which the comparison needs. Node reads header bytes as Latin-1. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}
