// How the WebSocket to a voice gateway comes to be: its socket, its TLS, its bounds. Beneath the gateway socket, on the
// audio thread.

import { connect as connectTcp, isIP, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import WebSocket from "ws";
import { PacedSocket } from "./paced-socket.ts";
import type { VoiceGuard } from "./voice-guard.ts";
import { MESSAGE_BYTES_MAX } from "./voice-limits.ts";

/** Parts of one message; voice servers send whole ones. */
const FRAGMENTS_MAX = 64;
/** Interim answers (HTTP 1xx) before the upgrade. */
const INTERIM_ANSWERS_MAX = 4;
/**
 * What every voice server speaks. Left out is Diffie-Hellman over numbers of the server's choice, of any size: 8,192 bits
 * hold the thread for 300 ms, before any certificate is looked at.
 */
const TLS_LIMITS = {
  ciphers: "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20",
  ecdhCurve: "X25519:P-256:P-384",
} as const;

export interface GatewayDialOptions {
  readonly url: string;
  readonly guard: VoiceGuard;
  /** Told of every slice of bytes received; false refuses it and all that follows. */
  readonly admit: (sizeBytes: number) => boolean;
}

/** Dials at once. Messages come one per turn of the event loop. */
export function dialGateway({ url, guard, admit }: GatewayDialOptions): WebSocket {
  const isSecure = url.startsWith("wss:");
  return new WebSocket(url, {
    lookup: guard.lookup,
    maxPayload: MESSAGE_BYTES_MAX,
    maxFragments: FRAGMENTS_MAX,
    allowSynchronousEvents: false,
    perMessageDeflate: false,
    followRedirects: false,
    // The typings ask for a `net.Socket`; Node and the library take any stream.
    createConnection: ((options: NetConnectOpts) =>
      new PacedSocket(isSecure ? openTls(options) : openTcp(options), { admit })) as unknown as typeof connectTcp,
    finishRequest: (request) => {
      let interimCount = 0;
      request.on("information", () => {
        if (++interimCount > INTERIM_ANSWERS_MAX) request.destroy(new Error("too many interim answers to the upgrade"));
      });
      request.end();
    },
  });
}

/** The path of the request is none of a socket. */
function openTcp(options: NetConnectOpts): Socket {
  return connectTcp({ ...options, path: undefined } as NetConnectOpts);
}

function openTls(options: NetConnectOpts): Socket {
  const host = "host" in options ? (options.host ?? "") : "";
  return connectTls({ ...options, ...TLS_LIMITS, path: undefined, servername: isIP(host) === 0 ? host : "" });
}
