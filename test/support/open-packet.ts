// Decrypts packets as a voice server receives them (discord-voice.md sections 2.2 and 2.3), with the libraries'
// functions.

import { createDecipheriv } from "node:crypto";
import sodium from "libsodium-wrappers";
import type { EncryptionMode } from "../../src/media/pacer/transport-encryption.ts";

/** The payload of a packet. Throws when it cannot be decrypted with that key; await `sodium.ready` before. */
export function openPacket(mode: EncryptionMode, key: Uint8Array, packet: Buffer): Buffer {
  const header = packet.subarray(0, 12);
  const sealed = packet.subarray(12, -4);
  const suffix = packet.subarray(-4);
  if (mode === "aead_xchacha20_poly1305_rtpsize") {
    const nonce = Buffer.concat([suffix, Buffer.alloc(20)]);
    return Buffer.from(sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, sealed, header, nonce, key));
  }
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.concat([suffix, Buffer.alloc(8)]));
  decipher.setAAD(header);
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
}
