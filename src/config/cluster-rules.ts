// The rules for the keys of the cluster that need several of them, or whose messages must not repeat a value. Files are
// read when the cluster is connected to. Main thread, at start.

import { resolve } from "node:path";
import { type ClusterLogin, type ClusterSettings, type ClusterTls, MACHINE_ROLES } from "./cluster-settings.ts";
import type { KeyValues } from "./keys/all-keys.ts";

type ClusterValues = KeyValues["cluster"];

const SERVERS_KEY = "tonearm.cluster.servers";
const SERVERS_MAX = 64;
const REGIONS_MAX = 16;
const PORT_DEFAULT = 4222;
/** Of a user, password or token; NATS reads at most 4 KiB for a whole login. */
const LOGIN_LENGTH_MAX = 1024;
const PATH_LENGTH_MAX = 4096;
const MACHINE_LENGTH_MAX = 64;

const SERVER =
  /^(?:(?<scheme>nats|tls):\/\/)?(?<host>[a-z\d_](?:[a-z\d_.-]{0,251}[a-z\d_.])?|\[[\da-f:.]{2,45}\])(?::(?<port>\d{1,5}))?\/?$/i;
const CLUSTER_NAME = /^[a-z\d-]{1,32}$/;
const MACHINE_NAME = new RegExp(`^[\\w.-]{1,${MACHINE_LENGTH_MAX}}$`);
/** 36 bytes in base32: the kinds `seed` and `user`, 32 of the key, two of a checksum. */
const USER_SEED = /^SU[A-Z2-7]{56}$/;

interface ClusterContext {
  readonly cwd: string;
  readonly hostName: string;
  warn(message: string): void;
  reject(key: string, message: string): void;
}

/** Undefined: no cluster is configured. */
export function checkedCluster(
  values: ClusterValues,
  { isEnabled, key }: Pick<KeyValues["state"], "isEnabled" | "key">,
  context: ClusterContext,
): ClusterSettings | undefined {
  const { servers, name } = values;
  if (servers.length === 0) {
    if (isMeantForCluster(values))
      context.warn(`${SERVERS_KEY} is empty: the other keys of tonearm.cluster have no effect`);
    return undefined;
  }
  if (!isEnabled) {
    const advice = "a cluster stores sessions: set it to true, or remove tonearm.cluster.servers";
    context.reject("tonearm.state.enabled", advice);
  }
  const settings = {
    servers: serversOf(servers, context),
    name: matching("tonearm.cluster.name", name, {
      pattern: CLUSTER_NAME,
      signs: "1 to 32 of a-z, 0-9 and -",
      context,
    }),
    machine: machineOf(values.machine, context),
    roles: rolesOf(values.roles, context),
    regions: regionsOf(values.regions, context),
    login: loginOf(values, context),
    tls: tlsOf(values.tls, context),
  };
  if (key !== undefined) return { ...settings, key };
  const advice = "is not set, and a cluster needs it: a long random text, the same on all of its machines";
  context.reject("tonearm.state.key", `${advice} (variable TONEARM_STATE_KEY)`);
  return undefined;
}

/** Whether something is set that is of no use without servers. */
function isMeantForCluster({ user, password, token, nkey, credentialsPath, tls, roles }: ClusterValues): boolean {
  const secrets = [password, token, nkey];
  return (
    [user, credentialsPath, ...Object.values(tls)].join("") !== "" ||
    secrets.some((secret) => secret !== undefined) ||
    MACHINE_ROLES.some((role) => !roles.includes(role))
  );
}

/** In full. What is wrong is named by its place: it may hold a password. */
function serversOf(written: readonly string[], { reject }: ClusterContext): string[] {
  if (written.length > SERVERS_MAX) reject(SERVERS_KEY, `expected at most ${SERVERS_MAX} servers`);
  if (written.some((text) => text.includes("@"))) {
    const keys = "tonearm.cluster.user and tonearm.cluster.password, or tonearm.cluster.token";
    reject(SERVERS_KEY, `an address holds a login (something before an @): move it to ${keys}`);
    return [];
  }
  const servers = written.slice(0, SERVERS_MAX).flatMap((text, index) => {
    const { scheme = "nats", host = "", port = PORT_DEFAULT } = SERVER.exec(text)?.groups ?? {};
    if (host !== "" && Number(port) >= 1 && Number(port) <= 65_535) {
      return [`${scheme}://${host}:${Number(port)}`.toLowerCase()];
    }
    reject(SERVERS_KEY, `server ${index + 1} is no address such as nats://10.0.0.5:4222, tls://nats-1 or nats-1:4222`);
    return [];
  });
  return [...new Set(servers)];
}

function loginOf(values: ClusterValues, context: ClusterContext): ClusterLogin {
  const { user, password, token, nkey, credentialsPath } = values;
  const { reject } = context;
  const kinds = [
    ["user", user !== "" || password !== undefined],
    ["token", token !== undefined],
    ["nkey", nkey !== undefined],
    ["credentials", credentialsPath !== ""],
  ] as const;
  const set = kinds.filter(([, isSet]) => isSet).map(([name]) => `tonearm.cluster.${name}`);
  if (set.length > 1) reject(set[1] ?? "", `one login is enough, and these are set: ${set.join(", ")}`);
  const texts = { user, password: password?.reveal() ?? "", token: token?.reveal() ?? "" };
  for (const [name, { length }] of Object.entries(texts)) {
    if (length > LOGIN_LENGTH_MAX) reject(`tonearm.cluster.${name}`, `expected at most ${LOGIN_LENGTH_MAX} characters`);
  }
  if (user !== "" && password === undefined)
    reject("tonearm.cluster.user", "expected tonearm.cluster.password as well");
  if (user === "" && password !== undefined)
    reject("tonearm.cluster.password", "expected tonearm.cluster.user as well");
  if (nkey !== undefined && !USER_SEED.test(nkey.reveal())) {
    reject("tonearm.cluster.nkey", "expected the seed of a user: SU and 56 more of A-Z and 2-7");
  }
  if (password !== undefined) return { kind: "password", user, password };
  if (token !== undefined) return { kind: "token", token };
  if (nkey !== undefined) return { kind: "nkey", seed: nkey };
  if (credentialsPath === "") return { kind: "none" };
  return { kind: "credentials", path: pathOf("tonearm.cluster.credentials", credentialsPath, context) };
}

function tlsOf({ caPath, certificatePath, keyPath }: ClusterValues["tls"], context: ClusterContext) {
  const [certificate, key] = ["tonearm.cluster.tls.certificate", "tonearm.cluster.tls.key"];
  if (certificatePath !== "" && keyPath === "") context.reject(certificate, `expected ${key} as well`);
  if (certificatePath === "" && keyPath !== "") context.reject(key, `expected ${certificate} as well`);
  const tls: ClusterTls = {
    ...(caPath !== "" && { caPath: pathOf("tonearm.cluster.tls.ca", caPath, context) }),
    ...(certificatePath !== "" && { certificatePath: pathOf(certificate, certificatePath, context) }),
    ...(keyPath !== "" && { keyPath: pathOf(key, keyPath, context) }),
  };
  return Object.keys(tls).length === 0 ? undefined : tls;
}

/** PEM instead of a path is refused here: the error of opening it would repeat it. */
function pathOf(key: string, written: string, { cwd, reject }: ClusterContext): string {
  const isPath = written.length <= PATH_LENGTH_MAX && !/-----BEGIN|[\r\n]/.test(written);
  if (isPath) return resolve(cwd, written);
  reject(key, "expected the name of a file");
  return "";
}

/** Host names may hold what names of machines may not. */
function machineOf(written: string, context: ClusterContext): string {
  if (written !== "") return nameOf("tonearm.cluster.machine", written, context);
  return context.hostName.replaceAll(/[^\w.-]/g, "-").slice(0, MACHINE_LENGTH_MAX) || "unnamed";
}

function rolesOf(written: ClusterValues["roles"], { reject }: ClusterContext): ClusterSettings["roles"] {
  if (written.length === 0) reject("tonearm.cluster.roles", `expected at least one of ${MACHINE_ROLES.join(", ")}`);
  return MACHINE_ROLES.filter((role) => written.includes(role));
}

/** In lower case, as regions are named. */
function regionsOf(written: readonly string[], context: ClusterContext): string[] {
  const key = "tonearm.cluster.region";
  if (written.length > REGIONS_MAX) context.reject(key, `expected at most ${REGIONS_MAX} regions`);
  const regions = written.map((text) => nameOf(key, text.trim().toLowerCase(), context));
  return [...new Set(regions)];
}

function nameOf(key: string, text: string, context: ClusterContext): string {
  return matching(key, text, {
    pattern: MACHINE_NAME,
    signs: `1 to ${MACHINE_LENGTH_MAX} letters, digits, ., _ and -`,
    context,
  });
}

function matching(
  key: string,
  text: string,
  { pattern, signs, context }: { readonly pattern: RegExp; readonly signs: string; readonly context: ClusterContext },
): string {
  if (!pattern.test(text)) context.reject(key, `expected ${signs}`);
  return text;
}
