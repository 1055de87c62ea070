// A certificate for the fake Discord, made on the spot: Node.js can use certificates, but not make one.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  /** PEM. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
  /** Where the certificate lies, for programs that shall trust it. */
  readonly file: string;
}

/** Written to `folder`; needs `openssl` on the path. */
export function makeCertificate(folder: string, hosts: readonly string[]): Certificate {
  const [keyFile, file] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const names = hosts.map((host) => `DNS:${host}`).join(",");
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  const subject = ["-subj", "/CN=fake Discord", "-addext", `subjectAltName=${names}`];
  const use = ["-addext", "keyUsage=digitalSignature,keyCertSign"];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...key, ...subject, ...use, "-out", file], { stdio: "pipe" });
  return { key: readFileSync(keyFile, "utf8"), cert: readFileSync(file, "utf8"), file };
}
