// One-time passwords by time (RFC 6238: HMAC-SHA-1, 30 s, six digits). Pure. Plugin thread.

import { createHmac } from "node:crypto";

const STEP_MS = 30_000;
const DIGITS = 6;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The password at `nowMs` (epoch milliseconds) for a secret in Base32. */
export function oneTimePassword(secret: string, nowMs: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / STEP_MS)));
  const hash = createHmac("sha1", bytesOf(secret)).update(counter).digest();
  const start = (hash.at(-1) ?? 0) & 0xf;
  const number = hash.readUInt32BE(start) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

/** Ignores characters that are not Base32. */
function bytesOf(base32: string): Buffer {
  const digits = [...base32.toUpperCase()].map((digit) => BASE32.indexOf(digit)).filter((value) => value >= 0);
  const bits = digits.map((value) => value.toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
