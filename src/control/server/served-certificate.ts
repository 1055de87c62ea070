// The certificate that clients are shown, whatever file it was read from: Node.js exposes the content of a PKCS#12 only
// to connecting clients. Main thread; for the log and for `tonearm doctor`, which show until when it is valid.

import { X509Certificate } from "node:crypto";
import { duplexPair } from "node:stream";
import { connect, createSecureContext, type SecureContextOptions, TLSSocket } from "node:tls";

/** Rejects when a handshake with `options` fails. */
export async function servedCertificate(options: SecureContextOptions): Promise<X509Certificate> {
  const { cert } = options;
  if (Buffer.isBuffer(cert)) return new X509Certificate(cert);
  const [near, far] = duplexPair();
  const server = new TLSSocket(near, { isServer: true, secureContext: createSecureContext(options) });
  const client = connect({ socket: far, rejectUnauthorized: false });
  try {
    // Within this process: there is nothing to wait for but the two.
    return await new Promise((resolve, reject) => {
      const failed = (error?: Error): void => reject(error ?? new Error("the handshake was broken off"));
      for (const side of [server, client]) side.on("error", failed).on("close", failed);
      client.once("secureConnect", () => {
        const certificate = client.getPeerX509Certificate();
        if (certificate === undefined) failed();
        else resolve(certificate);
      });
    });
  } finally {
    client.destroy();
    server.destroy();
  }
}
