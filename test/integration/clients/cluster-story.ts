// The scenario of a cluster with real clients: all connect to one machine and play by requests to the other, then the
// first one ends. Each library has its session again on the other machine, the music plays, and its commands arrive.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isNatsMissing, natsTitle } from "../../support/nats-server.ts";
import { TestCluster, type TestClusterOptions } from "../../support/test-cluster.ts";
import { BoundClient } from "./bound-client.ts";
import type { RealClient } from "./client-driver.ts";
import { makeLongTone, PlayingBot } from "./restart-story.ts";

type ClusteredClient = Pick<RealClient, "name" | "create">;

const READY_TIMEOUT_MS = 20_000;
/** How long two connections may seem to send at once: the test's process reads one socket after the other. */
const OVERLAP_MS_MAX = 40;

/**
 * Tests of all these clients; `create` of a client is first called in the hooks. `roles`: of the machines, of which the
 * first two have clients. Default: two with all roles.
 */
export function describeCluster(
  clients: readonly ClusteredClient[],
  { roles }: Pick<TestClusterOptions, "roles"> = {},
): void {
  const ends = ["SIGKILL", "SIGTERM"] as const;
  describe.skipIf(isNatsMissing).each(ends)(natsTitle("the machine of the clients is ended by %s"), (signal) => {
    let cluster: TestCluster;
    const bots = new Map<string, PlayingBot>();

    beforeAll(async () => {
      cluster = await TestCluster.start({ files: { "song.wav": makeLongTone() }, ...(roles && { roles }) });
      cluster.balancer.only(cluster.first);
      const bound = await Promise.all(clients.map((client) => connected(cluster, client)));
      cluster.balancer.only(cluster.second);
      const url = `${cluster.media.url}/song.wav`;
      const playing = await Promise.all(bound.map(({ name, client }) => PlayingBot.begin(name, client, url)));
      for (const bot of playing) bots.set(bot.name, bot);
      await cluster.first.runs.end(signal);
    });
    afterAll(async () => {
      for (const { client } of bots.values()) await client.close();
      await cluster?.close();
    });

    it.concurrent.each(clients)(`$name resumes on the other machine after ${signal}`, async ({ name }) => {
      const bot = bots.get(name);
      await bot?.expectResumed();
      await bot?.expectControl();
    });

    it("nothing reached Discord that it would refuse, and no guild was sent to by two machines", () => {
      expect(() => cluster.discord.assertClean()).not.toThrow();
      const overlaps = cluster.discord.overlaps.filter(({ fromMs, toMs }) => toMs - fromMs > OVERLAP_MS_MAX);
      expect(overlaps).toEqual([]);
    });
  });
}

async function connected(
  cluster: TestCluster,
  { name, create }: ClusteredClient,
): Promise<{ readonly name: string; readonly client: BoundClient }> {
  const client = await BoundClient.take(cluster, create);
  await client.driver.connect();
  await client.receivedEvents.once("ready", READY_TIMEOUT_MS);
  return { name, client };
}
