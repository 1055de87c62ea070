import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClusterMachine, settingsFor, startMachine, untilConnected } from "../../support/cluster-machine.ts";
import { isNatsMissing, leaderAndOthers, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("a cluster on three NATS servers"), () => {
  let servers: readonly NatsServer[];
  let machine: ClusterMachine;

  beforeEach(async () => {
    servers = await NatsServer.startThree();
    machine = await startMachine(settingsFor(servers.slice(0, 1)));
    await untilConnected(machine.link);
  });

  afterEach(async () => {
    await machine.link.close();
    await Promise.all(servers.map((server) => server.stop()));
  });

  /** Repeats what NATS did not answer, as a store does. */
  async function persistently<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        expect(error).toMatchObject({ code: "cluster-away" });
        await untilConnected(machine.link);
      }
    }
  }

  test("writes go on when the leader is killed, and nothing that was acknowledged is lost", async () => {
    expect(machine.lines[0]).toContain('"replicas":3');
    const [revision = 0] = await machine.bucket.write([{ key: "life/a", value: "a" }], { timeoutMs: 5000 });
    const guard = { key: "life/a", revision };
    const [leader] = await leaderAndOthers(servers);
    let killed: Promise<void> | undefined;
    let last = revision;
    for (let index = 0; index < 200; index++) {
      if (index === 100) killed = leader.kill();
      const changes = [
        { key: `player/s/${index}`, value: `${index}` },
        { key: `track/s/${index}`, value: `${index}` },
      ];
      const revisions = await persistently(() => machine.bucket.write(changes, { guard, timeoutMs: 1000 }));
      last = revisions[1] ?? last;
    }
    await killed;
    const atLeast = { key: "track/s/199", revision: last };
    const found = await persistently(() => machine.bucket.read(["*/s/*"], { atLeast }));
    expect(new Set(found.map(({ key }) => key)).size).toBe(400);
  });
});
