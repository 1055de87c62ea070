// The lab's load balancer with servers that name themselves.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Balancer } from "../../../../lab/cluster/balancer.ts";

interface Named {
  readonly port: number;
  readonly server: Server;
  readonly sockets: Socket[];
}

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Says its name to each connection, then repeats what it receives. */
async function named(name: string): Promise<Named> {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket.on("error", () => undefined));
    socket.write(name);
    socket.pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  closing.push(() => sockets.map((socket) => socket.destroy()));
  return { port: (server.address() as AddressInfo).port, server, sockets };
}

async function balance(...machines: readonly Named[]): Promise<Balancer<Named>> {
  const balancer = await Balancer.start(machines);
  closing.push(() => balancer.close());
  return balancer;
}

function open(balancer: Balancer<Named>): Socket {
  const socket = connect({ host: "127.0.0.1", port: balancer.port, allowHalfOpen: true });
  closing.push(() => socket.destroy());
  return socket.on("error", () => undefined).setEncoding("utf8");
}

async function nameAt(socket: Socket): Promise<string> {
  const [name] = await once(socket, "data");
  return String(name);
}

async function names(balancer: Balancer<Named>, count: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (let index = 0; index < count; index++) found.push(await nameAt(open(balancer)));
  return found;
}

async function close(machine: Named): Promise<void> {
  machine.server.close();
  for (const socket of machine.sockets) socket.destroy();
  await once(machine.server, "close");
}

test("new connections go round robin to the machines, or only to those chosen", async () => {
  const [a, b] = [await named("a"), await named("b")];
  const balancer = await balance(a, b);
  expect(await names(balancer, 4)).toEqual(["a", "b", "a", "b"]);
  balancer.only(b);
  expect(await names(balancer, 3)).toEqual(["b", "b", "b"]);
  balancer.all();
  expect(new Set(await names(balancer, 2))).toEqual(new Set(["a", "b"]));
});

test("a machine that refuses connections is left out at once, and with none the client is reset", async () => {
  const [a, b] = [await named("a"), await named("b")];
  const balancer = await balance(a, b);
  await close(a);
  expect(await names(balancer, 4)).toEqual(["b", "b", "b", "b"]);
  await close(b);
  const [error] = await once(open(balancer), "error");
  expect((error as NodeJS.ErrnoException).code).toBe("ECONNRESET");
});

test("bytes pass both ways, and each direction ends by itself", async () => {
  const balancer = await balance(await named("a"));
  const socket = open(balancer);
  await nameAt(socket);
  const repeated = nameAt(socket);
  socket.end("last words");
  expect(await repeated).toBe("last words");
  await once(socket, "end");
});

test("the end of a machine's connection ends its client's, a reset with a reset", async () => {
  const a = await named("a");
  const balancer = await balance(a);
  const [ended, reset] = [open(balancer), open(balancer)];
  await nameAt(ended);
  await nameAt(reset);
  const [endedClosed, resetError] = [once(ended.resume(), "end"), once(reset.resume(), "error")];
  a.sockets[0]?.destroy();
  a.sockets[1]?.resetAndDestroy();
  await endedClosed;
  const [error] = await resetError;
  expect((error as NodeJS.ErrnoException).code).toBe("ECONNRESET");
});

test("a dropped machine loses its connections, and the others keep theirs", async () => {
  const [a, b] = [await named("a"), await named("b")];
  const balancer = await balance(a, b);
  const [first, second] = [open(balancer), open(balancer)];
  expect([await nameAt(first), await nameAt(second)]).toEqual(["a", "b"]);
  const ended = once(first.resume(), "end");
  balancer.drop(a);
  await ended;
  const repeated = nameAt(second);
  second.write("still here");
  expect(await repeated).toBe("still here");
  await Promise.all(a.sockets.map((socket) => socket.closed || once(socket, "close")));
});

test("the machine of an open connection is known by the client's port", async () => {
  const [a, b] = [await named("a"), await named("b")];
  const balancer = await balance(a, b);
  const [first, second] = [open(balancer), open(balancer)];
  for (const socket of [first, second]) {
    const name = await nameAt(socket);
    const machine = balancer.machineOf(socket.localPort ?? 0);
    expect(machine).toBe(name === "a" ? a : b);
  }
});
