// A worker's end of the pacer: the pacer starts after the first path is opened, is lost, and is replaced.

import { beforeEach, describe, expect, test } from "vitest";
import { FrameRingReader, RING_FRAMES } from "../../../../src/media/pacer/frame-ring.ts";
import type { PacerEnd } from "../../../../src/media/pacer/pacer-end.ts";
import { PacerLink } from "../../../../src/media/pacer/pacer-link.ts";
import type { Lateness, PacerCommand, PacerEvent } from "../../../../src/media/pacer/pacer-messages.ts";
import { XCHACHA_MODE } from "../../../../src/media/pacer/transport-encryption.ts";
import type { VoiceSendPath } from "../../../../src/media/pacer/voice-send-path.ts";

const KEY = { mode: XCHACHA_MODE, secretKey: new Uint8Array(32) };

/** Records the commands it receives. */
class FakePacer implements PacerEnd {
  readonly offsetMs: number;
  readonly commands: PacerCommand[] = [];
  readonly duesMs: number[] = [];
  emit: (event: PacerEvent) => void = () => undefined;
  isClosed = false;

  constructor(offsetMs = 0) {
    this.offsetMs = offsetMs;
  }

  post(command: PacerCommand): void {
    this.commands.push(command);
  }

  onPut(dueMs: number): void {
    this.duesMs.push(dueMs);
  }

  yieldToPacer(): void {}

  listen(onEvent: (event: PacerEvent) => void): void {
    this.emit = onEvent;
  }

  close(): void {
    this.isClosed = true;
  }

  /** The commands it received, with the RTP sender of each. */
  get story(): string[] {
    return this.commands.map((command) =>
      "rtpSenderId" in command ? `${command.type} ${command.rtpSenderId}` : "wake",
    );
  }
}

let expected: number;
let link: PacerLink;

beforeEach(() => {
  expected = 0;
  link = new PacerLink(() => {
    expected += 1;
  });
});

/** A path with what became of it. */
function open() {
  const reported: string[] = [];
  let guardedCount = 0;
  const path = link.open({
    address: "127.0.0.1",
    port: 9,
    ssrc: 1,
    guardHandler:
      (handler) =>
      (...args) => {
        guardedCount += 1;
        handler(...args);
      },
    onUdpError: () => reported.push("udp error"),
    onDead: (reason) => reported.push(`dead: ${reason}`),
  });
  return { path, reported, guardedCount: () => guardedCount };
}

const outcome = ({ whenDiscovered }: VoiceSendPath) =>
  whenDiscovered.then(
    (found) => found?.address ?? "no answer",
    (error: Error) => error.message,
  );

describe("a pacer that starts later", () => {
  test("a pacer that was requested ahead of the first path is not requested again", () => {
    link.request();
    expect(expected).toBe(1);
    link.request();
    open();
    expect(expected).toBe(1);
  });

  test("a pacer that starts later is requested once, and receives all earlier commands in order", () => {
    const [first, second] = [open(), open()];
    first.path.start(KEY, { ssrc: 1, sequence: 1, timestamp: 1 });
    second.path.rekey(KEY);
    expect(expected).toBe(1);
    const pacer = new FakePacer();
    link.connect(pacer);
    expect(pacer.story).toEqual(["open 1", "open 2", "start 1", "rekey 2"]);
    first.path.close();
    open();
    expect(pacer.story.slice(4)).toEqual(["close 1", "open 3"]);
    expect([expected, first.reported, second.reported]).toEqual([1, [], []]);
  });

  test("a pacer that starts later is not told of paths that are closed by then, which take no memory", () => {
    for (let count = 0; count < 1000; count++) open().path.close();
    open();
    const pacer = new FakePacer();
    link.connect(pacer);
    expect(pacer.story).toEqual(["open 1001"]);
  });

  test("a pacer is not requested when there is one already", () => {
    link.connect(new FakePacer());
    open();
    expect(expected).toBe(0);
  });
});

describe("a replacement pacer", () => {
  test("a replacement pacer makes every open path dead, once, and serves paths opened from then on", async () => {
    const [first, second] = [new FakePacer(), new FakePacer()];
    link.connect(first);
    const [discovered, joining, closed] = [open(), open(), open()];
    first.emit({ type: "discovered", rtpSenderId: 1, found: { address: "203.0.113.9", port: 1 } });
    closed.path.close();
    link.connect(second);
    expect([discovered.reported, joining.reported, closed.reported]).toEqual([
      ["dead: the pacer was lost"],
      ["dead: the pacer was lost"],
      [],
    ]);
    expect(discovered.guardedCount()).toBe(1);
    expect(await outcome(discovered.path)).toBe("203.0.113.9");
    expect(await outcome(joining.path)).toBe("the pacer was lost");
    expect(first.isClosed).toBe(true);
    open();
    expect(second.story).toEqual(["open 4"]);
  });

  test("a replacement pacer receives no later commands of the previous pacer's sessions", () => {
    link.connect(new FakePacer());
    const reopened: VoiceSendPath[] = [];
    const lost = link.open({
      address: "127.0.0.1",
      port: 9,
      ssrc: 1,
      guardHandler: (handler) => handler,
      onUdpError: () => undefined,
      onDead: () => {
        lost.close();
        reopened.push(open().path);
      },
    });
    const second = new FakePacer();
    link.connect(second);
    expect(reopened).toHaveLength(1);
    expect(second.story).toEqual(["close 1", "open 2"]);
  });
});

describe("a send path", () => {
  test("a send path receives its own events only, and none after it is closed", async () => {
    const pacer = new FakePacer();
    link.connect(pacer);
    const [own, other] = [open(), open()];
    pacer.emit({ type: "udpError", rtpSenderId: 1 });
    pacer.emit({ type: "udpError", rtpSenderId: 77 });
    pacer.emit({ type: "unreachable", rtpSenderId: 2, reason: "no route" });
    pacer.emit({ type: "dead", rtpSenderId: 1, reason: "nothing leaves" });
    expect(own.reported).toEqual(["udp error", "dead: nothing leaves"]);
    expect([other.reported, await outcome(other.path)]).toEqual([[], "no route"]);
    own.path.close();
    own.path.close();
    pacer.emit({ type: "udpError", rtpSenderId: 1 });
    expect(own.reported).toHaveLength(2);
    expect(pacer.story).toEqual(["open 1", "open 2", "close 1"]);
    expect(await outcome(own.path)).toBe("closed");
  });

  test("has nothing left to send once it is closed, whenever the pacer hears of that", () => {
    link.connect(new FakePacer());
    const { path } = open();
    const pacerEnd = new FrameRingReader(path.ring.memory);
    for (const dueMs of [20, 40, 60]) path.send(new Uint8Array([1]), dueMs);
    expect(pacerEnd.dueMs).toBe(20);

    path.close();

    expect([pacerEnd.dueMs, pacerEnd.take()]).toEqual([Number.POSITIVE_INFINITY, undefined]);
  });

  test("a send path signals the pacer only for a frame with nothing ready before it", () => {
    const pacer = new FakePacer();
    link.connect(pacer);
    const { path } = open();
    for (const dueMs of [20, 40, 60]) expect(path.send(Buffer.alloc(1), dueMs)).toBe("sent");
    expect(pacer.duesMs).toEqual([20]);
    path.ring.revoke(2);
    path.send(Buffer.alloc(1), 40);
    expect(pacer.duesMs).toEqual([20]);
    path.ring.revoke(2);
    path.send(Buffer.alloc(1), 30);
    expect(pacer.duesMs).toEqual([20, 30]);
  });

  test("a send path converts deadlines to the pacer's clock, and back to the worker's", () => {
    const pacer = new FakePacer(5000);
    link.connect(pacer);
    const { path } = open();
    expect([path.send(Buffer.alloc(9), 20), path.send(Buffer.alloc(2000), 40)]).toEqual(["sent", "tooLarge"]);
    expect(pacer.duesMs).toEqual([20]);
    const [command] = pacer.commands;
    const { ring } = command as Extract<PacerCommand, { type: "open" }>; // the first is an open
    // Behind the states and sizes of all slots.
    expect(new Float64Array(ring, 8 * RING_FRAMES, 1)[0]).toBe(5020);
  });
});

test("two lateness reports between two reads are added up, and each is read once", () => {
  const pacer = new FakePacer();
  link.connect(pacer);
  const report = (latenessMsMax: number, latenessCounts: number[]): Lateness => ({
    latenessMsP50: 1,
    latenessMsP99: latenessMsMax,
    latenessMsMax,
    latenessCounts,
    latenessMsSum: latenessMsMax * 2,
  });
  pacer.emit({ type: "lateness", lateness: report(9, [1, 2]) });
  pacer.emit({ type: "lateness", lateness: report(4, [3, 5]) });
  expect(link.takeLateness()).toMatchObject({ latenessMsMax: 9, latenessMsSum: 26, latenessCounts: [4, 7] });
  expect(link.takeLateness()).toMatchObject({ latenessMsMax: 0, latenessMsSum: 0, latenessCounts: [] });
});
