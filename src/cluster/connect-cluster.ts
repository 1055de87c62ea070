// Opens the connection of this machine to its cluster, once per node: reads the files of login and TLS, derives the key,
// loads the client library. It resolves also while NATS is away: the connection is tried for ever. Main thread.

import { readFile } from "node:fs/promises";
import type { ClusterLogin, ClusterSettings } from "../config/cluster-settings.ts";
import type { Clock } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import type { Logger } from "../log/log.ts";
import { Sealing } from "../state/sealing.ts";
import { derivedKey } from "../state/state-key.ts";
import type { Bucket } from "./bucket.ts";
import { parseServer, unusable } from "./cluster-trouble.ts";
import type { NatsModule } from "./live-nats.ts";
import type { MachineLink } from "./machine-link.ts";
import { NatsBucket } from "./nats-bucket.ts";
import { ConnectionLoop, type NatsAccess } from "./nats-connection.ts";
import { NatsLink } from "./nats-link.ts";
import { NatsServers } from "./nats-servers.ts";
import { REPLICAS, readyBucket } from "./nats-stream.ts";
import { RecordSubjects } from "./record-subjects.ts";

/** A new bucket is then made on the servers that are there. */
const SERVERS_WAIT_MS = 10_000;

export interface ClusterDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Closing the link ends both. */
export interface Cluster {
  readonly link: MachineLink;
  readonly bucket: Bucket;
}

/** @throws NodeError "cluster-unusable" for what waiting does not change: files, the form of settings, a missing package */
export async function connectCluster(
  settings: ClusterSettings,
  { clock, random, logger }: ClusterDependencies,
): Promise<Cluster> {
  const servers = new NatsServers(settings.servers.map(serverOf));
  const module = await loadModule();
  const access = async (): Promise<NatsAccess> => ({
    ...(await tlsOf(settings)),
    authenticator: await authenticatorOf(settings.login, module),
  });
  await access();
  const salt = Buffer.from(`tonearm cluster: ${settings.name}`);
  const sealing = new Sealing(await derivedKey(settings.key, salt), salt, random);
  const subjects = new RecordSubjects(settings.name);
  let waitingSince: number | undefined;
  const isWaiting = (): boolean => {
    waitingSince ??= clock.now();
    return clock.now() - waitingSince < SERVERS_WAIT_MS;
  };
  const connection = new ConnectionLoop({
    module,
    servers,
    access,
    name: `tonearm ${settings.machine}`,
    prepare: (live) => readyBucket(live, { subjects, sealing, random, logger, isWaiting }),
    replicasWanted: REPLICAS,
    clock,
    random,
    logger,
  });
  const link = new NatsLink({ connection, servers, name: settings.name, sealing, clock, random, logger });
  const bucket = new NatsBucket({ connection, subjects, sealing, clock, random, logger });
  return { link, bucket };
}

async function loadModule(): Promise<NatsModule> {
  try {
    return await import("@nats-io/transport-node");
  } catch (error) {
    throw unusable("the package @nats-io/transport-node is missing: install Tonearm with optional dependencies", error);
  }
}

function serverOf(text: string) {
  const server = parseServer(text);
  // The text may hold a password.
  if (server === undefined) {
    throw unusable(
      "tonearm.cluster.servers has an address that is not nats://host:port or tls://host:port: a login has settings " +
        "of its own in tonearm.cluster",
    );
  }
  return server;
}

/** The library reads the files. */
async function tlsOf({ servers, tls }: ClusterSettings): Promise<Pick<NatsAccess, "tls">> {
  if (tls === undefined && !servers.some((server) => server.startsWith("tls://"))) return {};
  const files = [
    ["caFile", "ca", tls?.caPath],
    ["certFile", "certificate", tls?.certificatePath],
    ["keyFile", "key", tls?.keyPath],
  ] as const;
  const given = files.flatMap(([option, setting, path]) => (path === undefined ? [] : [{ option, setting, path }]));
  await Promise.all(given.map(({ setting, path }) => readable(path, `tonearm.cluster.tls.${setting}`)));
  return { tls: Object.fromEntries(given.map(({ option, path }) => [option, path])) };
}

async function authenticatorOf(login: ClusterLogin, module: NatsModule) {
  switch (login.kind) {
    case "none":
      return [];
    case "password":
      return module.usernamePasswordAuthenticator(login.user, login.password.reveal());
    case "token":
      return module.tokenAuthenticator(login.token.reveal());
    case "nkey": {
      const seed = new TextEncoder().encode(login.seed.reveal().trim());
      return checked(module.nkeyAuthenticator(seed), "tonearm.cluster.nkey is not the seed of a user's nkey");
    }
    case "credentials": {
      const file = await readable(login.path, "tonearm.cluster.credentials");
      const problem = "the file of tonearm.cluster.credentials is not a NATS credentials file";
      return checked(module.credsAuthenticator(file), problem);
    }
  }
}

/** The library would find a malformed seed only with a connection. */
function checked<Auth>(authenticator: (nonce?: string) => Auth, problem: string): (nonce?: string) => Auth {
  try {
    authenticator("check");
  } catch {
    // Its message may repeat the seed.
    throw unusable(problem);
  }
  return authenticator;
}

async function readable(path: string, setting: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw unusable(`the file of ${setting} cannot be read (${code})`);
  }
}
