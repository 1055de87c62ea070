// What is sent when, and what happens when RTP senders and workers end. On the test's clock, over fake sockets.

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LeaseEnd } from "../../../../src/bridge/lease-end.ts";
import { FrameRingWriter } from "../../../../src/media/pacer/frame-ring.ts";
import { Pacer, type PacerClient } from "../../../../src/media/pacer/pacer.ts";
import type { PacerEvent, TransportKey } from "../../../../src/media/pacer/pacer-messages.ts";
import { prepareEncryption, XCHACHA_MODE } from "../../../../src/media/pacer/transport-encryption.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type FakeDatagramSocket, FakeDatagrams } from "../../../support/fake-datagrams.ts";
import { settle } from "../../../support/voice-builders.ts";

/** The time of frames is another than the pacer's own. */
const OFFSET_MS = 5000;
const KEY: TransportKey = { mode: XCHACHA_MODE, secretKey: new Uint8Array(32).fill(7) };
const RTP = { ssrc: 1000, sequence: 10, timestamp: 960 };
let clock: FakeClock;
let sockets: FakeDatagrams;
let pacer: Pacer;
/** The sockets whose packets were sent, in order. */
let left: FakeDatagramSocket[];

beforeAll(prepareEncryption);

beforeEach(() => {
  clock = new FakeClock();
  left = [];
  sockets = new FakeDatagrams((socket) => left.push(socket));
  pacer = new Pacer({ clock, sockets, offsetMs: OFFSET_MS });
});

interface Worker {
  readonly client: PacerClient;
  readonly events: PacerEvent[];
}

function hire(): Worker {
  const events: PacerEvent[] = [];
  return { client: pacer.serve((event) => events.push(event)), events };
}

interface OpenSender {
  readonly rtpSenderId: number;
  readonly socket: FakeDatagramSocket;
  readonly ring: FrameRingWriter;
  /** Due at `dueMs` of the pacer's own clock. */
  put(dueMs: number): void;
}

/** An RTP sender that has only been opened. */
function open({ client }: Worker, rtpSenderId = 1): OpenSender {
  const ring = new FrameRingWriter();
  client.execute({ type: "open", rtpSenderId, address: "127.0.0.1", port: 9, ssrc: 1000, ring: ring.memory });
  const socket = sockets.made.at(-1)!;
  return { rtpSenderId, socket, ring, put: (dueMs) => ring.put(Buffer.alloc(20), dueMs + OFFSET_MS) };
}

/** One that sends. */
async function start(worker: Worker, rtpSenderId = 1): Promise<OpenSender> {
  const sender = open(worker, rtpSenderId);
  await settle();
  worker.client.execute({ type: "start", rtpSenderId, key: KEY, rtp: RTP });
  left.length = 0;
  return sender;
}

/** All reports except those of lateness. */
const reportsIn = ({ events }: Worker) => events.filter(({ type }) => type !== "lateness");

describe("due frames", () => {
  test("due frames of all workers are sent at their deadlines, and the pacer returns the next deadline", async () => {
    const [first, second] = [hire(), hire()];
    const [a, b, c] = [await start(first, 1), await start(first, 2), await start(second, 1)];
    for (const dueMs of [20, 40]) a.put(dueMs);
    b.put(25);
    c.put(20);
    expect(pacer.run()).toBe(20 + OFFSET_MS);
    expect(left).toEqual([]);
    clock.advance(20);
    expect(pacer.run()).toBe(25 + OFFSET_MS);
    expect(left).toEqual([a.socket, c.socket]);
    clock.advance(5);
    expect(pacer.run()).toBe(40 + OFFSET_MS);
    clock.advance(15);
    expect(pacer.run()).toBe(Number.POSITIVE_INFINITY);
    expect(left).toEqual([a.socket, c.socket, b.socket, a.socket]);
  });

  test("due frames are sent at once and in order when the pacer is late, with the timestamp of their deadline", async () => {
    const sender = await start(hire());
    for (const dueMs of [20, 40, 80]) sender.put(dueMs);
    clock.stall(95);
    pacer.run();
    expect(sender.socket.rtp.map((packet) => packet.readUInt16BE(2))).toEqual([10, 11, 12]);
    expect(sender.socket.rtp.map((packet) => packet.readUInt32BE(4) / 960)).toEqual([1, 2, 4]);
  });

  test("a revoked frame is not sent", async () => {
    const sender = await start(hire());
    for (const dueMs of [20, 40]) sender.put(dueMs);
    expect(sender.ring.revoke(2)).toBe(2);
    clock.advance(60);
    expect(pacer.run()).toBe(Number.POSITIVE_INFINITY);
    expect(sender.socket.rtp).toEqual([]);
  });

  test("due frames wait for the key", async () => {
    const worker = hire();
    const sender = open(worker);
    await settle();
    sender.put(0);
    expect(pacer.run()).toBe(Number.POSITIVE_INFINITY);
    worker.client.execute({ type: "start", rtpSenderId: 1, key: KEY, rtp: RTP });
    pacer.run();
    expect(sender.socket.rtp).toHaveLength(1);
  });
});

test("packets that the system has not taken are not overwritten by the next ones", async () => {
  const sender = await start(hire());
  const { sent, handedOver } = sender.socket;
  const before = sent.length;
  for (let dueMs = -5; dueMs < 0; dueMs++) sender.put(dueMs);
  pacer.run();
  expect(sent.length).toBe(before + 5);
  expect(handedOver.map((packet) => Buffer.from(packet)).slice(before)).toEqual(sent.slice(before));
});

describe("rings that have not changed", () => {
  const run = () => pacer.run({ isAsSeen: true });

  test("frames that were seen are sent in time without another look at the rings", async () => {
    const worker = hire();
    const [a, b] = [await start(worker, 1), await start(worker, 2)];
    for (const dueMs of [20, 40, 60]) a.put(dueMs);
    b.put(30);
    pacer.run();
    clock.advance(20);
    expect(run()).toBe(30 + OFFSET_MS);
    clock.advance(25);
    expect(run()).toBe(60 + OFFSET_MS);
    expect(left).toEqual([a.socket, a.socket, b.socket]);
  });

  test("a frame that was put in is found once the pacer is told that some were", async () => {
    const sender = await start(hire());
    pacer.run();
    sender.put(0);
    expect([run(), left.length]).toEqual([Number.POSITIVE_INFINITY, 0]);
    expect([pacer.run(), left.length]).toEqual([Number.POSITIVE_INFINITY, 1]);
  });

  test("one that was taken back is not sent, and the one that took its place when it is due", async () => {
    const sender = await start(hire());
    sender.put(20);
    pacer.run();
    sender.ring.revoke(1);
    sender.put(40);
    clock.advance(20);
    expect([run(), left.length]).toEqual([40 + OFFSET_MS, 0]);
    clock.advance(20);
    expect([run(), left.length]).toEqual([Number.POSITIVE_INFINITY, 1]);
  });

  test("what lay ready before a sender had its key, or was there before others came or went, is sent", async () => {
    const worker = hire();
    const [a, b] = [await start(worker, 1), open(worker, 2)];
    await settle();
    for (const sender of [a, b]) sender.put(0);
    a.put(20);
    pacer.run();
    left.length = 0;
    worker.client.execute({ type: "start", rtpSenderId: 2, key: KEY, rtp: RTP });
    run();
    expect(left).toEqual([b.socket]);
    worker.client.execute({ type: "close", rtpSenderId: 2 });
    clock.advance(20);
    run();
    expect(left).toEqual([b.socket, a.socket]);
  });
});

describe("the end of the lease", () => {
  let leaseEnd: LeaseEnd;
  /** Its sockets call this with each packet. */
  let onSent: () => void;

  beforeEach(() => {
    onSent = () => undefined;
    leaseEnd = new LeaseEnd();
    leaseEnd.extend(100 + OFFSET_MS);
    sockets = new FakeDatagrams(() => onSent());
    pacer = new Pacer({ clock, sockets, offsetMs: OFFSET_MS, leaseEnd: new LeaseEnd(leaseEnd.memory) });
  });

  test("past the end of the lease due frames are dropped, also when the process has not noticed yet", async () => {
    const worker = hire();
    const sender = await start(worker);
    for (const dueMs of [80, 90]) sender.put(dueMs);
    clock.advance(99);
    pacer.run();
    expect(sender.socket.rtp).toHaveLength(2);
    for (const dueMs of [99, 100, 120]) sender.put(dueMs);
    clock.stall(1);
    expect(pacer.run()).toBe(120 + OFFSET_MS);
    clock.stall(20);
    expect(pacer.run()).toBe(Number.POSITIVE_INFINITY);
    expect([sender.ring.isEmpty, sender.socket.rtp.length]).toEqual([true, 2]);
    expect(reportsIn(worker).map(({ type }) => type)).toEqual(["discovered"]);
  });

  test("the end of the lease is looked at before each packet: it may come between two", async () => {
    const [first, second] = [await start(hire()), await start(hire())];
    for (const sender of [first, second]) for (const dueMs of [20, 40, 60]) sender.put(dueMs);
    clock.stall(60);
    onSent = () => clock.stall(25);
    pacer.run();
    expect([first.socket.rtp.length, second.socket.rtp.length]).toEqual([2, 0]);
  });

  test("after a late renewal of the same lease frames are sent again", async () => {
    const sender = await start(hire());
    sender.put(150);
    clock.stall(150);
    pacer.run();
    leaseEnd.extend(1000 + OFFSET_MS);
    sender.put(170);
    clock.stall(20);
    pacer.run();
    expect(sender.socket.rtp).toHaveLength(1);
  });

  test("under the next lease only RTP senders send that were opened under it", async () => {
    const worker = hire();
    const former = await start(worker, 1);
    leaseEnd.end();
    const between = await start(worker, 2);
    leaseEnd.extend(1000 + OFFSET_MS);
    const current = await start(worker, 3);
    for (const sender of [former, between, current]) sender.put(20);
    clock.stall(20);
    pacer.run();
    expect([former, between, current].map(({ socket }) => socket.rtp.length)).toEqual([0, 1, 1]);
  });

  test("past the end of the lease sockets are opened and kept open as before", async () => {
    clock.stall(200);
    const worker = hire();
    const { socket } = await start(worker);
    // One interval has the packet of the discovery.
    clock.advance(10_000);
    expect(reportsIn(worker)).toMatchObject([{ type: "discovered" }]);
    expect(socket.sent.filter(({ length }) => length === 8)).toHaveLength(1);
  });
});

describe("lateness reports", () => {
  test("lateness is reported to each worker for its own packets, twice a second", async () => {
    const [first, second] = [hire(), hire()];
    const [a, b] = [await start(first), await start(second)];
    for (const dueMs of [20, 40]) a.put(dueMs);
    b.put(20);
    for (const atMs of [20, 43, 499]) {
      clock.stall(atMs - clock.now());
      pacer.run();
    }
    expect(first.events.filter(({ type }) => type === "lateness")).toEqual([]);
    clock.stall(1);
    pacer.run();
    const [reported] = first.events.filter((event) => event.type === "lateness");
    expect(reported?.lateness).toMatchObject({ latenessMsMax: 3, latenessMsSum: 3 });
    expect(reported?.lateness.latenessCounts.reduce((sum, count) => sum + count, 0)).toBe(2);
    // Nothing of it was late.
    expect(second.events.filter(({ type }) => type === "lateness")).toEqual([]);
  });

  test("lateness counts start again after each report", async () => {
    const worker = hire();
    const sender = await start(worker);
    for (const lateMs of [9, 2]) {
      sender.put(clock.now());
      clock.stall(lateMs);
      pacer.run();
      clock.stall(500);
      pacer.run();
    }
    const reported = worker.events.flatMap((event) =>
      event.type === "lateness" ? [event.lateness.latenessMsMax] : [],
    );
    expect(reported).toEqual([9, 2]);
  });
});

describe("a failing RTP sender", () => {
  test("an RTP sender that fails while it sends ends alone, and reports why", async () => {
    const worker = hire();
    const [broken, whole] = [await start(worker, 1), await start(worker, 2)];
    broken.socket.thrown = new Error("no more");
    for (const sender of [broken, whole]) for (const dueMs of [20, 40]) sender.put(dueMs);
    clock.advance(50);
    pacer.run();
    expect(whole.socket.rtp).toHaveLength(2);
    expect(broken.socket.isClosed).toBe(true);
    expect(reportsIn(worker).slice(2)).toEqual([{ type: "dead", rtpSenderId: 1, reason: "no more" }]);
    // Unsent frames can be revoked again.
    expect(broken.ring.revoke(9)).toBe(1);
  });

  test("an RTP sender that fails in a timer ends alone", async () => {
    const worker = hire();
    const [broken, whole] = [await start(worker, 1), await start(worker, 2)];
    clock.advance(5000);
    broken.socket.thrown = new Error("no more");
    clock.advance(5000);
    expect(reportsIn(worker).at(-1)).toEqual({ type: "dead", rtpSenderId: 1, reason: "no more" });
    expect([broken.socket.isClosed, whole.socket.isClosed]).toEqual([true, false]);
    expect(whole.socket.sent.filter(({ length }) => length === 8)).toHaveLength(1);
  });

  test("an RTP sender that has failed accepts no key, and leaves no timer", async () => {
    const worker = hire();
    const sender = open(worker);
    await settle();
    sender.socket.fail(new Error("unreachable"));
    clock.stall(3000);
    sender.socket.fail(new Error("unreachable"));
    expect(reportsIn(worker).at(-1)).toEqual({ type: "dead", rtpSenderId: 1, reason: "unreachable" });
    // The worker has not been notified yet.
    worker.client.execute({ type: "start", rtpSenderId: 1, key: KEY, rtp: RTP });
    worker.client.execute({ type: "rekey", rtpSenderId: 1, key: KEY });
    sender.put(clock.now());
    expect(pacer.run()).toBe(Number.POSITIVE_INFINITY);
    worker.client.execute({ type: "close", rtpSenderId: 1 });
    expect(clock.pendingCount).toBe(0);
  });

  test("an RTP sender that gets no socket reports it, and the next one may succeed", async () => {
    const worker = hire();
    sockets.isUsedUp = true;
    const ring = new FrameRingWriter().memory;
    worker.client.execute({ type: "open", rtpSenderId: 1, address: "127.0.0.1", port: 9, ssrc: 1, ring });
    expect(worker.events).toEqual([{ type: "unreachable", rtpSenderId: 1, reason: "too many open files" }]);
    expect(pacer.isJoining).toBe(false);
    sockets.isUsedUp = false;
    await start(worker, 2);
    expect(reportsIn(worker).at(-1)).toMatchObject({ type: "discovered", rtpSenderId: 2 });
  });
});

describe("opening an RTP sender", () => {
  test("opening an RTP sender connects, discovers our address and reports it, while responses are awaited", async () => {
    const worker = hire();
    const { socket } = open(worker);
    expect(pacer.isJoining).toBe(true);
    await settle();
    expect(socket.connectedTo).toBe("127.0.0.1:9");
    const found = { address: "203.0.113.9", port: 4000 };
    expect(worker.events).toEqual([{ type: "discovered", rtpSenderId: 1, found }]);
    expect(pacer.isJoining).toBe(false);
  });

  test("opening an RTP sender continues without a response after three seconds", async () => {
    sockets.conduct.hasServer = false;
    const worker = hire();
    open(worker);
    await settle();
    clock.advance(3000);
    await settle();
    expect(worker.events).toEqual([{ type: "discovered", rtpSenderId: 1, found: undefined }]);
  });

  test.each([
    ["the system connects it", { hasServer: true, connects: false }],
    ["an answer has come", { hasServer: false, connects: true }],
  ])("an RTP sender that is closed before %s leaves nothing behind and reports nothing", async (_name, conduct) => {
    Object.assign(sockets.conduct, conduct);
    const worker = hire();
    const { socket } = open(worker);
    await settle();
    worker.client.execute({ type: "close", rtpSenderId: 1 });
    await settle();
    expect([socket.isClosed, pacer.isJoining, pacer.hasRtpSenders]).toEqual([true, false, false]);
    expect([worker.events, clock.pendingCount]).toEqual([[], 0]);
  });

  test("commands for an RTP sender that does not exist are ignored", () => {
    const { client, events } = hire();
    client.execute({ type: "start", rtpSenderId: 3, key: KEY, rtp: RTP });
    client.execute({ type: "rekey", rtpSenderId: 3, key: KEY });
    client.execute({ type: "close", rtpSenderId: 3 });
    client.execute({ type: "wake" });
    expect([events, sockets.made, clock.pendingCount]).toEqual([[], [], 0]);
  });
});

describe("a lost worker", () => {
  test("a lost worker's ready frames are sent, then its sockets close, and others continue", async () => {
    const [lost, other] = [hire(), hire()];
    const [a, b, c] = [await start(lost, 1), await start(lost, 2), await start(other, 1)];
    for (const dueMs of [20, 40, 60, 80, 100]) for (const sender of [a, b, c]) sender.put(dueMs);
    const reportedBefore = lost.events.length;
    lost.client.leave();
    for (let step = 0; step < 5; step++) {
      clock.advance(20);
      pacer.run();
    }
    for (const { socket } of [a, b, c]) expect([socket.rtp.length, socket.isClosed]).toEqual([5, false]);
    clock.advance(300);
    expect([a.socket.isClosed, b.socket.isClosed, c.socket.isClosed]).toEqual([true, true, false]);
    expect(lost.events).toHaveLength(reportedBefore);
    // The other's keep-alive.
    expect(clock.pendingCount).toBe(1);
    c.put(clock.now());
    pacer.run();
    expect(c.socket.rtp).toHaveLength(6);
  });
});

test("a closed pacer has closed all its sockets, sends nothing and leaves no timer", async () => {
  const worker = hire();
  const senders = [await start(worker, 1), await start(worker, 2), open(worker, 3)];
  for (const sender of senders) sender.put(0);
  pacer.close();
  pacer.run();
  await settle();
  for (const { socket } of senders) expect([socket.isClosed, socket.rtp]).toEqual([true, []]);
  expect(clock.pendingCount).toBe(0);
});
