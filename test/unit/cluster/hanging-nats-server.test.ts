import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type ClusterMachine,
  settingsFor,
  startMachine,
  untilConnected,
  untilStatus,
} from "../../support/cluster-machine.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("a NATS server that hangs"), () => {
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

  test("it is left for another one, which takes calls at once", async () => {
    const { status } = machine.link;
    const address = status.kind === "connected" ? status.server : "";
    const hanging = servers.find(({ port }) => address.endsWith(`:${port}`))!;
    const end = machine.link.serve("a", "rest", async () => "answer");
    hanging.pause();
    await untilStatus(machine.link, (now) => now.kind === "connected" && now.server !== address);
    expect(await machine.link.call("a", "rest", "", { timeoutMs: 5000 })).toBe("answer");
    hanging.continue();
    end();
  });
});
