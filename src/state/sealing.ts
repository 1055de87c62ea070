// Encryption of the state's values: AES-256-GCM with a random nonce each, and the record's key as additional data, so
// that a value is only valid where it was written. Between the store and the database; main thread.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Random } from "../lib/random.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** What a sealed value is longer than its text. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

/** Encrypts and decrypts the values of one database. */
export class Sealing {
  readonly #key: Uint8Array;
  readonly #random: Random;
  readonly #check: Buffer;

  /** `master`: 32 secret bytes. `salt`: of the database; another one is another key. */
  constructor(master: Uint8Array, salt: Uint8Array, random: Random) {
    this.#key = new Uint8Array(hkdfSync("sha256", master, salt, "tonearm state: values", KEY_BYTES));
    this.#random = random;
    const checkKey = new Uint8Array(hkdfSync("sha256", master, salt, "tonearm state: check", KEY_BYTES));
    this.#check = createHmac("sha256", checkKey).digest();
  }

  /** Recognises the key, and does not reveal it. */
  get check(): string {
    return this.#check.toString("hex");
  }

  /** True for the `check` of the same key and salt. */
  isCheck(text: string): boolean {
    const other = Buffer.from(text, "hex");
    return other.length === this.#check.length && timingSafeEqual(other, this.#check);
  }

  /** Nonce, tag, and the encrypted text, of `SEAL_BYTES` more bytes than the text. */
  seal(key: string, text: string): Buffer {
    const nonce = this.#random.bytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce);
    cipher.setAAD(Buffer.from(key));
    const body = cipher.update(text, "utf8");
    cipher.final();
    return Buffer.concat([nonce, cipher.getAuthTag(), body]);
  }

  /** The text; undefined for anything that `seal` did not make for this record. */
  open(key: string, sealed: Uint8Array): string | undefined {
    if (sealed.length < SEAL_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key, sealed.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(key));
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, SEAL_BYTES));
    const body = decipher.update(sealed.subarray(SEAL_BYTES));
    try {
      decipher.final();
    } catch {
      return undefined;
    }
    return body.toString("utf8");
  }
}

/** A number of 48 bits that differs between any two sealed values: part of their tag. */
export function markOf(sealed: Uint8Array): number {
  const { buffer, byteOffset } = sealed;
  return Buffer.from(buffer, byteOffset, SEAL_BYTES).readUIntBE(NONCE_BYTES, 6);
}
