// Which certificate clients are shown, whatever it was read from: of what is in a PKCS#12 Node.js tells nobody but
// those who connect. Main thread; for the log and for `tonearm doctor`, which say until when it is good.

import { X509Certificate } from "node:crypto";
import { duplexPair } from "node:stream";
import { connect, createSecureContext, type SecureContextOptions, TLSSocket } from "node:tls";

/** Rejects where no handshake comes about with `options`. */
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
