// The keys of the cluster: the NATS servers that this machine shares its sessions through, and how it logs in there.
// cluster-rules.ts checks them together.

import { MACHINE_ROLES } from "../cluster-settings.ts";
import { listKey, type ReadKey, secretKey, textKey } from "./key.ts";
import { choiceType, textType, type ValueType } from "./value-type.ts";

/** Checked by cluster-rules.ts: a message about a value would repeat it, and it may hold a password. */
const serverType: ValueType<string> = {
  expected: "an address such as nats://10.0.0.5:4222, or tls:// with TLS",
  parse: (text) => ({ value: text.trim() }),
  format: (value) => value,
};

const PEM_FILE = "File in PEM";

export function clusterKeys(read: ReadKey) {
  return {
    cluster: {
      /** Empty: no cluster. */
      servers: read(
        listKey("tonearm.cluster.servers", {
          meaning:
            "NATS servers with JetStream, 2.12 or newer, of one cluster: nodes with the same servers, name and " +
            "tonearm.state.key share their sessions. Empty: this node is alone.",
          defaultValue: [],
          type: serverType,
          isPrivate: true,
        }),
      ),
      name: read(
        textKey("tonearm.cluster.name", {
          meaning: "Name of the cluster; clusters on the same servers need different ones.",
          defaultValue: "tonearm",
        }),
      ).trim(),
      /** Empty: the host name. */
      machine: read(
        textKey("tonearm.cluster.machine", {
          meaning: "Name of this machine, for health and logs.",
          defaultValue: "",
          defaultNote: "the host name",
          example: "node-1",
        }),
      ).trim(),
      roles: read(
        listKey("tonearm.cluster.roles", {
          meaning: "Gateways have clients, audio machines play.",
          defaultValue: MACHINE_ROLES,
          type: choiceType(MACHINE_ROLES),
        }),
      ),
      regions: read(
        listKey("tonearm.cluster.region", {
          meaning: "Voice regions near it, such as rotterdam.",
          defaultValue: [],
          type: textType,
        }),
      ),
      ...loginKeys(read),
      tls: {
        caPath: read(
          textKey("tonearm.cluster.tls.ca", {
            meaning: `${PEM_FILE} with the authorities of the NATS servers. Unset: those of Node.js.`,
            defaultValue: "",
          }),
        ).trim(),
        certificatePath: read(
          textKey("tonearm.cluster.tls.certificate", {
            meaning: `${PEM_FILE} with this machine's certificate, if the servers ask for one.`,
            defaultValue: "",
          }),
        ).trim(),
        keyPath: read(
          textKey("tonearm.cluster.tls.key", {
            meaning: `${PEM_FILE} with its key.`,
            defaultValue: "",
            isPrivate: true,
          }),
        ).trim(),
      },
    },
  };
}

/** At most one kind of login is set. */
function loginKeys(read: ReadKey) {
  return {
    /** Empty: none. */
    user: read(
      textKey("tonearm.cluster.user", { meaning: "NATS user name.", defaultValue: "", isPrivate: true }),
    ).trim(),
    password: read(
      secretKey("tonearm.cluster.password", {
        meaning: "NATS password.",
        defaultNote: "none",
        example: "secret",
      }),
    ),
    token: read(
      secretKey("tonearm.cluster.token", {
        meaning: "NATS token, instead of user and password.",
        defaultNote: "none",
        example: "secret",
      }),
    ),
    nkey: read(
      secretKey("tonearm.cluster.nkey", {
        meaning: "Seed of a NATS user's nkey, instead.",
        defaultNote: "none",
        example: "SU and 56 more letters and digits",
      }),
    ),
    /** Empty: none. */
    credentialsPath: read(
      textKey("tonearm.cluster.credentials", {
        meaning: "NATS credentials file (.creds), instead.",
        defaultValue: "",
        // It may be taken for the content, as may the key of TLS.
        isPrivate: true,
      }),
    ).trim(),
  };
}
