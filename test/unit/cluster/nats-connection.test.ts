import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type ClusterMachine,
  settingsFor,
  startMachine,
  untilConnected,
  untilStatus,
} from "../../support/cluster-machine.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("three NATS servers"), () => {
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

  test("one that hangs is left for another one, which takes calls at once", async () => {
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

  test("writes at the same time under one guard all succeed", async () => {
    const [revision = 0] = await machine.bucket.write([{ key: "life/a", value: "a" }], { timeoutMs: 5000 });
    const options = { guard: { key: "life/a", revision }, timeoutMs: 10_000 };
    const writes = Array.from({ length: 100 }, (_none, index) =>
      machine.bucket.write([{ key: `owner/${index}`, value: "1", expected: 0 }], options),
    );
    expect(new Set((await Promise.all(writes)).flat()).size).toBe(100);
  });
});
