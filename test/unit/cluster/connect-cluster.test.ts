import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { ClusterSettings } from "../../../src/config/cluster-settings.ts";
import { Secret } from "../../../src/config/keys/secret.ts";
import {
  type ClusterMachine,
  settingsFor,
  startMachine,
  untilConnected,
  untilStatus,
} from "../../support/cluster-machine.ts";
import { isNatsMissing, NatsServer, type NatsServerOptions, natsTitle } from "../../support/nats-server.ts";

const USERS = 'authorization { user: tester, password: "hunter2" }';
const PASSWORD = { kind: "password", user: "tester", password: new Secret("hunter2") } as const;

/** Runs a server and a machine on it, and closes both. */
async function on(
  options: NatsServerOptions,
  changes: Partial<ClusterSettings>,
  run: (machine: ClusterMachine, server: NatsServer) => Promise<void>,
): Promise<void> {
  const server = await NatsServer.start(options);
  const machine = await startMachine(settingsFor([server], changes));
  try {
    await run(machine, server);
  } finally {
    await machine.link.close();
    await server.stop();
  }
}

/** The reason why the machine is not connected, once it is one that the pattern matches. */
async function untilReason({ link }: ClusterMachine, pattern: RegExp): Promise<void> {
  await untilStatus(link, (status) => status.kind === "disconnected" && pattern.test(status.reason));
}

function warnings({ lines }: ClusterMachine): readonly string[] {
  return lines.filter((line) => line.startsWith("warn"));
}

describe.skipIf(isNatsMissing)(natsTitle("connecting to the cluster"), () => {
  test.each([
    ["user and password", [USERS], PASSWORD],
    ["a token", ['authorization { token: "s3cret" }'], { kind: "token", token: new Secret("s3cret") } as const],
    [
      "an nkey",
      ["authorization { users: [ { nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 } ] }"],
      // The example of the NATS documentation.
      { kind: "nkey", seed: new Secret("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY") } as const,
    ],
  ])("the login with %s works", async (_name, lines, login) => {
    const own = login.kind === "password" ? { user: "tester", pass: "hunter2" } : undefined;
    const token = login.kind === "token" ? { token: "s3cret" } : undefined;
    const { nkeyAuthenticator } = await import("@nats-io/transport-node");
    const nkey = login.kind === "nkey" && {
      authenticator: nkeyAuthenticator(new TextEncoder().encode(login.seed.reveal())),
    };
    await on({ lines, login: { ...own, ...token, ...nkey } }, { login }, async (machine) => {
      await untilConnected(machine.link);
    });
  });

  test("a wrong password is told once and without the password, and a server that takes it ends that", async () => {
    const login = { user: "tester", pass: "hunter2" };
    const wrong = { kind: "password", user: "tester", password: new Secret("wr0ng") } as const;
    await on({ lines: [USERS], login }, { login: wrong }, async (machine, server) => {
      await untilReason(machine, /refuses the login/);
      const attempts = Promise.all([1, 2].map(() => machine.bucket.get("a").catch((error: Error) => error.message)));
      expect((await attempts).every((message) => message?.toString().includes("refuses the login"))).toBe(true);
      expect(warnings(machine)).toHaveLength(1);
      expect(machine.lines.join()).not.toContain("wr0ng");
      await server.kill();
      await untilReason(machine, /no NATS server accepts connections/);
    });
  });

  test("a server without JetStream is told as such", async () => {
    await on({ hasJetStream: false }, {}, async (machine) => {
      await untilReason(machine, /no JetStream: start it with --jetstream/);
      expect(warnings(machine)).toHaveLength(1);
    });
  });

  test("a user who may not write to the bucket is told what is missing", async () => {
    const permissions = 'publish: { deny: ["$KV.>"] }';
    const user = `{ user: tester, password: "hunter2", permissions: { ${permissions} } }`;
    const lines = [`authorization { users: [ ${user} ] }`];
    const login = { user: "tester", pass: "hunter2" };
    await on({ lines, login }, { login: PASSWORD }, async (machine) => {
      await untilReason(machine, /may not publish to \$KV\.test\.meta\.contract/);
    });
  });

  test("a bucket that is sealed with another key keeps a machine out", async () => {
    await on({}, {}, async (machine, server) => {
      await untilConnected(machine.link);
      const stranger = await startMachine(settingsFor([server], { key: new Secret("another key") }));
      await untilReason(stranger, /sealed with another key: .*tonearm\.state\.key/);
      expect(warnings(stranger)).toHaveLength(1);
      expect(stranger.lines.join()).not.toContain('another key"');
      await stranger.link.close();
    });
  });

  test("a bucket that was made otherwise is changed into what is needed", async () => {
    const server = await NatsServer.start();
    const nats = await server.connect();
    const config = { name: "KV_test", subjects: ["$KV.test.>"], storage: "file", num_replicas: 1 };
    const limited = JSON.stringify({ ...config, max_msgs_per_subject: 1 });
    await nats.request("$JS.API.STREAM.CREATE.KV_test", limited);
    const machine = await startMachine(settingsFor([server]));
    await untilConnected(machine.link);
    const info = await nats.request("$JS.API.STREAM.INFO.KV_test");
    const changed = { max_msgs_per_subject: -1, allow_rollup_hdrs: true, discard: "new" };
    expect(info.json()).toMatchObject({
      config: { ...changed, allow_atomic: true, allow_msg_ttl: true, allow_direct: true },
    });
    await nats.close();
    await machine.link.close();
    await server.stop();
  });

  test("a server with little room gets a smaller bucket", async () => {
    const server = await NatsServer.start({ hasJetStream: false });
    await server.stop();
    const folder = await mkdtemp(join(tmpdir(), "nats-store-"));
    const lines = [`jetstream { store_dir: "${folder}", max_file_store: 200M, max_memory_store: 16M }`];
    await on({ hasJetStream: false, lines }, {}, async (machine) => {
      await untilConnected(machine.link);
      expect(machine.lines.join()).toContain(`"sizeBytes":${128 * 1024 * 1024}`);
    });
    await rm(folder, { recursive: true, force: true });
  });

  test("a bucket that is nearly full takes only what keeps machines in their place, and removals", async () => {
    const folder = await mkdtemp(join(tmpdir(), "nats-store-"));
    const lines = [`jetstream { store_dir: "${folder}", max_file_store: 20M, max_memory_store: 16M }`];
    await on({ hasJetStream: false, lines }, {}, async (machine, server) => {
      await untilConnected(machine.link);
      const timeoutMs = 10_000;
      for (let index = 0; index < 15; index++) {
        const changes = Array.from({ length: 10 }, (_none, part) => ({
          key: `player/${index}/${part}`,
          value: "x".repeat(99_000),
        }));
        await machine.bucket.write(changes, { timeoutMs });
      }
      const late = await startMachine(settingsFor([server]));
      await untilConnected(late.link);
      await expect.poll(() => late.lines.join()).toContain("nearly full");
      await expect(late.bucket.write([{ key: "player/a/1", value: "x" }], { timeoutMs })).rejects.toMatchObject({
        code: "state-full",
        message: expect.stringContaining("max_bytes"),
      });
      await late.bucket.write([{ key: "machine/a", value: "x" }], { timeoutMs });
      await late.bucket.write([{ key: "player/0/0", value: undefined }], { timeoutMs });
      await late.link.close();
    });
    await rm(folder, { recursive: true, force: true });
  });

  test("nothing is waited for: a machine starts while NATS is away, and connects when it is there", async () => {
    const server = await NatsServer.start();
    await server.kill();
    const machine = await startMachine(settingsFor([server]));
    expect(machine.link.status.kind).toBe("disconnected");
    await untilReason(machine, /no NATS server accepts connections/);
    await server.restart();
    await untilConnected(machine.link);
    await machine.link.close();
    await server.stop();
  });
});

test("a server that takes no machine is tried again and again, and told of once", async () => {
  let connectionCount = 0;
  const server = createServer((socket) => {
    connectionCount++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens
  const machine = await startMachine(settingsFor([{ url: `nats://127.0.0.1:${port}` }]));
  await expect.poll(() => connectionCount).toBeGreaterThan(3);
  expect(warnings(machine)).toHaveLength(1);
  await machine.link.close();
  server.close();
});

describe("settings of the cluster that cannot work", () => {
  test.each([
    ["an address with a login", { servers: ["nats://user:hunter2@127.0.0.1:4222"] }],
    ["an address of another kind", { servers: ["http://127.0.0.1:4222"] }],
    ["an nkey that is none", { login: { kind: "nkey", seed: new Secret("SUhunter2") } as const }],
    ["credentials that are not there", { login: { kind: "credentials", path: "/nowhere/hunter2" } as const }],
    ["an authority that is not there", { tls: { caPath: "/nowhere/hunter2" } }],
  ])("%s is refused at start, without repeating it", async (_name, changes) => {
    const error: unknown = await startMachine(settingsFor([{ url: "nats://127.0.0.1:1" }], changes)).catch((e) => e);
    expect(error).toMatchObject({ code: "cluster-unusable" });
    expect(String(error)).not.toContain("hunter2");
  });

  test("a missing file of TLS is named by its key", async () => {
    const tls = { certificatePath: fileURLToPath(import.meta.url), keyPath: "/nowhere/hunter2" };
    const error: unknown = await startMachine(settingsFor([{ url: "nats://127.0.0.1:1" }], { tls })).catch((e) => e);
    expect(String(error)).toContain("tonearm.cluster.tls.key cannot be read (ENOENT)");
    expect(String(error)).not.toContain("hunter2");
  });

  test("a credentials file without credentials is refused at start", async () => {
    const folder = await mkdtemp(join(tmpdir(), "credentials-"));
    const path = join(folder, "user.creds");
    await writeFile(path, "hunter2");
    const login = { kind: "credentials", path } as const;
    const error: unknown = await startMachine(settingsFor([{ url: "nats://127.0.0.1:1" }], { login })).catch((e) => e);
    expect(error).toMatchObject({ code: "cluster-unusable" });
    expect(String(error)).not.toContain("hunter2");
    await rm(folder, { recursive: true });
  });
});
