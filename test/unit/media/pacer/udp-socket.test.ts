// The UDP socket of a session against a server that floods it.

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { createHandlerGuard } from "../../../../src/media/pacer/handler-guard.ts";
import { UdpSocket } from "../../../../src/media/pacer/udp-socket.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle, until } from "../../../support/voice-builders.ts";

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function prepare() {
  const server = createSocket("udp4");
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const received: Buffer[] = [];
  let peerPort = 0;
  server.on("message", (packet, peer) => {
    received.push(packet);
    peerPort = peer.port;
  });
  const clock = new FakeClock();
  const failures: unknown[] = [];
  const guarded = createHandlerGuard({ work: (handler) => handler(), onThrown: (error) => failures.push(error) });
  const entered = { count: 0 };
  const udp = new UdpSocket({
    socket: createSocket("udp4"),
    address: "127.0.0.1",
    port: server.address().port,
    clock,
    guardHandler: (handler) =>
      guarded((...args) => {
        entered.count++;
        handler(...args);
      }),
    onError: (error) => failures.push(error),
    onDead: (error) => failures.push(error),
  });
  open.push(server, udp);
  await udp.connect();
  udp.send(Buffer.from("hello"));
  await until(() => received.length === 1);
  const say = (packet: Buffer, count = 1) => sendMany(server, packet, { count, port: peerPort });
  return { udp, clock, received, entered, failures, say };
}

async function sendMany(server: Socket, packet: Buffer, to: { count: number; port: number }): Promise<void> {
  for (let count = 0; count < to.count; count++) {
    await new Promise((resolve) => server.send(packet, to.port, "127.0.0.1", resolve));
  }
  await settle();
}

function discoveryAnswer(): Buffer {
  const answer = Buffer.alloc(74);
  answer.writeUInt32BE(0x0002_0046);
  answer.write("203.0.113.9", 8);
  answer.writeUInt16BE(4000, 72);
  return answer;
}

describe("a UDP port that is flooded", () => {
  test("a flooded UDP port reads some hundred datagrams and leaves the others to the system, while it keeps sending", async () => {
    const { udp, received, entered, failures, say } = await prepare();
    const before = entered.count;
    await say(Buffer.alloc(200, 0x90), 5000);
    expect(entered.count - before).toBeGreaterThanOrEqual(100);
    expect(entered.count - before).toBeLessThanOrEqual(140);
    udp.send(Buffer.from("still here"));
    await until(() => received.length === 2);
    expect(failures).toEqual([]);
  });

  test("a flooded UDP port receives again after a second", async () => {
    const { udp, clock, say } = await prepare();
    await say(Buffer.alloc(200, 0x90), 3000);
    clock.advance(1000);
    await settle();
    clock.advance(5000);
    const found = udp.discover(1, new AbortController().signal);
    // The rest of the flood in the system's buffer arrives first, and receiving is paused once more.
    await until(() => {
      void say(discoveryAnswer());
      clock.advance(100);
      return clock.pendingCount === 0;
    });
    expect(await found).toEqual({ address: "203.0.113.9", port: 4000 });
  });

  test("a flooded UDP port that is closed leaves no timer", async () => {
    const { udp, clock, say } = await prepare();
    await say(Buffer.alloc(200), 1000);
    expect(clock.pendingCount).toBe(1);
    udp.close();
    expect(clock.pendingCount).toBe(0);
  });
});

describe("IP discovery", () => {
  test.each([
    ["too short", discoveryAnswer().subarray(0, 73)],
    ["too long", Buffer.concat([discoveryAnswer(), Buffer.alloc(1)])],
    ["a request", Buffer.concat([Buffer.from([0, 1]), discoveryAnswer().subarray(2)])],
    ["of a wrong length", Buffer.concat([Buffer.from([0, 2, 0, 71]), discoveryAnswer().subarray(4)])],
    ["without an address", Buffer.concat([discoveryAnswer().subarray(0, 8), Buffer.alloc(66)])],
    ["with an address of noise", Buffer.concat([discoveryAnswer().subarray(0, 8), Buffer.alloc(66, 0xff)])],
    ["empty", Buffer.alloc(0)],
  ])("IP discovery waits for the right response when one arrives that is %s", async (_name, wrong) => {
    const { udp, say, failures } = await prepare();
    const found = udp.discover(1, new AbortController().signal);
    await say(wrong);
    await say(discoveryAnswer());
    expect(await found).toEqual({ address: "203.0.113.9", port: 4000 });
    expect(failures).toEqual([]);
  });

  test("a discovery response that arrives when nobody waits any more is dropped", async () => {
    const { udp, clock, say, failures } = await prepare();
    const found = udp.discover(1, new AbortController().signal);
    clock.advance(3000);
    expect(await found).toBeUndefined();
    await say(discoveryAnswer());
    expect(failures).toEqual([]);
  });
});
