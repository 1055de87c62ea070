import { beforeEach, expect, test } from "vitest";
import { BufferedBytes } from "../../../../src/control/sessions/buffered-bytes.ts";
import { Outbox } from "../../../../src/control/sessions/outbox.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { untilSettled } from "../../../support/until-settled.ts";

let socket: FakeSocket;
let bytes: BufferedBytes;
let outbox: Outbox;
let taken: string[];
let fullCount: number;

beforeEach(() => {
  socket = new FakeSocket();
  bytes = new BufferedBytes(new ByteBudget({ owner: "the test", limitBytes: 100_000 }));
  taken = [];
  fullCount = 0;
  outbox = new Outbox({ socket, bytes, onTaken: ({ topic }) => taken.push(topic), onFull: () => fullCount++ });
});

function message(name: string, size = 0) {
  return { topic: name, text: JSON.stringify({ name, filler: "x".repeat(size) }) };
}

function received(): string[] {
  return socket.received.map(({ name }) => name);
}

function latch(): { readonly written: Promise<void>; readonly release: () => void } {
  let release = (): void => undefined;
  const written = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { written, release };
}

test("a message that is not stored first is sent at once", () => {
  outbox.push(message("a"));
  expect(received()).toEqual(["a"]);
  expect(taken).toEqual(["a"]);
});

test("a message waits until it is stored, and those behind it wait too", async () => {
  const [first, second] = [latch(), latch()];
  outbox.push(message("a"), first.written);
  outbox.push(message("b"));
  outbox.push(message("c"), second.written);
  second.release();
  await untilSettled();
  expect(received()).toEqual([]);
  first.release();
  await untilSettled();
  expect(received()).toEqual(["a", "b", "c"]);
});

test("flush sends all, and none a second time when it is stored", async () => {
  const { written, release } = latch();
  outbox.push(message("a"), written);
  outbox.flush();
  expect(received()).toEqual(["a"]);
  release();
  await untilSettled();
  expect(received()).toEqual(["a"]);
});

test("a lost socket returns what was not taken and what was not sent, in order, and sends nothing more", async () => {
  const { written, release } = latch();
  socket.stall();
  outbox.push(message("a"));
  outbox.push(message("b"), written);
  expect(outbox.close().map(({ topic }) => topic)).toEqual(["a", "b"]);
  expect(bytes.sizeBytes).toBe(0);
  release();
  socket.flow();
  await untilSettled();
  expect(received()).toEqual(["a"]);
  expect(taken).toEqual([]);
  expect(bytes.sizeBytes).toBe(0);
});

test("messages that are not taken are counted, and more than there is memory for are reported", () => {
  socket.stall();
  outbox.push(message("a", 50_000));
  expect(bytes.sizeBytes).toBeGreaterThan(50_000);
  expect(fullCount).toBe(0);
  outbox.push(message("b", 60_000));
  expect(fullCount).toBe(1);
  socket.flow();
  expect(bytes.sizeBytes).toBe(0);
});
