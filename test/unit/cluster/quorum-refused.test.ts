import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClusterMachine, settingsFor, startMachine, untilConnected } from "../../support/cluster-machine.ts";
import { isNatsMissing, leaderAndOthers, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("the proof that NATS is away, with three servers"), () => {
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

  test("NATS is away for all when two of three refuse connections, also those that were not configured", async () => {
    const [leader, [second]] = await leaderAndOthers(servers);
    expect(await machine.link.isQuorumRefused()).toBe(false);
    await leader.kill();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    await second!.kill();
    expect(await machine.link.isQuorumRefused()).toBe(true);
    await second!.restart();
    expect(await machine.link.isQuorumRefused()).toBe(false);
  });

  test("servers that are silent may be there for others", async () => {
    const [leader, [second, third]] = await leaderAndOthers(servers);
    leader.pause();
    second!.pause();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    await third!.kill();
    expect(await machine.link.isQuorumRefused()).toBe(false);
    leader.continue();
    second!.continue();
  });
});

describe.skipIf(isNatsMissing)(natsTitle("the proof that NATS is away, with one server"), () => {
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
