// The keys of TLS, as Spring Boot names them.

import { choiceKey, flagKey, listKey, type ReadKey, secretKey, textKey } from "./key.ts";
import { choiceType } from "./value-type.ts";

const TLS_VERSIONS = ["TLSv1.2", "TLSv1.3"] as const;
const PEM = "A file, or the text itself.";
const REREAD = "Read again when it changes.";

export function tlsKeys(read: ReadKey) {
  return {
    isEnabled: read(
      flagKey("server.ssl.enabled", {
        meaning: "Serve HTTPS and WSS where a certificate is set. False: HTTP and WS all the same.",
        defaultValue: true,
      }),
    ),
    ...pemKeys(read),
    ...storeKeys(read),
    ...clientKeys(read),
    protocols: read(
      listKey("server.ssl.enabled-protocols", {
        meaning: "Versions of TLS that are spoken.",
        defaultValue: TLS_VERSIONS,
        type: choiceType(TLS_VERSIONS),
      }),
    ),
  };
}

function pemKeys(read: ReadKey) {
  return {
    certificate: read(
      textKey("server.ssl.certificate", {
        meaning: `Certificate in PEM, with those that lead to its authority behind it. ${PEM} ${REREAD}`,
        defaultValue: "",
      }),
    ),
    privateKey: read(
      secretKey("server.ssl.certificate-private-key", {
        meaning: `Its private key in PEM. ${PEM}`,
        defaultNote: "none",
        example: "/etc/tonearm/key.pem",
      }),
    ),
    keyPassword: read(
      secretKey("server.ssl.key-password", {
        meaning: "Password of the private key, where it has one.",
        defaultNote: "none",
        example: "secret",
      }),
    ),
  };
}

function storeKeys(read: ReadKey) {
  return {
    storePath: read(
      textKey("server.ssl.key-store", {
        meaning: `PKCS#12 file with certificate and private key, instead of PEM. ${REREAD}`,
        defaultValue: "",
      }),
    ),
    storePassword: read(
      secretKey("server.ssl.key-store-password", {
        meaning: "Password of that file.",
        defaultNote: "none",
        example: "secret",
      }),
    ),
    storeType: read(
      choiceKey("server.ssl.key-store-type", {
        meaning:
          "What that file is. JKS cannot be read: `keytool -importkeystore -srckeystore keys.jks -destkeystore " +
          "keys.p12 -deststoretype PKCS12` makes a PKCS12 of it.",
        names: ["PKCS12", "JKS"],
        defaultValue: "PKCS12",
      }),
    ),
  };
}

function clientKeys(read: ReadKey) {
  return {
    clientAuth: read(
      choiceKey("server.ssl.client-auth", {
        meaning: "Whether clients are asked for a certificate (want), or refused without one (need).",
        names: ["none", "want", "need"],
        defaultValue: "none",
      }),
    ),
    trust: read(
      textKey("server.ssl.trust-certificate", {
        meaning: `Certificates in PEM that clients' certificates must come from. ${PEM} ${REREAD}`,
        defaultValue: "",
      }),
    ),
  };
}
