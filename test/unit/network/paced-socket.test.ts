// The paced socket over a real TCP connection.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { PacedSocket } from "../../../src/network/paced-socket.ts";
import { until } from "../../support/voice-builders.ts";

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function prepare(admit: (sizeBytes: number) => boolean = () => true) {
  let peer: Socket | undefined;
  const server = createServer((socket) => {
    peer = socket;
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const paced = new PacedSocket(connect(port, "127.0.0.1"), { admit });
  paced.on("error", () => undefined);
  open.push({ close: () => server.close() }, { close: () => peer?.destroy() }, { close: () => paced.destroy() });
  await until(() => peer !== undefined);
  if (peer === undefined) throw new Error("no connection arrived");
  return { paced, peer };
}

describe("a paced socket", () => {
  test("a paced socket hands out everything in order, one small slice per event loop iteration, then the end", async () => {
    const { paced, peer } = await prepare();
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    const slices: Buffer[] = [];
    let inThisIteration = 0;
    let mostPerIteration = 0;
    let hasEnded = false;
    paced.on("data", (slice: Buffer) => {
      slices.push(slice);
      inThisIteration++;
    });
    paced.on("end", () => {
      hasEnded = true;
    });
    const watch = () => {
      mostPerIteration = Math.max(mostPerIteration, inThisIteration);
      inThisIteration = 0;
      if (!hasEnded) setImmediate(watch);
    };
    watch();
    peer.end(sent);
    await until(() => hasEnded);
    expect(Buffer.concat(slices).equals(sent)).toBe(true);
    expect(Math.max(...slices.map(({ length }) => length))).toBeLessThanOrEqual(1024);
    // Seen between two iterations: one more when bytes have just arrived.
    expect(mostPerIteration).toBeLessThanOrEqual(2);
  });

  test("a paced socket hands out nothing after a slice that was not admitted, and stops reading", async () => {
    let admittedBytes = 0;
    const { paced, peer } = await prepare((sizeBytes) => {
      admittedBytes += sizeBytes;
      return admittedBytes <= 10_000;
    });
    let receivedBytes = 0;
    paced.on("data", ({ length }: Buffer) => {
      receivedBytes += length;
    });
    const block = Buffer.alloc(1 << 20);
    while (peer.writableLength < 32 << 20) peer.write(block);
    await until(() => admittedBytes > 10_000);
    const bufferedBytes = peer.writableLength;
    for (let iteration = 0; iteration < 100; iteration++) await new Promise(setImmediate);
    expect(receivedBytes).toBeLessThanOrEqual(10_000);
    expect(admittedBytes).toBeLessThanOrEqual(12_288);
    expect(bufferedBytes).toBeGreaterThan(1 << 20);
  });

  test("a paced socket writes, ends and fails like its inner connection", async () => {
    const { paced, peer } = await prepare();
    const received: Buffer[] = [];
    peer.on("data", (data) => received.push(data));
    paced.resume();
    paced.cork();
    paced.write("one ");
    paced.write("two");
    paced.uncork();
    await until(() => Buffer.concat(received).toString() === "one two");
    peer.resetAndDestroy();
    const [error] = (await once(paced, "error")) as [NodeJS.ErrnoException];
    expect(error.code).toBe("ECONNRESET");
    expect(paced.destroyed).toBe(true);
  });
});
