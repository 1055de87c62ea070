import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClusterMachine, settingsFor, startMachine, untilConnected } from "../../support/cluster-machine.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../support/nats-server.ts";

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

  /** The server that leads the bucket, and the others. */
  async function leaderAndOthers(): Promise<readonly [NatsServer, readonly NatsServer[]]> {
    const nats = await servers[0]!.connect();
    const info = await nats.request("$JS.API.STREAM.INFO.KV_test");
    await nats.close();
    const { cluster } = info.json<{ cluster: { leader: string } }>();
    const leader = servers.find(({ name }) => name === cluster.leader)!;
    return [leader, servers.filter((server) => server !== leader)];
  }

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
    const [leader] = await leaderAndOthers();
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

  test("NATS is away for all when two of three refuse connections, also those that were not configured", async () => {
    const [leader, [second]] = await leaderAndOthers();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    await leader.kill();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    await second!.kill();
    expect(await machine.link.isQuorumRefused()).toBe(true);
    await second!.restart();
    expect(await machine.link.isQuorumRefused()).toBe(false);
  });

  test("servers that are silent may be there for others", async () => {
    const [leader, [second, third]] = await leaderAndOthers();
    leader.pause();
    second!.pause();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    await third!.kill();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    leader.continue();
    second!.continue();
  });

  test("a server that hangs is left for another before a lease of six seconds ends", async () => {
    const { status } = machine.link;
    const port = status.kind === "connected" ? status.server : "";
    const hanging = servers.find((server) => port.endsWith(`:${server.port}`))!;
    hanging.pause();
    const start = performance.now();
    await persistently(() => machine.bucket.write([{ key: "machine/a", value: "1" }], { timeoutMs: 2000 }));
    expect(machine.link.status).not.toEqual(status);
    process.stdout.write(`left the hanging server after ${Math.round(performance.now() - start)} ms\n`);
    hanging.continue();
  });
});

describe.skipIf(isNatsMissing)(natsTitle("a cluster on one NATS server"), () => {
  test("NATS is away when it refuses connections, not when it hangs", async () => {
    const server = await NatsServer.start();
    const machine = await startMachine(settingsFor([server]));
    expect(await machine.link.isQuorumRefused()).toBe(false);
    await untilConnected(machine.link);
    expect(await machine.link.isQuorumRefused()).toBe(false);
    server.pause();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    server.continue();
    await server.kill();
    expect(await machine.link.isQuorumRefused()).toBe(true);
    await machine.link.close();
    await server.stop();
  });
});
