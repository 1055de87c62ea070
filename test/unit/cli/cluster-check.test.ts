import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClusterCheckOptions, clusterCheck } from "../../../src/cli/doctor/cluster-check.ts";
import type { ClusterSettings } from "../../../src/config/cluster-settings.ts";
import { Secret } from "../../../src/config/keys/secret.ts";

let folder: string;
let servers: Server[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-cluster-"));
  servers = [];
});
afterEach(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

/** The address of a server that accepts connections. */
async function listening(): Promise<string> {
  const server = createServer((socket) => socket.destroy());
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The address of a port that was in use a moment ago. */
async function refusing(): Promise<string> {
  const address = await listening();
  const server = servers.pop();
  server?.close();
  if (server !== undefined) await once(server, "close");
  return address;
}

function check(addresses: readonly string[], more: Partial<ClusterSettings> & ClusterCheckOptions = {}) {
  const { connect, timeoutMs = 60_000, ...settings } = more;
  const cluster: ClusterSettings = {
    servers: addresses.map((address) => `nats://${address}`),
    name: "tonearm",
    machine: "node-1",
    roles: ["gateway", "audio"],
    regions: [],
    login: { kind: "none" },
    tls: undefined,
    key: new Secret("hush"),
    ...settings,
  };
  return clusterCheck(cluster, { timeoutMs, ...(connect && { connect }) }).run();
}

describe("the doctor's line about the cluster", () => {
  test("servers that accept connections pass", async () => {
    expect(await check([await listening(), await listening()])).toEqual({
      status: "ok",
      found: "2 of 2 NATS servers can be reached",
    });
  });

  test("a server that refuses is a warning with its address while others accept, and a failure without any", async () => {
    const dead = await refusing();
    expect(await check([dead, await listening()])).toEqual({
      status: "warn",
      found: `1 of 2 NATS servers can be reached; ${dead}: connection refused`,
      advice: expect.stringContaining("tonearm.cluster.servers"),
    });
    expect(await check([dead])).toMatchObject({ status: "fail" });
  });

  test("a server that does not answer is not waited for, and its connection is closed", async () => {
    const socket = new Socket();
    const asked: unknown[] = [];
    const connect = (...address: unknown[]) => {
      asked.push(address);
      return socket;
    };
    const { found } = await check(["[2001:db8::7]:4222"], { connect, timeoutMs: 1 });
    expect(found).toContain("2001:db8::7:4222: no answer within 1 ms");
    expect(asked).toEqual([[4222, "2001:db8::7"]]);
    expect(socket.destroyed).toBe(true);
  });

  test.each([
    ["ENOTFOUND", "its name is unknown"],
    ["EHOSTUNREACH", "EHOSTUNREACH"],
  ])("the failure %s is reported as: %s", async (code, reason) => {
    const connect = () => new Socket().destroy(Object.assign(new Error("x"), { code }));
    expect((await check(["nats-1:4222"], { connect })).found).toContain(`nats-1:4222: ${reason}`);
  });

  test("of many servers that fail the first are named, and the others are counted", async () => {
    const connect = () => new Socket().destroy(Object.assign(new Error("x"), { code: "ECONNREFUSED" }));
    const { found } = await check(
      Array.from({ length: 64 }, (_, index) => `n${index}:4222`),
      { connect },
    );
    expect(found).toMatch(/; n4:4222: connection refused; and 59 more$/);
  });

  test("files that can be read pass, those that cannot fail with their keys", async () => {
    const [good, missing] = [join(folder, "good"), join(folder, "missing")];
    writeFileSync(good, "x");
    const address = await listening();
    const login = { kind: "credentials", path: good } as const;
    expect(await check([address], { login, tls: { caPath: good } })).toMatchObject({ status: "ok" });
    expect(await check([address], { login, tls: { caPath: missing, certificatePath: folder, keyPath: good } })).toEqual(
      {
        status: "fail",
        found:
          `${missing} of tonearm.cluster.tls.ca cannot be read (ENOENT); ` +
          `${folder} of tonearm.cluster.tls.certificate cannot be read (EISDIR)`,
        advice: "correct the path or the permissions",
      },
    );
  });
});
