// A certificate for the fake Discord, made on the spot: Node.js can use certificates, but not make one.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  /** PEM. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
  /** A file with what programs shall trust: the certificate, and what Node.js is told to trust on this machine. */
  readonly trustedFile: string;
}

/** Written to `folder`; needs `openssl` on the path. */
export function makeCertificate(folder: string, hosts: readonly string[]): Certificate {
  const [keyFile, file] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const names = hosts.map((host) => `DNS:${host}`).join(",");
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  const subject = ["-subj", "/CN=fake Discord", "-addext", `subjectAltName=${names}`];
  const use = ["-addext", "keyUsage=digitalSignature,keyCertSign"];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...newKey, ...subject, ...use, "-out", file], {
    stdio: "pipe",
  });
  const [key, cert] = [readFileSync(keyFile, "utf8"), readFileSync(file, "utf8")];
  const { NODE_EXTRA_CA_CERTS: ofMachine } = process.env;
  const trustedFile = join(folder, "trusted.pem");
  // npm may reach its registry only with these.
  writeFileSync(trustedFile, cert + (ofMachine ? readFileSync(ofMachine, "utf8") : ""));
  return { key, cert, trustedFile };
}
