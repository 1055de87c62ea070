import type { MessageChannel, MessagePort } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WorkerNotice } from "../../../../src/bridge/channel.ts";
import { type PacerStart, WAKE_UP_FLAG_BYTES } from "../../../../src/bridge/pacer-start.ts";
import { type PacedWorker, PacerKeeper } from "../../../../src/control/workers/pacer-keeper.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeThread, FakeThreads } from "../../../support/fake-thread.ts";
import type { LoggedLine } from "../../../support/voice-builders.ts";

const ENTRY = new URL("file:///pacer-main.js");
const leaseEndMemory = new SharedArrayBuffer(16);
let clock: FakeClock;
let threads: FakePacerThreads;
let lines: LoggedLine[];
let keeper: PacerKeeper;
let ports: MessagePort[];

/** A pacer thread that does what a test says. */
class FakePacer extends FakeThread<PacerStart> {
  readonly received: unknown[] = [];

  postMessage(message: unknown): void {
    this.received.push(message);
  }

  ready(): this {
    this.emit("message", { type: "ready" });
    return this;
  }
}

class FakePacerThreads extends FakeThreads<FakePacer> {
  constructor() {
    super((entry, { workerData, name }) => {
      expect([entry, name]).toEqual([ENTRY, "pacer"]);
      return new FakePacer(workerData as PacerStart, clock); // made by the keeper
    });
  }

  override createChannel(): MessageChannel {
    const channel = super.createChannel();
    ports.push(channel.port1);
    return channel;
  }
}

beforeEach(() => {
  [ports, lines] = [[], []];
  clock = new FakeClock();
  threads = new FakePacerThreads();
  const logger = createLogger((level, message, fields) => lines.push({ level, message, fields }));
  keeper = new PacerKeeper({ entry: ENTRY, leaseEndMemory, threads, clock, logger });
});

afterEach(async () => {
  await keeper.close();
  for (const port of ports) port.close();
});

interface Client extends PacedWorker {
  readonly reported: Extract<WorkerNotice, { readonly type: "setPacer" }>[];
  leave(): void;
}

function hire(): Client {
  const reported: Client["reported"] = [];
  const leaving = new AbortController();
  const channel = {
    send: (command: WorkerNotice) => {
      if (command.type === "setPacer") reported.push(command);
    },
  };
  return { channel, gone: leaving.signal, reported, leave: () => leaving.abort() };
}

test("the pacer is started when the first worker asks for it, and every worker is connected to the same", () => {
  expect(threads.started).toHaveLength(0);
  const [first, second] = [hire(), hire()];
  keeper.serve(first, 0);
  keeper.serve(second, 0);
  expect(threads.started).toHaveLength(1);
  const { wakeUpMemory } = threads.last.start;
  expect(wakeUpMemory.byteLength).toBe(WAKE_UP_FLAG_BYTES);
  for (const { reported } of [first, second])
    expect(reported.map((command) => command.wakeUpMemory)).toEqual([wakeUpMemory]);
  // Each worker's port leads to the port that the pacer has received.
  expect(threads.last.received).toEqual(ports);
  expect(first.reported[0]?.port).not.toBe(second.reported[0]?.port);
});

test.each([
  ["ends", (thread: FakePacer) => thread.exit(7)],
  ["fails", (thread: FakePacer) => thread.emit("error", new Error("broken"))],
  ["hangs", (thread: FakePacer) => Object.assign(thread, { isHanging: true })],
])("a pacer that has run long and then %s is replaced at once, and every worker is connected again", (_name, lose) => {
  const [first, second, gone] = [hire(), hire(), hire()];
  for (const client of [first, second, gone]) keeper.serve(client, 0);
  const lost = threads.last.ready();
  clock.advance(20_000);
  gone.leave();
  lose(lost);
  clock.advance(5000);
  expect([lost.isEnded, threads.started.length]).toEqual([true, 2]);
  expect([first.reported.length, second.reported.length, gone.reported.length]).toEqual([2, 2, 1]);
  const { wakeUpMemory } = threads.last.start;
  expect(wakeUpMemory).not.toBe(lost.start.wakeUpMemory);
  expect([lost.start.leaseEndMemory, threads.last.start.leaseEndMemory]).toEqual([leaseEndMemory, leaseEndMemory]);
  expect(first.reported[1]?.wakeUpMemory).toBe(wakeUpMemory);
  expect(threads.last.received).toHaveLength(2);
  expect(lines).toMatchObject([{ level: "error", fields: { restartInMs: 0 } }]);
});

test("a pacer that has run long leaves no pause", () => {
  const client = hire();
  keeper.serve(client, 0);
  threads.last.ready();
  clock.advance(20_000);
  threads.last.exit(1);
  clock.advance(0);
  expect(client.reported).toHaveLength(2);
});

test("a pacer that fails again and again is restarted once a second, and new workers wait with the others", () => {
  const [first, second] = [hire(), hire()];
  keeper.serve(first, 0);
  for (let round = 1; round <= 5; round++) {
    threads.last.exit(1);
    if (round === 1) keeper.serve(second, 0);
    clock.advance(999);
    expect(threads.started).toHaveLength(round);
    clock.advance(1);
    expect(threads.started).toHaveLength(round + 1);
  }
  expect([first.reported.length, second.reported.length]).toEqual([6, 5]);
  expect(lines.map(({ fields }) => fields.restartInMs)).toEqual([1000, 1000, 1000, 1000, 1000]);
});

test("one that never gets ready is given up and replaced", () => {
  const client = hire();
  keeper.serve(client, 0);
  clock.advance(15_250);
  expect(threads.started[0]?.isEnded).toBe(true);
  clock.advance(1000);
  expect(client.reported).toHaveLength(2);
});

test("a lost pacer is not restarted while no worker is left, but for the next worker", () => {
  const client = hire();
  keeper.serve(client, 0);
  threads.last.ready();
  client.leave();
  threads.last.exit(1);
  clock.advance(60_000);
  expect(threads.started).toHaveLength(1);
  const next = hire();
  keeper.serve(next, 0);
  expect([threads.started.length, next.reported.length]).toEqual([2, 1]);
});

test("a worker that is gone is not connected", () => {
  const client = hire();
  client.leave();
  keeper.serve(client, 0);
  expect([threads.started, client.reported]).toEqual([[], []]);
});

test("what the pacer logs is logged, and which thread it was", () => {
  keeper.serve(hire(), 0);
  threads.last.emit("message", { type: "log", level: "warn", message: "odd", fields: { count: 1 } });
  expect(lines).toEqual([{ level: "warn", message: "odd", fields: { count: 1, thread: "pacer" } }]);
});

test("workers of different slots make their frames at different times, with the next pacer, too", () => {
  const clients = Array.from({ length: 8 }, hire);
  for (const [index, client] of clients.entries()) keeper.serve(client, index);
  threads.last.ready();
  clock.advance(20_000);
  threads.last.exit(1);
  clock.advance(0);
  const turns = clients.map(({ reported }) => reported.map(({ turn }) => turn));
  // The first two share the time between two bursts, as do the first four and all eight.
  expect(turns.map(([turn]) => turn)).toEqual([0, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8]);
  for (const [before, after] of turns) expect(after).toBe(before);
});

test("closing the keeper ends the thread, and no worker is connected afterwards", async () => {
  const client = hire();
  keeper.serve(client, 0);
  threads.last.ready();
  await keeper.close();
  expect(threads.last.isEnded).toBe(true);
  keeper.serve(hire(), 0);
  clock.advance(60_000);
  expect([threads.started.length, client.reported.length, lines]).toEqual([1, 1, []]);
  expect(clock.pendingCount).toBe(0);
});

test("closed in the pause before the next start, it does not start it", async () => {
  keeper.serve(hire(), 0);
  threads.last.exit(1);
  await keeper.close();
  clock.advance(60_000);
  expect([threads.started.length, clock.pendingCount]).toEqual([1, 0]);
});
