// Connections of thousands of clients, without sockets.

import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Connections } from "../../../../src/control/server/connections.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

class FakeConnection extends EventEmitter {
  readonly remoteAddress: string;
  readonly bytesRead = 0;
  readonly writableEnded = false;
  destroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

let connections: Connections;
let server: EventEmitter;

beforeEach(() => {
  connections = new Connections({ clock: new FakeClock(), timeoutAnswer: "" });
  server = new EventEmitter();
  connections.watch(server as Server);
});

afterEach(() => connections.close());

function open(address: string, account?: string): FakeConnection {
  const connection = new FakeConnection(address);
  server.emit("connection", connection);
  if (account !== undefined && !connection.destroyed) {
    connections.shownPassword(connection as unknown as Socket, account);
  }
  return connection;
}

/** As many as requested, all with an upgrade, so that none is idle. */
function openMany(count: number, address: string, account: string): FakeConnection[] {
  return Array.from({ length: count }, () => {
    const connection = open(address, account);
    if (!connection.destroyed) connections.upgraded(connection as unknown as Socket);
    return connection;
  });
}

function openCount(all: readonly FakeConnection[]): number {
  return all.filter(({ destroyed }) => !destroyed).length;
}

test("a key that opens all connections leaves some to another key", () => {
  const greedy = openMany(8192, "10.0.0.1", "key a");
  const other = openMany(500, "10.0.0.2", "key b");
  expect(openCount(other)).toBe(500);
  expect(openCount(greedy)).toBeGreaterThanOrEqual((8192 * 3) / 4);
  expect(openCount(greedy)).toBeLessThan(7000);
});

test("a key that has its share gets a new connection for its oldest idle one", () => {
  const [first] = openMany(1, "10.0.0.1", "key a");
  const idle = open("10.0.0.1", "key a");
  const request = { socket: idle, complete: true };
  const response = new EventEmitter();
  server.emit("request", request, response);
  response.emit("close");
  openMany(6142, "10.0.0.1", "key a");
  expect([first?.destroyed, idle.destroyed]).toEqual([false, false]);
  const next = open("10.0.0.1", "key a");
  expect([first?.destroyed, idle.destroyed, next.destroyed]).toEqual([false, true, false]);
  expect(open("10.0.0.1", "key a").destroyed).toBe(true);
});

test("the addresses of one home network count as one", () => {
  const unknown = Array.from({ length: 300 }, (_, index) => open(`2001:db8:1:1::${index.toString(16)}`));
  expect(openCount(unknown)).toBe(256);
});

test("too many unknown connections end the oldest of the network with most", () => {
  const other = open("10.0.0.9");
  const many = Array.from({ length: 1100 }, (_, index) => open(`10.0.0.${1 + (index % 5)}`));
  expect(other.destroyed).toBe(false);
  expect(openCount(many)).toBe(1023);
});
