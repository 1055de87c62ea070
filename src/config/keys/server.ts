// The keys of where clients reach the node, and of the threads it starts.

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
        meaning: "TCP port for REST and WebSocket. 0 takes any free one.",
        defaultValue: 2333,
        min: 0,
        max: 65535,
      }),
    ),
    /** An IP address or a host name. */
    address: read(
      textKey("server.address", {
        meaning:
          "Address to listen on. The default is reachable from this machine only; 0.0.0.0 (or ::) from " +
          "everywhere: then set a password of your own.",
        defaultValue: "127.0.0.1",
      }),
    ).trim(),
    password: read(
      secretKey("lavalink.server.password", {
        meaning: "What clients must send as Authorization header. Unset: a new one at every start, printed once.",
        defaultNote: "generated",
        example: "a long text that nobody guesses",
      }),
    ),
    /** Empty: there are none. */
    keysPath: read(
      textKey("tonearm.keys.file", {
        meaning:
          "File of further keys, each with a name and limits of its own, made by `tonearm keys add NAME`. It is read " +
          "again when it changes. Relative paths count from where the node was started. Empty: none.",
        defaultValue: "",
      }),
    ),
    tls: tlsKeys(read),
    /** Nobody looks on who could read one that is made up. */
    isPasswordRequired: read(
      flagKey("tonearm.requirePassword", {
        meaning:
          "Do not start without a password that is configured, instead of making one up. True in the container " +
          "image, as what is printed there is kept.",
        defaultValue: false,
      }),
    ),
  };
}

function workerKeys(read: ReadKey) {
  return {
    /** Audio threads. 0: one per core. */
    count: read(
      integerKey("tonearm.workers.count", {
        meaning: "Audio threads. 0: as many as the processor has cores.",
        defaultValue: 0,
        min: 0,
        max: 64,
      }),
    ),
    /** Encoders work less hard and players are refused before anybody is late. */
    isLoadControlled: read(
      flagKey("tonearm.workers.loadControl", {
        meaning:
          "When audio threads near their limit, libopus works less hard for all players, and when that is not " +
          "enough, or Tonearm's own encoder encodes, further players are refused. False: neither.",
        defaultValue: true,
      }),
    ),
  };
}
