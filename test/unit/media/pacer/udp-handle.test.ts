import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DirectSender } from "../../../../src/media/pacer/udp-handle.ts";
import type { DatagramSocket } from "../../../../src/network/sockets.ts";
import { until } from "../../../support/voice-builders.ts";

const open: { close(): unknown }[] = [];
let received: number[];
let port: number;

beforeEach(async () => {
  received = [];
  const server = createSocket("udp4");
  open.push(server);
  server.on("message", (packet) => received.push(packet.readUInt32BE(0)));
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address());
});

afterEach(() => {
  for (const thing of open.splice(0)) thing.close();
});

async function connected() {
  const socket = createSocket("udp4");
  open.push(socket);
  socket.connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

function numbered(number: number): Buffer {
  const packet = Buffer.alloc(200);
  packet.writeUInt32BE(number, 0);
  return packet;
}

test("packets leave in order without the socket's own send, once that has sent one", async () => {
  for (const first of [0, 100]) {
    const socket = await connected();
    const ownSend = vi.spyOn(socket, "send");
    const direct = new DirectSender(socket);
    for (let number = first; number < first + 50; number++) {
      if (direct.send(numbered(number)) === "unable") socket.send(numbered(number));
    }
    await until(() => received.length === 50);
    expect(received.splice(0)).toEqual(Array.from({ length: 50 }, (_, index) => first + index));
    // The socket of the second round has learned of the first.
    expect(ownSend.mock.calls.length).toBeLessThanOrEqual(first === 0 ? 1 : 0);
  }
});

test("a closed socket, and one whose insides are not known, send nothing and do no harm", async () => {
  const socket = await connected();
  const direct = new DirectSender(socket);
  if (direct.send(numbered(1)) === "unable") socket.send(numbered(1));
  await until(() => received.length === 1);
  open.pop();
  socket.close();
  expect(direct.send(numbered(2))).toBe("taken");

  const unknown: DatagramSocket = {
    on: () => unknown,
    connect: () => undefined,
    send: () => undefined,
    close: () => unknown,
  };
  expect(new DirectSender(unknown).send(numbered(3))).toBe("unable");
  const other = await connected();
  const another = new DirectSender(other);
  expect(another.send(numbered(4))).toBe("taken");
  await until(() => received.length === 2);
  expect(received).toEqual([1, 4]);
});
