import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { NatsServer } from "../../../src/cluster/nats-servers.ts";
import { isQuorumRefused } from "../../../src/cluster/quorum-evidence.ts";

const listening: Server[] = [];
let there: readonly NatsServer[];
let refusing: readonly NatsServer[];

beforeAll(async () => {
  const ports = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const server = createServer((socket) => socket.destroy());
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      listening.push(server);
      return (server.address() as AddressInfo).port; // a TCP server that listens
    }),
  );
  const servers = ports.map((port) => ({ host: "127.0.0.1", port }));
  there = servers.slice(0, 5);
  refusing = servers.slice(5);
  await Promise.all(listening.splice(5).map((server) => new Promise((resolve) => server.close(resolve))));
});

afterAll(() => {
  for (const server of listening) server.close();
});

test.each([
  { refused: 1, accepting: 0, replicas: 1, isProven: true },
  { refused: 0, accepting: 1, replicas: 1, isProven: false },
  { refused: 1, accepting: 2, replicas: 3, isProven: false },
  { refused: 2, accepting: 1, replicas: 3, isProven: true },
  { refused: 3, accepting: 0, replicas: 3, isProven: true },
  // The bucket may be on the two that are there and one of the others.
  { refused: 3, accepting: 2, replicas: 3, isProven: false },
  { refused: 4, accepting: 1, replicas: 3, isProven: true },
  { refused: 2, accepting: 1, replicas: 1, isProven: false },
  // There are others that are not known.
  { refused: 2, accepting: 0, replicas: 3, isProven: false },
])(
  "$refused refusing and $accepting accepting servers with a bucket on $replicas: $isProven",
  async ({ refused, accepting, replicas, isProven }) => {
    const servers = [...refusing.slice(0, refused), ...there.slice(0, accepting)];
    expect(await isQuorumRefused(servers, replicas)).toBe(isProven);
  },
);

test("a name that cannot be resolved may be there for others", async () => {
  expect(await isQuorumRefused([...refusing.slice(0, 3), { host: "nobody.invalid", port: 4222 }], 3)).toBe(false);
});

test("the two addresses of a local name are one server", async () => {
  const [one] = refusing;
  expect(await isQuorumRefused([{ host: "localhost", port: one!.port }], 1)).toBe(true);
  expect(await isQuorumRefused([{ host: "localhost", port: one!.port }, one!], 3)).toBe(false);
});
