// The rules for the keys of TLS that need all of them: PEM files or a key store, and the paths of the files. The
// content of the files is checked when they are read. Main thread, at start.

import { resolve } from "node:path";
import type { KeyValues } from "./keys/all-keys.ts";
import { Secret } from "./keys/secret.ts";

/** A text in PEM: a file at an absolute path, or the text itself. */
export type PemSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "text"; readonly text: Secret };

/** The certificate, the key and the client certificate policy of the HTTPS server. */
export interface TlsSettings {
  readonly material:
    | {
        readonly kind: "pem";
        readonly certificate: PemSource;
        readonly privateKey: PemSource;
        readonly password: Secret | undefined;
      }
    | { readonly kind: "pkcs12"; readonly path: string; readonly password: Secret | undefined };
  readonly clientAuth: "none" | "want" | "need";
  /** The authorities that client certificates must come from; undefined: clients are not asked for a certificate. */
  readonly trust: PemSource | undefined;
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  readonly maxVersion: "TLSv1.2" | "TLSv1.3";
}

/** PEM with something before it, or a part of a key without PEM armour: as a file name it would be shown. */
const NEITHER = /-----BEGIN|[\r\n]|^[\w+/=]{100,}$/;

interface TlsContext {
  readonly cwd: string;
  warn(message: string): void;
  reject(key: string, message: string): void;
}

/** Undefined: HTTP. */
export function checkedTls(values: KeyValues["server"]["tls"], context: TlsContext): TlsSettings | undefined {
  const material = materialOf(values, context);
  if (material === undefined || !values.isEnabled) return undefined;
  const { clientAuth, protocols } = values;
  if (protocols.length === 0) context.reject("server.ssl.enabled-protocols", "expected at least one version of TLS");
  if (clientAuth !== "none" && values.trust === "") {
    context.reject("server.ssl.client-auth", "expected server.ssl.trust-certificate as well");
  }
  return {
    material,
    clientAuth,
    trust: values.trust === "" ? undefined : sourceOf("server.ssl.trust-certificate", values.trust, context),
    minVersion: protocols.includes("TLSv1.2") ? "TLSv1.2" : "TLSv1.3",
    maxVersion: protocols.includes("TLSv1.3") ? "TLSv1.3" : "TLSv1.2",
  };
}

function materialOf(values: KeyValues["server"]["tls"], context: TlsContext): TlsSettings["material"] | undefined {
  const { certificate, privateKey, keyPassword, storePath, storePassword, storeType } = values;
  if (storePath !== "") {
    if (certificate !== "")
      context.reject("server.ssl.key-store", "server.ssl.certificate is set as well; one is enough");
    if (storeType === "JKS") {
      context.reject(
        "server.ssl.key-store-type",
        "a JKS cannot be read; convert it to PKCS12 (config.example.yml shows how)",
      );
    }
    const path = pathOf("server.ssl.key-store", storePath, context);
    return { kind: "pkcs12", path, password: storePassword ?? keyPassword };
  }
  if (certificate === "") {
    if (privateKey !== undefined) {
      context.warn("server.ssl.certificate-private-key is set and server.ssl.certificate is not: HTTP is served");
    }
    return undefined;
  }
  if (privateKey === undefined) {
    context.reject("server.ssl.certificate", "expected server.ssl.certificate-private-key as well");
    return undefined;
  }
  return {
    kind: "pem",
    certificate: sourceOf("server.ssl.certificate", certificate, context),
    privateKey: sourceOf("server.ssl.certificate-private-key", privateKey.reveal(), context),
    password: keyPassword,
  };
}

function sourceOf(key: string, written: string, context: TlsContext): PemSource {
  if (written.trimStart().startsWith("-----BEGIN")) return { kind: "text", text: new Secret(written) };
  if (NEITHER.test(written)) {
    context.reject(key, "expected PEM that begins with -----BEGIN (no quotes around it), or the name of a file");
    return { kind: "text", text: new Secret(written) };
  }
  return { kind: "file", path: pathOf(key, written, context) };
}

/** Accepts Spring's `file:` prefix; resources within a Java program (`classpath:`) have no meaning here. */
function pathOf(key: string, written: string, { cwd, reject }: TlsContext): string {
  const path = written.trim();
  if (/^classpath:/i.test(path)) reject(key, "Tonearm has no files within its program (classpath:); name a file");
  return resolve(cwd, path.replace(/^file:(?:\/\/(?=\/))?/i, ""));
}
