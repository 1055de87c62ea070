// The keys of the node's address and access, and of its threads.

import { flagKey, integerKey, type ReadKey, secretKey, textKey } from "./key.ts";
import { tlsKeys } from "./tls.ts";

export function serverKeys(read: ReadKey) {
  return { server: endpointKeys(read), workers: workerKeys(read) };
}

function endpointKeys(read: ReadKey) {
  return {
    /** 0 lets the system choose a free port. */
    port: read(
      integerKey("server.port", {
        meaning: "TCP port for REST and WebSocket. 0: any free port.",
        defaultValue: 2333,
        min: 0,
        max: 65535,
      }),
    ),
    /** An IP address or a host name. */
    address: read(
      textKey("server.address", {
        meaning:
          "Address to listen on. The default is reachable from this machine only, 0.0.0.0 (or ::) from " +
          "everywhere: then set a password.",
        defaultValue: "127.0.0.1",
      }),
    ).trim(),
    password: read(
      secretKey("lavalink.server.password", {
        meaning:
          "Password that clients send as Authorization header. Unset: a new one is generated and printed " +
          "at every start.",
        defaultNote: "generated",
        example: "a long random text",
      }),
    ),
    /** Empty: no client keys. */
    keysPath: read(
      textKey("tonearm.keys.file", {
        meaning:
          "File of client keys, each with a name and limits, written by `tonearm keys add NAME`. Reloaded " +
          "when it changes. Relative to the folder the node was started in.",
        defaultValue: "",
      }),
    ),
    tls: tlsKeys(read),
    /** True where no operator watches the output and could read a generated password. */
    isPasswordRequired: read(
      flagKey("tonearm.requirePassword", {
        meaning:
          "Do not start without a configured password, instead of generating one. True in the container " +
          "image, where logs persist.",
        defaultValue: false,
      }),
    ),
  };
}

function workerKeys(read: ReadKey) {
  return {
    /** Limit of audio threads; further ones than the first start when they are needed. 0: one per core. */
    count: read(
      integerKey("tonearm.workers.count", {
        meaning: "Limit of audio threads; further ones than the first start when they are needed. 0: one per core.",
        defaultValue: 0,
        min: 0,
        max: 64,
      }),
    ),
    /** True: under load, encoders lower their complexity and players are refused before frames are late. */
    isLoadControlled: read(
      flagKey("tonearm.workers.loadControl", {
        meaning:
          "When audio threads near their limit, lower the complexity of libopus for all players; if that " +
          "is not enough, or with Tonearm's encoder, refuse further players.",
        defaultValue: true,
      }),
    ),
  };
}
