// Opens the transport encryption of RTP packets ("rtpsize" modes): clear header as associated data, 16-byte tag, then
// the 4 bytes of the nonce (discord-voice.md section 2.3). XChaCha20-Poly1305 is HChaCha20 here plus node:crypto's
// ChaCha20-Poly1305, so that it shares no code with a node that uses libsodium.

import { createDecipheriv } from "node:crypto";

export const TRANSPORT_MODES = ["aead_aes256_gcm_rtpsize", "aead_xchacha20_poly1305_rtpsize"] as const;
export type TransportMode = (typeof TRANSPORT_MODES)[number];

export const RTP_HEADER_BYTES = 12;
/** Tag and nonce suffix behind the ciphertext. */
export const TRANSPORT_TRAILER_BYTES = 16 + 4;

const TAG_BYTES = 16;
const NONCE_SUFFIX_BYTES = 4;
const ZERO_IV = Buffer.alloc(12);
/** "expand 32-byte k" as four little-endian words. */
const CHACHA_CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;

/** The decrypted payload, or undefined when the packet is too short or its tag is wrong. */
export function openTransport(mode: TransportMode, secretKey: Buffer, packet: Buffer): Buffer | undefined {
  const clearBytes = clearHeaderBytes(packet);
  const sealedEnd = packet.length - TRANSPORT_TRAILER_BYTES;
  if (sealedEnd < clearBytes) return undefined;
  const suffix = packet.subarray(packet.length - NONCE_SUFFIX_BYTES);
  const sealed = packet.subarray(clearBytes, sealedEnd);
  const decipher =
    mode === "aead_aes256_gcm_rtpsize"
      ? createDecipheriv("aes-256-gcm", secretKey, aesNonce(suffix), { authTagLength: TAG_BYTES })
      : createDecipheriv("chacha20-poly1305", hChaCha20(secretKey, xChaChaNonceStart(suffix)), ZERO_IV, {
          authTagLength: TAG_BYTES,
        });
  decipher.setAAD(packet.subarray(0, clearBytes), { plaintextLength: sealed.length });
  decipher.setAuthTag(packet.subarray(sealedEnd, sealedEnd + TAG_BYTES));
  const opened = decipher.update(sealed);
  try {
    decipher.final();
  } catch {
    return undefined; // wrong tag: the caller reports it
  }
  return opened;
}

/** 12 bytes, 4 per contributing source, and 4 for the preamble of a header extension. */
function clearHeaderBytes(packet: Buffer): number {
  const flags = packet[0] ?? 0;
  return RTP_HEADER_BYTES + 4 * (flags & 0x0f) + ((flags & 0x10) === 0 ? 0 : 4);
}

function aesNonce(suffix: Buffer): Buffer {
  const nonce = Buffer.alloc(12);
  suffix.copy(nonce);
  return nonce;
}

/** The first 16 of the 24 bytes; the other 8 are zero, as is the 4-byte counter in front of them: ZERO_IV. */
function xChaChaNonceStart(suffix: Buffer): Buffer {
  const nonce = Buffer.alloc(16);
  suffix.copy(nonce);
  return nonce;
}

/** HChaCha20 (draft-irtf-cfrg-xchacha-03 section 2.2): a 32-byte subkey from a 32-byte key and 16 bytes of nonce. */
export function hChaCha20(key: Buffer, nonce: Buffer): Buffer {
  const state = new Int32Array(16);
  for (let word = 0; word < 4; word++) {
    state[word] = CHACHA_CONSTANTS[word]!;
    state[12 + word] = nonce.readInt32LE(4 * word);
  }
  for (let word = 0; word < 8; word++) state[4 + word] = key.readInt32LE(4 * word);
  for (let round = 0; round < 10; round++) doubleRound(state);
  const subkey = Buffer.alloc(32);
  for (let word = 0; word < 4; word++) {
    subkey.writeInt32LE(state[word]!, 4 * word);
    subkey.writeInt32LE(state[12 + word]!, 16 + 4 * word);
  }
  return subkey;
}

function doubleRound(state: Int32Array): void {
  quarterRound(state, 0, 4, 8, 12);
  quarterRound(state, 1, 5, 9, 13);
  quarterRound(state, 2, 6, 10, 14);
  quarterRound(state, 3, 7, 11, 15);
  quarterRound(state, 0, 5, 10, 15);
  quarterRound(state, 1, 6, 11, 12);
  quarterRound(state, 2, 7, 8, 13);
  quarterRound(state, 3, 4, 9, 14);
}

// Five positional parameters: the four word indices belong together, written as RFC 8439 section 2.1 writes them.
function quarterRound(state: Int32Array, a: number, b: number, c: number, d: number): void {
  let wordA = state[a]!;
  let wordB = state[b]!;
  let wordC = state[c]!;
  let wordD = state[d]!;
  wordA = (wordA + wordB) | 0;
  wordD = rotateLeft(wordD ^ wordA, 16);
  wordC = (wordC + wordD) | 0;
  wordB = rotateLeft(wordB ^ wordC, 12);
  wordA = (wordA + wordB) | 0;
  wordD = rotateLeft(wordD ^ wordA, 8);
  wordC = (wordC + wordD) | 0;
  wordB = rotateLeft(wordB ^ wordC, 7);
  state[a] = wordA;
  state[b] = wordB;
  state[c] = wordC;
  state[d] = wordD;
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
