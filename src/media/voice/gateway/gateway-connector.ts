// Opens the WebSocket to a voice gateway: socket, TLS and their limits. Beneath the gateway socket, on the audio
// thread.

import { isIP, type NetConnectOpts, type connect as netConnect } from "node:net";
import { connect as connectTls } from "node:tls";
import WebSocket from "ws";
import { PacedSocket } from "../../../network/paced-socket.ts";
import type { Sockets } from "../../../network/sockets.ts";
import type { VoiceGuard } from "../voice-guard.ts";
import { limitExceeded, MESSAGE_BYTES_MAX } from "../voice-limits.ts";

/** Parts of one message; voice servers send whole ones. */
const FRAGMENTS_MAX = 64;
/** Interim answers (HTTP 1xx) before the upgrade. */
const INTERIM_ANSWERS_MAX = 4;
/**
 * TLS settings that every voice server supports. Finite-field Diffie-Hellman is left out because the server chooses the
 * size of its numbers: 8,192 bits block the thread for 300 ms, before any certificate is checked.
 */
const TLS_LIMITS = {
  ciphers: "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20",
  ecdhCurve: "X25519:P-256:P-384",
} as const;

/**
 * A certificate chain is checked in one go, even an untrusted one, and each certificate may cost milliseconds. Real chains
 * have 3 to 6 kB.
 */
const TLS_HANDSHAKE_BYTES_MAX = 10 * 1024;

interface GatewayConnectOptions {
  readonly url: string;
  readonly guard: VoiceGuard;
  readonly sockets: Pick<Sockets, "connectTcp">;
  /** Called with the size of every slice of bytes from the network; false refuses it and all that follow. */
  readonly admit: (sizeBytes: number) => boolean;
}

/** Connects at once. Delivers one message per event loop iteration. */
export function connectGateway({ url, guard, sockets, admit }: GatewayConnectOptions): WebSocket {
  const isSecure = url.startsWith("wss:");
  return new WebSocket(url, {
    lookup: guard.lookup,
    maxPayload: MESSAGE_BYTES_MAX,
    maxFragments: FRAGMENTS_MAX,
    allowSynchronousEvents: false,
    perMessageDeflate: false,
    followRedirects: false,
    // The typings ask for a `net.Socket`; Node and the library take any stream.
    createConnection: ((options: NetConnectOpts) => {
      const connectPlain = (admitSlice: Admit) => openTcp(sockets, options, admitSlice);
      return isSecure ? openTls(connectPlain, options, admit) : connectPlain(admit);
    }) as unknown as typeof netConnect,
    finishRequest: (request) => {
      let interimCount = 0;
      request.on("information", () => {
        if (++interimCount > INTERIM_ANSWERS_MAX) request.destroy(new Error("too many interim answers to the upgrade"));
      });
      request.end();
    },
  });
}

type Admit = GatewayConnectOptions["admit"];

function openTcp(sockets: GatewayConnectOptions["sockets"], options: NetConnectOpts, admit: Admit): PacedSocket {
  // `path` is the request's path, not that of a socket file.
  return new PacedSocket(sockets.connectTcp({ ...options, path: undefined, noDelay: true } as NetConnectOpts), {
    admit,
  });
}

/** Paced beneath TLS, to limit TLS itself, and above it, where what arrived slice by slice comes out in one piece. */
function openTls(connectPlain: (admit: Admit) => PacedSocket, options: NetConnectOpts, admit: Admit): PacedSocket {
  let handshakeBytes = 0;
  let isSecured = false;
  const tcp = connectPlain((sizeBytes) => {
    handshakeBytes += sizeBytes;
    if (isSecured || handshakeBytes <= TLS_HANDSHAKE_BYTES_MAX) return admit(sizeBytes);
    tcp.destroy(limitExceeded(`its TLS handshake has more than ${TLS_HANDSHAKE_BYTES_MAX / 1024} kB`));
    return false;
  });
  const host = "host" in options ? (options.host ?? "") : "";
  const tls = connectTls({ ...TLS_LIMITS, socket: tcp, host, servername: isIP(host) === 0 ? host : "" });
  tls.once("secureConnect", () => {
    isSecured = true;
  });
  return new PacedSocket(tls);
}
