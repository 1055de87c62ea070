import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { SocketPortions } from "../../../src/network/socket-portions.ts";

const NEXT_ITERATION = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Sockets that have received the given sizes, and a reader of each that takes everything, as undici's parser does.
 * After the first portion everything is body, if there is one.
 */
function start(receivedBytes: readonly number[], { hasBody = true } = {}) {
  const portions = new SocketPortions();
  const taken = receivedBytes.map(() => [] as number[]);
  const sockets = receivedBytes.map((sizeBytes, index) => {
    // Only the members used.
    const socket = new Duplex({ read: () => undefined, highWaterMark: 10_000_000 }) as unknown as Socket;
    portions.portioned((_target, callback) => callback(null, socket))({} as never, () => undefined);
    socket.push(Buffer.alloc(sizeBytes));
    socket.on("readable", () => {
      for (let part = socket.read(); part !== null; part = socket.read()) {
        taken[index]!.push(part.length);
        if (hasBody && taken[index]!.length === 1) portions.current?.notePiece();
      }
    });
    return socket;
  });
  return { sockets, portions, taken, sum: () => taken.flat().reduce((sum, sizeBytes) => sum + sizeBytes, 0) };
}

it("no portion exceeds the parser's limit, and all together equal the received bytes", async () => {
  const { taken, sum } = start([300_000]);
  while (sum() < 300_000) await NEXT_ITERATION();
  expect(Math.max(...taken[0]!)).toBe(4 * 1024);
  expect(sum()).toBe(300_000);
});

it("all sockets share one budget per event loop iteration, and none starves", async () => {
  const { taken, sum } = start(Array.from({ length: 20 }, () => 100_000));
  let iterations = 0;
  for (let before = 0; sum() < 2_000_000; iterations++) {
    await NEXT_ITERATION();
    expect(sum() - before).toBeLessThanOrEqual(2 * 68 * 1024);
    before = sum();
  }
  expect(iterations).toBeGreaterThanOrEqual(15);
  expect(taken.every((parts) => parts.length > 0)).toBe(true);
});

it("a held socket hands out nothing until it is pumped, and its end comes last", async () => {
  const { sockets, portions, sum } = start([0]);
  const [socket] = sockets;
  let isEnded = false;
  socket!.on("end", () => {
    isEnded = true;
  });
  socket!.push(Buffer.alloc(10_000));
  await NEXT_ITERATION();
  const flow = portions.current;
  flow?.hold();
  socket!.push(Buffer.alloc(10_000));
  socket!.push(null);
  for (let iterations = 0; iterations < 5; iterations++) await NEXT_ITERATION();
  expect(sum()).toBe(10_000);
  expect(isEnded).toBe(false);
  flow?.pump();
  for (let iterations = 0; iterations < 5; iterations++) await NEXT_ITERATION();
  expect(sum()).toBe(20_000);
  expect(isEnded).toBe(true);
});

it("retained bytes of a head keep no larger buffer in memory", async () => {
  const { sockets, portions } = start([0]);
  const retained: Buffer[] = [];
  sockets[0]!.removeAllListeners("readable");
  sockets[0]!.on("readable", () => {
    const part = sockets[0]!.read() as Buffer | null;
    if (part !== null && retained.push(part) === 1) portions.current?.hold();
  });
  sockets[0]!.push(Buffer.alloc(64 * 1024, 7));
  await NEXT_ITERATION();
  expect(retained.map((part) => [part.length, part.buffer.byteLength])).toEqual([[1024, 1024]]);
  expect(retained[0]!.every((byte) => byte === 7)).toBe(true);
});

it("many pieces count as much as many bytes", async () => {
  const { sockets, portions, sum } = start([4_096, 0]);
  await NEXT_ITERATION();
  expect(sum()).toBe(4_096);
  for (let piece = 0; piece < 700; piece++) portions.current?.notePiece();
  sockets[1]!.push(Buffer.alloc(4_096));
  await new Promise((resolve) => process.nextTick(resolve));
  expect(sum()).toBe(4_096);
  await NEXT_ITERATION();
  await NEXT_ITERATION();
  expect(sum()).toBe(8_192);
});

it("a socket that ends is read to its end and reports it", async () => {
  const { sockets, sum } = start([200_000]);
  let isEnded = false;
  sockets[0]!.on("end", () => {
    isEnded = true;
  });
  sockets[0]!.push(null);
  for (let iterations = 0; iterations < 20; iterations++) await NEXT_ITERATION();
  expect(sum()).toBe(200_000);
  expect(isEnded).toBe(true);
});

it("only a little of a head is parsed per iteration, and nothing after the parser has given up", async () => {
  const { sockets, sum } = start([50_000, 50_000], { hasBody: false });
  for (let before = 0, iterations = 0; iterations < 5; iterations++) {
    await NEXT_ITERATION();
    expect(sum() - before).toBeLessThanOrEqual(4 * 1024);
    before = sum();
  }
  expect(sum()).toBeGreaterThan(4 * 1024);
  for (const socket of sockets) socket.destroy();
  const before = sum();
  for (let iterations = 0; iterations < 5; iterations++) await NEXT_ITERATION();
  expect(sum()).toBe(before);
});

it("a head follows the end of an answer", async () => {
  const { sockets, portions, taken } = start([5000]);
  for (let iterations = 0; iterations < 3; iterations++) await NEXT_ITERATION();
  portions.current?.release();
  sockets[0]!.push(Buffer.alloc(5000));
  const { length } = taken[0]!;
  for (let iterations = 0; iterations < 10; iterations++) await NEXT_ITERATION();
  expect(Math.max(...taken[0]!.slice(length))).toBe(1024);
});
