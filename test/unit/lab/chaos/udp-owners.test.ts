// The tables of UDP sockets in Linux's /proc.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { expect, test } from "vitest";
import { socketPorts, udpOwners } from "../../../../lab/chaos/udp-owners.ts";

const TABLE = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  412: 0100007F:A3B1 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 77123 2 0000000000000000 0
  413: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 5 2 0000000000000000 0
`;

test("each line of a table has an inode and a port", () => {
  expect([...socketPorts(TABLE)]).toEqual([
    ["77123", 0xa3b1],
    ["5", 53],
  ]);
  expect([...socketPorts("")]).toEqual([]);
});

test.skipIf(process.platform !== "linux")("the ports of this process are its own", async () => {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  expect((await udpOwners([process.pid])).get(port)).toBe(process.pid);
  expect((await udpOwners([])).get(port)).toBeUndefined();
  socket.close();
});
