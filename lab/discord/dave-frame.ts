// Distinguishes DAVE-encrypted frames from plain Opus by their trailer, as a receiver does (discord-voice.md section
// 3.6):
//
//     | ciphertext | tag 8 | nonce ULEB128 1..5 | size u8 | FA FA |
//                  |<------------ "supplemental", size bytes ----------->|

const SUPPLEMENTAL_BYTES_MIN = 11;
const TAG_BYTES = 8;
const TRAILER_BYTES = 3;

export function isDaveFrame(frame: Buffer): boolean {
  const length = frame.length;
  if (length < SUPPLEMENTAL_BYTES_MIN || frame[length - 1] !== 0xfa || frame[length - 2] !== 0xfa) return false;
  const sizeBytes = frame[length - 3]!;
  if (sizeBytes < SUPPLEMENTAL_BYTES_MIN || sizeBytes > length) return false;
  return hasNonce(frame.subarray(length - sizeBytes + TAG_BYTES, length - TRAILER_BYTES));
}

/**
 * True when the bytes start with a complete ULEB128 number of at most 5 bytes. Opus frames have no ranges behind it.
 */
function hasNonce(bytes: Buffer): boolean {
  const end = bytes.findIndex((byte) => (byte & 0x80) === 0);
  return end >= 0 && end < 5;
}
