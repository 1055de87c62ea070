// DAVE's key ratchet and frame format written down once more from discord-voice.md sections 3.6 and 3.7, over
// node:crypto
// only: the measure for test vectors, and the opener of frames for an MLS library that knows nothing of DAVE.

import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

interface RatchetStep {
  /** AES-128 key of this generation. */
  readonly key: Buffer;
  /** Secret of the next generation. */
  readonly nextSecret: Buffer;
}

/** Key and next secret of the secret of generation `generation`; the base secret is that of generation 0. */
export function stepRatchet(secret: Buffer, generation: number): RatchetStep {
  const context = Buffer.alloc(4);
  context.writeUInt32BE(generation);
  return {
    key: expandWithLabel(secret, { label: "key", context, length: 16 }),
    nextSecret: expandWithLabel(secret, { label: "secret", context, length: 32 }),
  };
}

/** Opus frame to DAVE frame, with the nonce counter `counter`. */
export function sealFrame(key: Buffer, counter: number, opus: Buffer): Buffer {
  const cipher = createCipheriv("aes-128-gcm", key, frameIv(counter));
  const ciphertext = Buffer.concat([cipher.update(opus), cipher.final()]);
  const nonce = encodeUleb128(counter);
  const supplementalBytes = 8 + nonce.length + 3;
  const trailer = Buffer.from([supplementalBytes, 0xfa, 0xfa]);
  return Buffer.concat([ciphertext, cipher.getAuthTag().subarray(0, 8), nonce, trailer]);
}

/** DAVE frame to Opus frame; throws when the tag is wrong. */
export function openFrame(key: Buffer, frame: Buffer): Buffer {
  const supplementalBytes = frame[frame.length - 3] ?? 0;
  const end = frame.length - supplementalBytes;
  const counter = decodeUleb128(frame.subarray(end + 8, -3));
  const decipher = createDecipheriv("aes-128-gcm", key, frameIv(counter), { authTagLength: 8 });
  decipher.setAuthTag(frame.subarray(end, end + 8));
  return Buffer.concat([decipher.update(frame.subarray(0, end)), decipher.final()]);
}

function frameIv(counter: number): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeUInt32LE(counter, 8);
  return iv;
}

function encodeUleb128(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>>= 7;
  } while (rest > 0);
  return Buffer.from(bytes);
}

function decodeUleb128(bytes: Buffer): number {
  return bytes.reduce((value, byte, index) => value + (byte & 0x7f) * 2 ** (7 * index), 0);
}

/** RFC 9420 section 8, with HKDF-Expand by hand: the base secret is shorter than node's `hkdf` requires. */
function expandWithLabel(
  secret: Buffer,
  { label, context, length }: { readonly label: string; readonly context: Buffer; readonly length: number },
): Buffer {
  const name = Buffer.from(`MLS 1.0 ${label}`);
  const lengthBytes = Buffer.from([length >> 8, length & 0xff]);
  const info = Buffer.concat([lengthBytes, Buffer.from([name.length]), name, Buffer.from([context.length]), context]);
  const block = createHmac("sha256", secret)
    .update(info)
    .update(Buffer.from([1]))
    .digest();
  return block.subarray(0, length);
}
