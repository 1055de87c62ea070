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
        meaning: "Serve HTTPS and WSS if a certificate is set. False: serve HTTP and WS anyway.",
        defaultValue: true,
      }),
    ),
    ...pemKeys(read),
    ...storeKeys(read),
    ...clientKeys(read),
    protocols: read(
      listKey("server.ssl.enabled-protocols", {
        meaning: "Supported TLS versions.",
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
        meaning: `Certificate in PEM, followed by the intermediate certificates of its chain. ${PEM} ${REREAD}`,
        defaultValue: "",
      }),
    ),
    privateKey: read(
      secretKey("server.ssl.certificate-private-key", {
        meaning: `Private key of the certificate, in PEM. ${PEM}`,
        defaultNote: "none",
        example: "/etc/tonearm/key.pem",
      }),
    ),
    keyPassword: read(
      secretKey("server.ssl.key-password", {
        meaning: "Password of the private key, if any.",
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
          "Format of that file. JKS is not supported; convert it with `keytool -importkeystore " +
          "-srckeystore keys.jks -destkeystore keys.p12 -deststoretype PKCS12`.",
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
        meaning: "Request a certificate from clients (want), or require one (need).",
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
