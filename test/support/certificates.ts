// Certificates for tests, made on the spot by OpenSSL's program: node:crypto makes keys and no certificates.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Default names of a certificate. */
const THIS_MACHINE = ["localhost", "127.0.0.1"];

export class Certificates {
  readonly folder = mkdtempSync(join(tmpdir(), "tonearm-certificates-"));

  path(name: string): string {
    return join(this.folder, name);
  }

  /** PEM. */
  read(file: string): string {
    return readFileSync(this.path(file), "utf8");
  }

  /** A certificate for `hosts` that is its own authority, as NAME.crt and NAME.key. */
  make(name: string, { days = 30, hosts = THIS_MACHINE }: { days?: number; hosts?: readonly string[] } = {}): void {
    const names = hosts.map((host) => `${isIP(host) === 0 ? "DNS" : "IP"}:${host}`).join(",");
    this.#openssl(
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-keyout", this.path(`${name}.key`), "-out", this.path(`${name}.crt`), "-days", String(days)],
      ...["-subj", `/CN=${name}`, "-addext", `subjectAltName=${names}`],
      // Python is strict about authorities.
      ...["-addext", "keyUsage=digitalSignature,keyCertSign"],
    );
  }

  /** The certificates to trust, as NAME.trusted: this one, and those that Node.js trusts on this machine. */
  trust(name: string): string {
    const { NODE_EXTRA_CA_CERTS: ofMachine } = process.env;
    const path = this.path(`${name}.trusted`);
    // npm may reach its registry only with these.
    writeFileSync(path, this.read(`${name}.crt`) + (ofMachine ? readFileSync(ofMachine, "utf8") : ""));
    return path;
  }

  /** The key of NAME with a password, as NAME.locked.key. */
  lock(name: string, password: string): void {
    const paths = ["-in", this.path(`${name}.key`), "-out", this.path(`${name}.locked.key`)];
    this.#openssl("pkcs8", "-topk8", ...paths, "-passout", `pass:${password}`);
  }

  /** Both in one, as NAME.p12. */
  store(name: string, password: string): void {
    this.#store(name, password, []);
  }

  /** A key store in the format that programs wrote ten years ago. */
  oldStore(name: string, password: string): void {
    this.#store(name, password, ["-legacy"]);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #store(name: string, password: string, options: readonly string[]): void {
    const paths = ["-in", this.path(`${name}.crt`), "-inkey", this.path(`${name}.key`)];
    const out = ["-out", this.path(`${name}.p12`), "-passout", `pass:${password}`];
    this.#openssl("pkcs12", "-export", ...paths, ...out, ...options);
  }

  #openssl(...args: string[]): void {
    execFileSync("openssl", args, { stdio: "pipe" });
  }
}
