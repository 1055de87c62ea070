// The password check (protocol-v4.md section 1.2). Main thread; used for REST and for the WebSocket handshake.

import { createHash, timingSafeEqual } from "node:crypto";

export type Authorization = "granted" | "missing" | "wrong";

/** Makes a check that takes the same time whatever is sent. The password itself is not kept. */
export function createPasswordCheck(password: string): (header: string | undefined) => Authorization {
  // Node reads header bytes as Latin-1. Most clients send UTF-8, some Latin-1: for other than ASCII that differs.
  const accepted = [digest(Buffer.from(password, "utf8")), digest(Buffer.from(password, "latin1"))];
  return (header) => {
    if (header === undefined) return "missing";
    const given = digest(Buffer.from(header, "latin1"));
    const matches = accepted.filter((expected) => timingSafeEqual(given, expected));
    return matches.length > 0 ? "granted" : "wrong";
  };
}

/** Digests have one length, which the comparison needs. */
function digest(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}
