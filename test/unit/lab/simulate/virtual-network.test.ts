// Connections of a simulated network that break.

import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Dice } from "../../../../lab/simulate/dice.ts";
import { VirtualClock } from "../../../../lab/simulate/virtual-clock.ts";
import { FAR, VirtualNetwork } from "../../../../lab/simulate/virtual-network.ts";
import { pause } from "../../../../src/lib/pause.ts";

const clock = new VirtualClock();
let network: VirtualNetwork;
let connectedCount: number;
const server = createServer();

beforeEach(() => {
  network = new VirtualNetwork(clock, new Dice(1), FAR);
  connectedCount = 0;
  server.on("connection", () => connectedCount++);
});

afterEach(() => {
  server.removeAllListeners("connection");
});

test("a connection that is cut while it is established fails for the client, and the server never gets its end", async () => {
  const port = network.listen(server);
  const socket = network.connect(port);
  const failed = once(socket, "error");
  network.breakConnections(port, "cut");
  const [error] = await failed;
  expect(error).toMatchObject({ code: "ECONNRESET" });
  await clock.drive(pause(clock, 1000));
  expect(connectedCount).toBe(0);
});
