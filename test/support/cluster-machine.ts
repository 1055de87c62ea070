// A machine of a cluster for tests of what is below membership: its link and bucket, over real NATS servers.

import type { Bucket } from "../../src/cluster/bucket.ts";
import { connectCluster } from "../../src/cluster/connect-cluster.ts";
import type { LinkStatus, MachineLink } from "../../src/cluster/machine-link.ts";
import { type ClusterSettings, MACHINE_ROLES } from "../../src/config/cluster-settings.ts";
import { Secret } from "../../src/config/keys/secret.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { createLogger } from "../../src/log/log.ts";
import type { NatsServer } from "./nats-server.ts";

export interface ClusterMachine {
  readonly link: MachineLink;
  readonly bucket: Bucket;
  /** Each as `level message {fields}`, from "info" on. */
  readonly lines: readonly string[];
}

/** The settings of a machine on these servers. */
export function settingsFor(
  servers: readonly Pick<NatsServer, "url">[],
  changes: Partial<ClusterSettings> = {},
): ClusterSettings {
  return {
    servers: servers.map(({ url }) => url),
    name: "test",
    machine: "machine",
    roles: MACHINE_ROLES,
    regions: [],
    login: { kind: "none" },
    tls: undefined,
    key: new Secret("a key for tests"),
    ...changes,
  };
}

/** Close its link. */
export async function startMachine(settings: ClusterSettings, clock: Clock = systemClock): Promise<ClusterMachine> {
  const lines: string[] = [];
  const logger = createLogger((level, message, fields) => {
    if (level !== "debug") lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  });
  const { link, bucket } = await connectCluster(settings, { clock, random: systemRandom, logger });
  return { link, bucket, lines };
}

/** Resolves when its status is like that. */
export function untilStatus(link: MachineLink, isIt: (status: LinkStatus) => boolean): Promise<void> {
  return new Promise((resolve) => {
    if (isIt(link.status)) return resolve();
    const stop = link.onStatus((status) => {
      if (!isIt(status)) return;
      stop();
      resolve();
    });
  });
}

export async function untilConnected(link: MachineLink): Promise<void> {
  await untilStatus(link, ({ kind }) => kind === "connected");
}
