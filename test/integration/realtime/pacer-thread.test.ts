// The pacer thread as it runs in a node, over UDP on loopback: frames that a worker finishes are sent, and frames that
// it revokes are not. Also tests the two structures in shared memory that both threads use at once, under contention.

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { Heartbeat } from "../../../src/bridge/heartbeat.ts";
import { LeaseEnd } from "../../../src/bridge/lease-end.ts";
import { type PacerStart, type ThreadMessage, WAKE_UP_FLAG_BYTES } from "../../../src/bridge/pacer-start.ts";
import { sharedTimeOffsetMs } from "../../../src/lib/shared-time.ts";
import { FrameRingWriter } from "../../../src/media/pacer/frame-ring.ts";
import { PacerLink } from "../../../src/media/pacer/pacer-link.ts";
import { RemotePacer } from "../../../src/media/pacer/remote-pacer.ts";
import { type EncryptionMode, prepareEncryption, XCHACHA_MODE } from "../../../src/media/pacer/transport-encryption.ts";
import type { VoiceSendPath } from "../../../src/media/pacer/voice-send-path.ts";
import { WakeUpFlag } from "../../../src/media/pacer/wake-up-flag.ts";
import { openPacket } from "../../support/open-packet.ts";
import { PACER_ENTRY } from "../../support/start-test-environment.ts";
import { until } from "../../support/voice-builders.ts";

const KEY = Uint8Array.from({ length: 32 }, (_, index) => 100 + index);
const FRAME_MS = 20;
/** Two threads read their offset to the system's clock apart from each other. */
const CLOCKS_DIFFER_MS = 1;
const STUCK_MS = 20_000;

interface PacerOfTest {
  readonly thread: Worker;
  readonly wakeUpMemory: SharedArrayBuffer;
  readonly leaseEnd: LeaseEnd;
  readonly messages: ThreadMessage[];
}

let pacer: PacerOfTest;
const open: { close(): unknown }[] = [];

beforeAll(async () => {
  await prepareEncryption();
  const wakeUpMemory = new SharedArrayBuffer(WAKE_UP_FLAG_BYTES);
  const heartbeatMemory = Heartbeat.allocate();
  const leaseEnd = new LeaseEnd();
  leaseEnd.extend(Number.POSITIVE_INFINITY);
  const workerData: PacerStart = { heartbeatMemory, wakeUpMemory, leaseEndMemory: leaseEnd.memory };
  const thread = new Worker(PACER_ENTRY, { workerData });
  const messages: ThreadMessage[] = [];
  thread.on("message", (message: ThreadMessage) => messages.push(message));
  await until(() => messages.some(({ type }) => type === "ready"));
  pacer = { thread, wakeUpMemory, leaseEnd, messages };
});

afterEach(() => {
  for (const thing of open.splice(0).reverse()) thing.close();
});

afterAll(() => pacer.thread.terminate());

/** A worker's end, connected to the pacer. */
function hire(): PacerLink {
  const { port1, port2 } = new MessageChannel();
  pacer.thread.postMessage(port1, [port1]);
  const link = new PacerLink(() => undefined);
  link.connect(new RemotePacer(port2, pacer.wakeUpMemory));
  open.push(link);
  return link;
}

interface Arrived {
  readonly packet: Buffer;
  readonly atMs: number;
}

/** A voice server that notes what arrives. */
async function startServer() {
  const arrived: Arrived[] = [];
  const socket: Socket = createSocket({ type: "udp4", recvBufferSize: 1_000_000 });
  socket.on("message", (packet, peer) => {
    arrived.push({ packet, atMs: performance.now() });
    if (packet.length !== 74) return;
    const answer = Buffer.from(packet);
    answer.writeUInt16BE(2, 0);
    answer.write(peer.address, 8);
    answer.writeUInt16BE(peer.port, 72);
    socket.send(answer, peer.port, peer.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  open.push(socket);
  const rtp = () => arrived.filter(({ packet }) => packet[0] === 0x80 && packet[1] === 0x78);
  return { port: socket.address().port, arrived, rtp };
}

interface OpenSender {
  readonly path: VoiceSendPath;
  readonly reported: string[];
  /** The received packets, decrypted. */
  received(): ReceivedAudio[];
  readonly arrived: readonly Arrived[];
  send(number: number, dueMs: number): boolean;
}

interface ReceivedAudio {
  readonly number: number;
  readonly sequence: number;
  readonly timestamp: number;
  readonly atMs: number;
}

async function openSender(mode: EncryptionMode = XCHACHA_MODE, link = hire()): Promise<OpenSender> {
  const { port, arrived, rtp } = await startServer();
  const reported: string[] = [];
  const path = link.open({
    address: "127.0.0.1",
    port,
    ssrc: 1000,
    guardHandler: (handler) => handler,
    onUdpError: () => reported.push("udp error"),
    onDead: (reason) => reported.push(reason),
  });
  expect(await path.whenDiscovered).toMatchObject({ address: "127.0.0.1" });
  path.start({ mode, secretKey: KEY }, { ssrc: 1000, sequence: 65_530, timestamp: 0 });
  const received = () =>
    rtp().map(({ packet, atMs }) => ({
      number: openPacket(mode, KEY, packet).readUInt32BE(0),
      sequence: packet.readUInt16BE(2),
      timestamp: packet.readUInt32BE(4),
      atMs,
    }));
  const send = (number: number, dueMs: number): boolean => {
    const frame = Buffer.alloc(60, number);
    frame.writeUInt32BE(number, 0);
    return path.send(frame, dueMs) === "sent";
  };
  return { path, reported, received, arrived, send };
}

const sequencesFrom = (count: number) => Array.from({ length: count }, (_, index) => (65_530 + index) % 65_536);

describe("a finished frame", () => {
  test.each(["aead_xchacha20_poly1305_rtpsize", "aead_aes256_gcm_rtpsize"] as const)(
    "finished frames are sent in order, not early, encrypted with %s, with RTP times of their deadlines",
    async (mode) => {
      const { received, send, reported } = await openSender(mode);
      const startMs = performance.now() + 50;
      // RTP time advances where nothing is sent: after the fourth, after the eighth.
      const steps = [0, 1, 2, 3, 8, 9, 10, 11, 40, 41, 42];
      for (const [number, step] of steps.entries()) {
        await until(() => send(number, startMs + step * FRAME_MS));
      }
      await until(() => received().length === steps.length);
      const frames = received();
      expect(frames.map(({ number }) => number)).toEqual([...steps.keys()]);
      expect(frames.map(({ sequence }) => sequence)).toEqual(sequencesFrom(steps.length));
      expect(frames.map(({ timestamp }) => timestamp / 960)).toEqual(steps);
      for (const { number, atMs } of frames) {
        expect(atMs).toBeGreaterThan(startMs + steps[number]! * FRAME_MS - CLOCKS_DIFFER_MS);
      }
      expect(reported).toEqual([]);
    },
  );

  test("a frame that is due at once is sent at once, whether the pacer waits for another frame or for none", async () => {
    const [own, other] = [await openSender(), await openSender()];
    for (let number = 0; number < 20; number++) {
      own.send(number, performance.now());
      await until(() => own.received().length === number + 1);
    }
    other.send(0, performance.now() + 3_600_000);
    for (let number = 20; number < 40; number++) {
      own.send(number, performance.now());
      await until(() => own.received().length === number + 1);
    }
    expect(other.received()).toEqual([]);
  });

  test("a finished frame is not sent when it has been revoked", async () => {
    const { path, received, send } = await openSender();
    const farMs = performance.now() + 3_600_000;
    for (const number of [1, 2, 3, 4, 5]) send(number, farMs + number);
    expect(path.ring.revoke(99)).toBe(5);
    send(6, performance.now());
    await until(() => received().length === 1);
    expect(received()[0]).toMatchObject({ number: 6, sequence: 65_530 });
    // The pacer writes down that it has left when it has.
    await until(() => path.ring.isEmpty);
  });

  test("a finished frame is sent once or revoked once, however close to its deadline", async () => {
    const { path, received, send } = await openSender();
    const seed = 12;
    const random = seededRandom(seed);
    const expected: number[] = [];
    let revokedCount = 0;
    for (let number = 0; number < 3000; number++) {
      if (send(number, performance.now() + random() * 0.2)) expected.push(number);
      if (random() < 0.5) {
        const count = path.ring.revoke(1 + Math.floor(random() * 3));
        expected.length -= count;
        revokedCount += count;
      }
      // Now and then the pacer has nothing to do.
      if (number % 20 === 0) await until(() => path.ring.isEmpty);
    }
    await until(() => received().length >= expected.length);
    const frames = received();
    expect(
      frames.map(({ number }) => number),
      `seed ${seed}`,
    ).toEqual(expected);
    expect(frames.map(({ sequence }) => sequence)).toEqual(sequencesFrom(expected.length));
    expect(revokedCount).toBeGreaterThan(100);
    expect(expected.length).toBeGreaterThan(100);
  });

  test("a finished frame is dropped past the end of the machine's lease, by the clock that all threads share", async () => {
    const { path, received, send } = await openSender();
    const nowMs = (): number => performance.now() + sharedTimeOffsetMs();
    pacer.leaseEnd.extend(nowMs());
    send(1, performance.now());
    await until(() => path.ring.isEmpty);
    pacer.leaseEnd.extend(nowMs() + 3_600_000);
    send(2, performance.now());
    await until(() => received().length > 0);
    expect(received().map(({ number }) => number)).toEqual([2]);
  });

  test("a finished frame is still sent when its worker has ended", async () => {
    const link = hire();
    const { received, send } = await openSender(XCHACHA_MODE, link);
    const nowMs = performance.now();
    for (const number of [1, 2, 3, 4, 5]) send(number, nowMs + number * FRAME_MS);
    link.close();
    await until(() => received().length === 5);
  });
});

test("a voice send path without audio is kept open", async () => {
  const { arrived } = await openSender();
  const keepAlives = () => arrived.filter(({ packet }) => packet.length === 8);
  await until(() => keepAlives().length > 0);
  expect(keepAlives()[0]?.packet.toString("hex")).toBe("0100000000000000");
});

test("the worker is notified of a voice server that the system reports as unreachable", async () => {
  const sender = await openSender();
  const socket = open.findLast((thing): thing is Socket => "setTTL" in thing);
  open.splice(open.indexOf(socket!), 1);
  socket?.close();
  await until(() => {
    sender.send(1, performance.now());
    return sender.reported.length > 0;
  });
  expect(sender.reported[0]).toBe("udp error");
});

test("the pacer's reports contain no part of a key", async () => {
  const { received, send } = await openSender();
  send(1, performance.now());
  await until(() => received().length === 1);
  const lines = JSON.stringify(pacer.messages);
  expect(lines).toContain("ready");
  for (const secret of [[...KEY.subarray(0, 4)].join(","), Buffer.from(KEY.subarray(0, 4)).toString("hex")]) {
    expect(lines).not.toContain(secret);
  }
});

describe("two threads at once", () => {
  function startScript(name: string, memory: SharedArrayBuffer, progress: SharedArrayBuffer): Worker {
    const worker = new Worker(new URL(`../../support/worker-scripts/${name}.mjs`, import.meta.url), {
      workerData: { memory, progress },
    });
    open.push({ close: () => worker.terminate() });
    return worker;
  }

  test("with two threads at once, each frame is sent once or revoked once, whole and in order", async () => {
    const progress = new SharedArrayBuffer(8);
    const counts = new Int32Array(progress);
    const writer = new FrameRingWriter();
    const taker = startScript("ring-taker", writer.memory, progress);
    const seed = 20_261_123;
    const random = seededRandom(seed);
    const expected: number[] = [];
    let revokedCount = 0;
    for (let number = 0; number < 60_000; number++) {
      const seen = Atomics.load(counts, 0);
      if (writer.put(Buffer.alloc(1 + (number % 1000), number), number) !== "full") expected.push(number);
      else Atomics.wait(counts, 0, seen, STUCK_MS);
      if (random() < 0.4) {
        const count = writer.revoke(1 + Math.floor(random() * 4));
        expected.length -= count;
        revokedCount += count;
      }
    }
    Atomics.store(counts, 1, 1);
    const [{ numbers, torn }] = await once(taker, "message");
    expect(numbers.length, `seed ${seed}`).toBe(expected.length);
    expect(numbers, `seed ${seed}`).toEqual(expected);
    expect(torn).toBe(0);
    expect(revokedCount).toBeGreaterThan(1000);
    expect(expected.length).toBeGreaterThan(1000);
  });

  test("a reader that sleeps until a first frame misses none of those behind it", async () => {
    const progress = new SharedArrayBuffer(12);
    const counts = new Int32Array(progress);
    const writer = new FrameRingWriter();
    const taker = startScript("ring-sleeper", writer.memory, progress);
    const seed = 20_261_128;
    const random = seededRandom(seed);
    const signal = () => {
      Atomics.add(counts, 2, 1);
      Atomics.notify(counts, 2);
    };
    const outcomes = { first: 0, behind: 0, full: 0 };
    let expectedCount = 0;
    for (let round = 0; round < 60_000; round++) {
      const seen = Atomics.load(counts, 0);
      const outcome = writer.put(Buffer.alloc(1), round);
      outcomes[outcome] += 1;
      if (outcome === "first") signal();
      if (outcome !== "full") expectedCount += 1;
      else expect(Atomics.wait(counts, 0, seen, STUCK_MS), `seed ${seed} round ${round}`).not.toBe("timed-out");
      if (random() < 0.1) expectedCount -= writer.revoke(1 + Math.floor(random() * 4));
      for (let spin = random() * 40; spin > 0; spin--) Atomics.load(counts, 0);
    }
    Atomics.store(counts, 1, 1);
    signal();
    expect(await once(taker, "message"), `seed ${seed}`).toEqual([expectedCount]);
    expect(Math.min(outcomes.first, outcomes.behind)).toBeGreaterThan(100);
  });

  test("a thread that writes wakes the sleeping one, in every interleaving of the two", async () => {
    const [memory, progress] = [new SharedArrayBuffer(WAKE_UP_FLAG_BYTES), new SharedArrayBuffer(8)];
    const counts = new Int32Array(progress);
    const wakeUpFlag = new WakeUpFlag(memory);
    const sleeper = startScript("flag-sleeper", memory, progress);
    const seed = 7;
    const random = seededRandom(seed);
    let messages = 0;
    for (let round = 1; round <= 20_000; round++) {
      Atomics.store(counts, 0, round);
      if (wakeUpFlag.signal(0)) {
        sleeper.postMessage("wake");
        messages += 1;
      }
      for (let spin = random() * 300; spin > 0; spin--) Atomics.load(counts, 0);
      const startedMs = performance.now();
      for (let seen = Atomics.load(counts, 1); seen !== round; seen = Atomics.load(counts, 1)) {
        Atomics.wait(counts, 1, seen, STUCK_MS);
        expect(performance.now() - startedMs, `seed ${seed} round ${round}`).toBeLessThan(STUCK_MS);
      }
    }
    // Both kinds of sleep occurred.
    expect(messages).toBeGreaterThan(1000);
    expect(messages).toBeLessThan(19_000);
  });
});
