// The reference of an MLS key package (RFC 9420 section 5.2), by which a Welcome names the key package that it answers.
// Used by mls-group.ts, on the audio thread.

import { createHash } from "node:crypto";

const LABEL = Buffer.from("MLS 1.0 KeyPackage Reference");

/** The reference of a bare key package, as op 26 carries it: 32 bytes. */
export function keyPackageRefOf(keyPackage: Buffer): Buffer {
  const hash = createHash("sha256");
  for (const part of [LABEL, keyPackage]) hash.update(encodeLength(part.length)).update(part);
  return hash.digest();
}

/** The length prefix of an MLS vector, for less than 16 KiB. */
function encodeLength(length: number): Buffer {
  return length < 0x40 ? Buffer.from([length]) : Buffer.from([0x40 | (length >> 8), length & 0xff]);
}
