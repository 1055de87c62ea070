// A worker's end of the pacer: the pacer comes later than the first path, is lost, and is another one then.

import { beforeEach, describe, expect, test } from "vitest";
import { type PacerEnd, PacerLink } from "../../../../src/media/pacer/pacer-link.ts";
import type { Lateness, PacerCommand, PacerEvent } from "../../../../src/media/pacer/pacer-messages.ts";
import { XCHACHA_MODE } from "../../../../src/media/pacer/transport-encryption.ts";
import type { VoiceSendPath } from "../../../../src/media/pacer/voice-send-path.ts";

const KEY = { mode: XCHACHA_MODE, secretKey: new Uint8Array(32) };

/** Notes what it is told. */
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

  /** What it was told, and of which outlet. */
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

describe("a pacer that comes later", () => {
  test("is asked for once, and told all that was said before, in order", () => {
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

  test("hears nothing of paths that are closed by then: they take no memory", () => {
    for (let count = 0; count < 1000; count++) open().path.close();
    open();
    const pacer = new FakePacer();
    link.connect(pacer);
    expect(pacer.story).toEqual(["open 1001"]);
  });

  test("is not asked for where there is one already", () => {
    link.connect(new FakePacer());
    open();
    expect(expected).toBe(0);
  });
});

describe("another pacer", () => {
  test("makes every path dead, once, and those opened from then on are its own", async () => {
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

  test("is not troubled by what the sessions of the one before begin meanwhile", () => {
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

describe("a path", () => {
  test("hears what is told of it and nothing else, and nothing when it is closed", async () => {
    const pacer = new FakePacer();
    link.connect(pacer);
    const [own, other] = [open(), open()];
    pacer.emit({ type: "udpError", rtpSenderId: 1 });
    pacer.emit({ type: "udpError", rtpSenderId: 77 });
    pacer.emit({ type: "unreachable", rtpSenderId: 2, reason: "no way" });
    pacer.emit({ type: "dead", rtpSenderId: 1, reason: "nothing leaves" });
    expect(own.reported).toEqual(["udp error", "dead: nothing leaves"]);
    expect([other.reported, await outcome(other.path)]).toEqual([[], "no way"]);
    own.path.close();
    own.path.close();
    pacer.emit({ type: "udpError", rtpSenderId: 1 });
    expect(own.reported).toHaveLength(2);
    expect(pacer.story).toEqual(["open 1", "open 2", "close 1"]);
    expect(await outcome(own.path)).toBe("closed");
  });

  test("writes down when frames are due in the pacer's time, and tells it in the worker's", () => {
    const pacer = new FakePacer(5000);
    link.connect(pacer);
    const { path } = open();
    expect([path.send(Buffer.alloc(9), 20), path.send(Buffer.alloc(2000), 40)]).toEqual(["sent", "tooLarge"]);
    expect(pacer.duesMs).toEqual([20]);
    const [command] = pacer.commands;
    const { ring } = command as Extract<PacerCommand, { type: "open" }>; // the first is an open
    // Behind the states and sizes of eight slots.
    expect(new Float64Array(ring, 64, 1)[0]).toBe(5020);
  });
});

test("two reports of lateness between two looks are added up, and none is told twice", () => {
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
