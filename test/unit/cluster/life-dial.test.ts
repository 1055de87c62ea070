// The dial and the listener with real sockets, and a real process that is killed.

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Dialled, dial, type Lifeline } from "../../../src/cluster/life-dial.ts";
import { LifeListener } from "../../../src/cluster/life-listener.ts";
import { silentLogger } from "../../../src/log/log.ts";
import { LifeProgram } from "../../support/life-process.ts";

const HOST = "127.0.0.1";

const closing: (() => unknown)[] = [];

afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
});

async function listen(id: string | undefined = "m1"): Promise<{ listener: LifeListener; port: number }> {
  const listener = new LifeListener({ logger: silentLogger });
  closing.push(() => listener.close());
  listener.listen();
  listener.setId(id);
  for (;;) {
    const endpoint = listener.endpoint(HOST);
    if (endpoint !== undefined) return { listener, port: endpoint.port };
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function serve(onSocket: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer(onSocket);
  closing.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return (server.address() as AddressInfo).port; // a TCP server that listens
}

function lineOf(dialled: Dialled): Lifeline {
  if (dialled.kind !== "verified") throw new Error(dialled.reason);
  closing.push(() => dialled.line.close());
  return dialled.line;
}

describe("a machine that is dialled", () => {
  test("is verified by its id, and its connection is lost when this side closes it", async () => {
    const { port } = await listen();
    const line = lineOf(await dial({ host: HOST, port, id: "m1" }));
    line.close();
    expect(await line.ended).toBe("lost");
  });

  test("is verified over each family of addresses", async () => {
    const { port } = await listen();
    const dialled = await dial({ host: "::1", port, id: "m1" });
    // Where the system has no IPv6, nobody listens there.
    expect(["verified", "silent"]).toContain(dialled.kind);
    if (dialled.kind === "verified") dialled.line.close();
  });

  test("is another one if it tells another id", async () => {
    const { port } = await listen("m2");
    expect(await dial({ host: HOST, port, id: "m1" })).toEqual({
      kind: "accepted",
      reason: "another process answers there",
    });
  });

  test("without an id accepts nobody", async () => {
    const { listener, port } = await listen();
    listener.setId(undefined);
    expect((await dial({ host: HOST, port, id: "m1" })).kind).toBe("accepted");
  });

  test("is not verified through a proxy, whose end would look like its own", async () => {
    const { port } = await listen();
    const proxyPort = await serve((socket) => {
      const onward = connect({ host: HOST, port });
      closing.push(() => onward.destroy());
      socket.on("error", () => undefined);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    expect(await dial({ host: HOST, port: proxyPort, id: "m1" })).toEqual({
      kind: "accepted",
      reason: "there is a proxy or an address translation between",
    });
  });

  test("is none where the answer is something else, or too long", async () => {
    const port = await serve((socket) => {
      socket.on("error", () => undefined);
      socket.write("x".repeat(5000));
    });
    expect((await dial({ host: HOST, port, id: "m1" })).kind).toBe("accepted");
  });

  test("takes another id by resetting its connections", async () => {
    const { listener, port } = await listen();
    const line = lineOf(await dial({ host: HOST, port, id: "m1" }));
    listener.setId("m2");
    expect(await line.ended).toBe("lost");
    lineOf(await dial({ host: HOST, port, id: "m2" }));
  });

  test("resets a connection on which something is said", async () => {
    const { port } = await listen();
    const socket = connect({ host: HOST, port });
    const failed = new Promise((resolve) => socket.on("error", resolve));
    socket.write("GET / HTTP/1.1\r\n\r\n");
    socket.resume();
    expect(await failed).toMatchObject({ code: "ECONNRESET" });
  });

  test("accepts no more connections than machines need", async () => {
    const { port } = await listen();
    const kinds: string[] = [];
    for (let index = 0; index < 66; index++) {
      const dialled = await dial({ host: HOST, port, id: "m1" });
      if (dialled.kind === "verified") closing.push(() => dialled.line.close());
      kinds.push(dialled.kind);
    }
    expect(kinds.filter((kind) => kind === "verified")).toHaveLength(64);
  });

  test("that has left closes its connections, and refuses others", async () => {
    const { listener, port } = await listen();
    const line = lineOf(await dial({ host: HOST, port, id: "m1" }));
    listener.close();
    expect(await line.ended).toBe("closed");
    expect((await dial({ host: HOST, port, id: "m1" })).kind).toBe("refused");
  });
});

describe("a process", () => {
  let program: LifeProgram;

  beforeAll(async () => {
    program = await LifeProgram.build();
  });
  afterAll(() => program?.close());

  test.each(["SIGKILL", "SIGSEGV"] as const)(
    "that ends by %s closes its connections, and refuses others",
    async (signal) => {
      const { child, port } = await program.start("m1");
      const line = lineOf(await dial({ host: HOST, port, id: "m1" }));
      child.kill(signal);
      expect(await line.ended).toBe("closed");
      // It may close its port a moment after its connections.
      await expect.poll(async () => (await dial({ host: HOST, port, id: "m1" })).kind).toBe("refused");
    },
  );

  test("that stands still keeps its connections, and accepts others without a word", async () => {
    const { child, port } = await program.start("m1");
    const line = lineOf(await dial({ host: HOST, port, id: "m1" }));
    child.kill("SIGSTOP");
    expect(await dial({ host: HOST, port, id: "m1" })).toEqual({ kind: "accepted", reason: "no answer" });
    const still = Symbol("still there");
    expect(await Promise.race([line.ended, Promise.resolve(still)])).toBe(still);
    child.kill("SIGKILL");
    expect(await line.ended).toBe("closed");
  });
});
