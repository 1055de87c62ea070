// The material of HTTPS, read from its files: certificate, private key, and the authorities of clients' certificates.
// Main thread, at start and when a file has changed.

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { PemSource, TlsSettings } from "../../config/tls-rules.ts";
import { NodeError } from "../../errors.ts";
import { messageOf } from "../../lib/message-of.ts";

/** A chain with its key has some kilobytes. */
const FILE_MAX_BYTES = 1024 * 1024;

/** Messages of OpenSSL and their meaning for the operator. Unknown messages are passed on unchanged. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/mac verify failure|bad decrypt|bad password|interrupted or cancelled|empty password/i, "its password is wrong"],
  [/load private key from PFX/i, "there is no private key in it"],
  [/load certificate from PFX/i, "there is no certificate in it"],
  [/key values mismatch/i, "the private key belongs to another certificate"],
  [
    /unsupported|no start line|not enough data|header too long|wrong tag|asn1|PEM/i,
    "it is not of the kind that was expected",
  ],
  [/ee key too small|ca md too weak|key too small|md too weak/i, "it is weaker than Node.js takes for safe"],
];

const OLD_STORE =
  "it is encrypted in an old format: `openssl pkcs12 -legacy -in OLD -nodes | openssl pkcs12 -export -out NEW` fixes it";

/** The files that it is read from. */
export function tlsPaths({ material, trust }: TlsSettings): readonly string[] {
  const sources: readonly (PemSource | undefined)[] =
    material.kind === "pem" ? [material.certificate, material.privateKey, trust] : [trust];
  const files = sources.flatMap((source) => (source?.kind === "file" ? [source.path] : []));
  return material.kind === "pem" ? files : [material.path, ...files];
}

/**
 * All of it, seen to fit together.
 * @throws NodeError "tls-invalid" naming the key of the configuration; nothing of a file is shown
 */
export function readTlsMaterial({ material, trust, minVersion, maxVersion }: TlsSettings): SecureContextOptions {
  const ca = trust && { ca: pem("server.ssl.trust-certificate", trust) };
  if (ca !== undefined) explained("server.ssl.trust-certificate", () => new X509Certificate(ca.ca));
  const versions = { minVersion, maxVersion };
  if (material.kind === "pkcs12") {
    const key = "server.ssl.key-store";
    const options = {
      pfx: read(key, material.path),
      passphrase: material.password?.reveal() ?? "",
      ...ca,
      ...versions,
    };
    explained(key, () => createSecureContext(options));
    return options;
  }
  const { certificate, privateKey, password } = material;
  const cert = pem("server.ssl.certificate", certificate);
  explained("server.ssl.certificate", () => new X509Certificate(cert));
  const key = explained("server.ssl.certificate-private-key", () => {
    const text = pem("server.ssl.certificate-private-key", privateKey);
    return unlocked(text, password?.reveal()).export({ type: "pkcs8", format: "pem" });
  });
  const options = { cert, key, ...ca, ...versions };
  explained("server.ssl.certificate", () => createSecureContext(options));
  return options;
}

/** Where there is no password one that is needed is said to be missing, rather than asked for on the terminal. */
function unlocked(text: Buffer, passphrase: string | undefined): KeyObject {
  return createPrivateKey({ key: text, passphrase: passphrase ?? "" });
}

function pem(key: string, source: PemSource): Buffer {
  return source.kind === "file" ? read(key, source.path) : Buffer.from(source.text.reveal());
}

function read(key: string, path: string): Buffer {
  try {
    if (statSync(path).size > FILE_MAX_BYTES) throw new Error(`it has more than ${FILE_MAX_BYTES} bytes`);
    return readFileSync(path);
  } catch (error) {
    throw new NodeError("tls-invalid", `${key}: ${path} could not be read`, { cause: error });
  }
}

function explained<Result>(key: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof NodeError) throw error;
    const words = messageOf(error);
    const isOldStore = key === "server.ssl.key-store" && /unsupported/i.test(words);
    const meaning = isOldStore
      ? OLD_STORE
      : (MEANINGS.find(([pattern]) => pattern.test(words))?.[1] ?? "it is of no use");
    throw new NodeError("tls-invalid", `${key}: ${meaning}`, { cause: error });
  }
}
