import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { watchLiveness } from "../../../../src/control/server/socket-liveness.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

class FakeWebSocket extends EventEmitter {
  pingCount = 0;
  isTerminated = false;
  ping = (): void => {
    this.pingCount++;
  };
  terminate = (): void => {
    this.isTerminated = true;
    this.emit("close");
  };
}

function setUp() {
  const clock = new FakeClock();
  const socket = new FakeWebSocket();
  // The used members of a WebSocket exist.
  watchLiveness(socket as unknown as WebSocket, clock);
  return { clock, socket };
}

test("a client that answers nothing for three minutes is cut off", () => {
  const { clock, socket } = setUp();
  clock.advance(179_000);
  expect([socket.pingCount, socket.isTerminated]).toEqual([2, false]);
  clock.advance(1000);
  expect(socket.isTerminated).toBe(true);
  expect(clock.pendingCount).toBe(0);
});

test.each(["pong", "ping", "message"])("a client that sends a %s now and then stays", (event) => {
  const { clock, socket } = setUp();
  for (let minute = 0; minute < 30; minute += 2) {
    clock.advance(120_000);
    socket.emit(event);
  }
  expect(socket.isTerminated).toBe(false);
  clock.advance(240_000);
  expect(socket.isTerminated).toBe(true);
});

test("a disconnected client gets no more pings", () => {
  const { clock, socket } = setUp();
  socket.emit("close");
  clock.advance(1_000_000);
  expect([socket.pingCount, socket.isTerminated]).toEqual([0, false]);
});
