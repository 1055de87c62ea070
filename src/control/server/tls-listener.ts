// HTTPS and WSS: accepts connections, makes them TLS, and hands them to the HTTP server as if it had accepted them, so
// bounds and upgrades are the same code for both. Handshakes have separate bounds. HTTP/1.1 only: no client speaks
// HTTP/2, and the WebSocket could not use it. Main thread; in front of all other parts of control/server.

import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer, type SecureContextOptions, type TLSSocket, type Server as TlsServer } from "node:tls";
import type { TlsSettings } from "../../config/tls-rules.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Counts } from "../../lib/counts.ts";
import { FileWatch } from "../../lib/file-watch.ts";
import type { Logger } from "../../log/log.ts";
import { networkOf } from "../access/account.ts";
import { Tally } from "../access/tally.ts";
import { servedCertificate } from "./served-certificate.ts";
import { readTlsMaterial, tlsPaths } from "./tls-material.ts";

/** A client that has not finished its handshake by then is disconnected. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Handshakes at one time; one more ends the oldest of its network, or of the one with most. */
const HANDSHAKES_MAX = 512;
const HANDSHAKES_PER_NETWORK_MAX = 64;
const EXPIRY_CHECK_MS = 24 * 60 * 60 * 1000;
const EXPIRY_WARNING_MS = 14 * 24 * 60 * 60 * 1000;

/** The settings of HTTPS. */
export interface TlsListenerOptions {
  readonly settings: TlsSettings;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly backlog: number;
}

/** One for the node, where `server.ssl` is set. */
export class TlsListener {
  readonly #options: TlsListenerOptions;
  readonly #tls: TlsServer;
  readonly #watch: FileWatch;
  readonly #failures: Tally;
  /** Connections whose handshake is not finished, by address and port, in the order of their arrival. */
  readonly #shaking = new Map<string, { readonly socket: Socket; readonly network: string }>();
  readonly #networks = new Counts();
  #material: SecureContextOptions;
  #expiryTimer: Timer;

  /** @throws NodeError "tls-invalid" */
  constructor(options: TlsListenerOptions) {
    this.#options = options;
    const { settings, clock, logger } = options;
    this.#failures = new Tally({ clock, logger }, "TLS handshake with a client failed");
    this.#watch = new FileWatch({ paths: tlsPaths(settings), clock, onChange: () => this.#reload() });
    try {
      this.#material = readTlsMaterial(settings);
    } catch (error) {
      this.#watch.close();
      throw error;
    }
    this.#tls = createServer({
      ...this.#material,
      requestCert: settings.clientAuth !== "none",
      rejectUnauthorized: settings.clientAuth === "need",
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      ALPNProtocols: ["http/1.1"],
    });
    this.#tls.on("connection", (socket: Socket) => this.#begin(socket));
    this.#tls.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => this.#failed(error, socket));
    this.#expiryTimer = this.#scheduleExpiryCheck();
  }

  /** Hands connections to `server`, which must not listen itself. Resolves with the port. */
  listen(server: Server, { host, port, backlog }: ListenOptions): Promise<number> {
    this.#tls.on("secureConnection", (socket) => this.#secured(socket, server));
    return new Promise((resolve, reject) => {
      this.#tls.once("error", reject);
      this.#tls.listen({ host, port, backlog }, () => {
        this.#tls.off("error", reject);
        resolve((this.#tls.address() as AddressInfo).port); // listening on TCP: an object
      });
    });
  }

  /** Accepts no more connections; secured ones belong to the HTTP server. */
  close(): void {
    this.#watch.close();
    this.#expiryTimer.cancel();
    this.#tls.close();
    for (const { socket } of this.#shaking.values()) socket.destroy();
  }

  #begin(socket: Socket): void {
    // Reset before it was accepted: it has no address, and closes by itself.
    if (socket.remoteAddress === undefined) return;
    const network = networkOf(socket.remoteAddress);
    const ofNetwork = this.#ofNetwork(network);
    if (ofNetwork.length >= HANDSHAKES_PER_NETWORK_MAX) this.#drop(ofNetwork[0]);
    else if (this.#shaking.size >= HANDSHAKES_MAX) this.#drop(this.#ofNetwork(this.#networks.largest)[0]);
    const peer = peerOf(socket);
    this.#shaking.set(peer, { socket, network });
    this.#networks.addEach([network]);
    socket.once("close", () => {
      if (this.#shaking.get(peer)?.socket === socket) this.#forget(peer);
    });
  }

  #drop(peer: string | undefined): void {
    if (peer === undefined) return;
    this.#shaking.get(peer)?.socket.destroy();
    this.#forget(peer);
  }

  #forget(peer: string): void {
    const shaking = this.#shaking.get(peer);
    if (shaking === undefined) return;
    this.#shaking.delete(peer);
    this.#networks.removeEach([shaking.network]);
  }

  /** The peers whose handshake is not finished, the oldest first. */
  #ofNetwork(network: string | undefined): readonly string[] {
    return [...this.#shaking].filter(([, shaking]) => shaking.network === network).map(([peer]) => peer);
  }

  #secured(socket: TLSSocket, server: Server): void {
    this.#forget(peerOf(socket));
    server.emit("connection", socket);
  }

  #failed(error: NodeJS.ErrnoException, { remoteAddress: address }: TLSSocket): void {
    // A client that disconnected, or was disconnected, is not a failed handshake.
    if (error.code === "ECONNRESET" || error.code === "ERR_TLS_HANDSHAKE_TIMEOUT") return;
    const isPlain = error.code === "ERR_SSL_HTTP_REQUEST";
    const reason = isPlain ? "it speaks HTTP: its `secure` option, or https and wss, must be set" : (error.code ?? "");
    this.#failures.count({ address, reason });
  }

  #reload(): void {
    const { settings, logger } = this.#options;
    try {
      this.#material = readTlsMaterial(settings);
      this.#tls.setSecureContext(this.#material);
      logger.info("TLS certificate reloaded: new connections get it");
      this.#expiryTimer.cancel();
      this.#expiryTimer = this.#scheduleExpiryCheck();
    } catch (error) {
      logger.error("TLS reload failed: the certificate in use stays, because its changed files are invalid", { error });
    }
  }

  /** Now, and once a day from now on. */
  #scheduleExpiryCheck(): Timer {
    const { clock, logger } = this.#options;
    servedCertificate(this.#material)
      .then(({ validTo }) => {
        const leftMs = Date.parse(validTo) - clock.epochMs();
        if (leftMs < EXPIRY_WARNING_MS)
          logger.warn(leftMs < 0 ? "TLS certificate has expired" : "TLS certificate expires soon", { validTo });
      })
      .catch((error: unknown) => logger.debug("TLS certificate check failed: its expiry is unknown", { error }));
    return clock.after(EXPIRY_CHECK_MS, () => {
      this.#expiryTimer = this.#scheduleExpiryCheck();
    });
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
