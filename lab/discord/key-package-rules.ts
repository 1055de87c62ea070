// The gateway's requirements for a key package before its owner may join a group (discord-voice.md section 4.5).

import { createPublicKey, verify } from "node:crypto";
import { CIPHER_SUITE, encodeVector, type KeyPackage, MLS_VERSION } from "./mls-codec.ts";

const LIFETIME_END = 2n ** 64n - 1n;
const POINT_BYTES = 65;

/** The problem with a key package of `userId`, or undefined. */
export function keyPackageProblem(keyPackage: KeyPackage, userId: string): string | undefined {
  const { leaf } = keyPackage;
  if (keyPackage.version !== MLS_VERSION) return `MLS version ${keyPackage.version} instead of 1`;
  if (keyPackage.cipherSuite !== CIPHER_SUITE) return `ciphersuite ${keyPackage.cipherSuite} instead of 2`;
  if (leaf.credentialType !== 1) return `credential type ${leaf.credentialType} instead of 1 (basic)`;
  const owner = leaf.identity.length === 8 ? String(leaf.identity.readBigUInt64BE(0)) : leaf.identity.toString("hex");
  if (owner !== userId) return `identity ${owner} instead of ${userId}`;
  if (leaf.source !== 1) return `leaf source ${leaf.source} instead of 1 (key package)`;
  if (leaf.notBefore !== 0n || leaf.notAfter !== LIFETIME_END) {
    return `lifetime ${leaf.notBefore} to ${leaf.notAfter} instead of 0 to 2^64-1`;
  }
  if (leaf.extensions.length + keyPackage.extensions.length > 0) return "it carries extensions";
  if (!holds(leaf.versions, MLS_VERSION)) return "capabilities do not name MLS version 1";
  if (!holds(leaf.cipherSuites, CIPHER_SUITE)) return "capabilities do not name ciphersuite 2";
  if (!holds(leaf.credentials, 1)) return "capabilities do not name basic credentials";
  if (leaf.signatureKey.length !== POINT_BYTES) return `signature key of ${leaf.signatureKey.length} bytes`;
  const { signatureKey } = leaf;
  if (!isSigned("MLS 1.0 LeafNodeTBS", signatureKey, leaf)) return "signature of the leaf node is wrong";
  if (!isSigned("MLS 1.0 KeyPackageTBS", signatureKey, keyPackage)) return "signature of the key package is wrong";
  return undefined;
}

/** True when a list of u16 holds `value`. */
function holds(list: Buffer, value: number): boolean {
  for (let offset = 0; offset + 2 <= list.length; offset += 2) if (list.readUInt16BE(offset) === value) return true;
  return false;
}

interface Signed {
  readonly signedBytes: Buffer;
  readonly signature: Buffer;
}

/** Checks SignWithLabel of RFC 9420 section 5.1.2 (ECDSA P-256, DER). */
function isSigned(label: string, point: Buffer, { signedBytes, signature }: Signed): boolean {
  const labelled = Buffer.concat([encodeVector(Buffer.from(label)), encodeVector(signedBytes)]);
  const x = point.toString("base64url", 1, 33);
  const y = point.toString("base64url", 33, 65);
  try {
    const key = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
    return verify("sha256", labelled, key, signature);
  } catch {
    return false; // not a point of the curve
  }
}
