import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Certificates } from "../../support/certificates.ts";
import { settingsFor, startMachine, untilConnected, untilStatus } from "../../support/cluster-machine.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("a NATS server with TLS"), () => {
  const certificates = new Certificates();
  let server: NatsServer;
  let url: string;

  beforeAll(async () => {
    for (const name of ["server", "machine", "stranger"]) certificates.make(name);
    const files = `cert_file: "${certificates.path("server.crt")}", key_file: "${certificates.path("server.key")}"`;
    const own = { caFile: certificates.path("server.crt") };
    const client = { certFile: certificates.path("machine.crt"), keyFile: certificates.path("machine.key") };
    server = await NatsServer.start({
      lines: [`tls { ${files}, ca_file: "${certificates.path("machine.crt")}", verify: true }`],
      login: { tls: { ...own, ...client } },
    });
    url = `tls://localhost:${server.port}`;
  });

  afterAll(async () => {
    await server.stop();
    certificates.remove();
  });

  const caPath = certificates.path("server.crt");
  const certificatePath = certificates.path("machine.crt");
  const keyPath = certificates.path("machine.key");

  test("takes a machine that trusts it and has a certificate that it trusts", async () => {
    const machine = await startMachine(settingsFor([{ url }], { tls: { caPath, certificatePath, keyPath } }));
    await untilConnected(machine.link);
    await machine.link.close();
  });

  test.each([
    ["is not trusted with other authorities", { caPath: certificates.path("stranger.crt"), certificatePath, keyPath }],
    ["takes no machine without a certificate", { caPath }],
  ])("%s, and that is told once", async (_name, tls) => {
    const machine = await startMachine(settingsFor([{ url }], { tls }));
    await expect.poll(() => machine.lines.join()).toMatch(/warn cluster out of reach: .*(TLS|certificate)/);
    expect(new Set(machine.lines).size).toBe(machine.lines.length);
    await machine.link.close();
  });
});

test.skipIf(isNatsMissing)(natsTitle("a server without TLS is refused where TLS is configured"), async () => {
  const server = await NatsServer.start();
  const machine = await startMachine(settingsFor([{ url: `tls://127.0.0.1:${server.port}` }]));
  await untilStatus(machine.link, (status) => status.kind === "disconnected" && /has no TLS/.test(status.reason));
  await machine.link.close();
  await server.stop();
});
