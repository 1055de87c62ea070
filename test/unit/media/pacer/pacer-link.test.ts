// A worker's end of the pacer: the pacer comes later than the first path, is lost, and is another one then.

import { beforeEach, describe, expect, test } from "vitest";
import type { MediaPath } from "../../../../src/media/pacer/media-path.ts";
import { type PacerEnd, PacerLink } from "../../../../src/media/pacer/pacer-link.ts";
import type { Lateness, PacerCommand, PacerEvent } from "../../../../src/media/pacer/pacer-messages.ts";
import { XCHACHA_MODE } from "../../../../src/media/pacer/transport-encryption.ts";

const KEY = { mode: XCHACHA_MODE, secretKey: new Uint8Array(32) };

/** Notes what it is told. */
class FakePacer implements PacerEnd {
  readonly offsetMs: number;
  readonly commands: PacerCommand[] = [];
  readonly duesMs: number[] = [];
  tell: (event: PacerEvent) => void = () => undefined;
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

  giveWay(): void {}

  listen(onEvent: (event: PacerEvent) => void): void {
    this.tell = onEvent;
  }

  close(): void {
    this.isClosed = true;
  }

  /** What it was told, and of which outlet. */
  get story(): string[] {
    return this.commands.map((command) => ("outletId" in command ? `${command.type} ${command.outletId}` : "wake"));
  }
}

let wanted: number;
let link: PacerLink;

beforeEach(() => {
  wanted = 0;
  link = new PacerLink(() => {
    wanted += 1;
  });
});

/** A path with what became of it. */
function open() {
  const told: string[] = [];
  let contained = 0;
  const path = link.open({
    ...{ address: "127.0.0.1", port: 9, ssrc: 1 },
    contain:
      (handler) =>
      (...args) => {
        contained += 1;
        handler(...args);
      },
    onUdpError: () => told.push("udp error"),
    onDead: (reason) => told.push(`dead: ${reason}`),
  });
  return { path, told, contained: () => contained };
}

const outcome = ({ whenDiscovered }: MediaPath) =>
  whenDiscovered.then(
    (found) => found?.address ?? "no answer",
    (error: Error) => error.message,
  );

describe("a pacer that comes later", () => {
  test("is asked for once, and told all that was said before, in order", () => {
    const [first, second] = [open(), open()];
    first.path.start(KEY, { ssrc: 1, sequence: 1, timestamp: 1 });
    second.path.rekey(KEY);
    expect(wanted).toBe(1);
    const pacer = new FakePacer();
    link.give(pacer);
    expect(pacer.story).toEqual(["open 1", "open 2", "start 1", "rekey 2"]);
    first.path.close();
    open();
    expect(pacer.story.slice(4)).toEqual(["close 1", "open 3"]);
    expect([wanted, first.told, second.told]).toEqual([1, [], []]);
  });

  test("hears nothing of paths that are closed by then: they take no memory", () => {
    for (let count = 0; count < 1000; count++) open().path.close();
    open();
    const pacer = new FakePacer();
    link.give(pacer);
    expect(pacer.story).toEqual(["open 1001"]);
  });

  test("is not asked for where there is one already", () => {
    link.give(new FakePacer());
    open();
    expect(wanted).toBe(0);
  });
});

describe("another pacer", () => {
  test("makes every path dead, once, and those opened from then on are its own", async () => {
    const [first, second] = [new FakePacer(), new FakePacer()];
    link.give(first);
    const [discovered, joining, closed] = [open(), open(), open()];
    first.tell({ type: "discovered", outletId: 1, found: { address: "203.0.113.9", port: 1 } });
    closed.path.close();
    link.give(second);
    expect([discovered.told, joining.told, closed.told]).toEqual([
      ["dead: the pacer was lost"],
      ["dead: the pacer was lost"],
      [],
    ]);
    expect(discovered.contained()).toBe(1);
    expect(await outcome(discovered.path)).toBe("203.0.113.9");
    expect(await outcome(joining.path)).toBe("the pacer was lost");
    expect(first.isClosed).toBe(true);
    open();
    expect(second.story).toEqual(["open 4"]);
  });

  test("is not troubled by what the sessions of the one before begin meanwhile", () => {
    link.give(new FakePacer());
    const reopened: MediaPath[] = [];
    const lost = link.open({
      ...{ address: "127.0.0.1", port: 9, ssrc: 1 },
      contain: (handler) => handler,
      onUdpError: () => undefined,
      onDead: () => {
        lost.close();
        reopened.push(open().path);
      },
    });
    const second = new FakePacer();
    link.give(second);
    expect(reopened).toHaveLength(1);
    expect(second.story).toEqual(["close 1", "open 2"]);
  });
});

describe("a path", () => {
  test("hears what is told of it and nothing else, and nothing when it is closed", async () => {
    const pacer = new FakePacer();
    link.give(pacer);
    const [own, other] = [open(), open()];
    pacer.tell({ type: "udpError", outletId: 1 });
    pacer.tell({ type: "udpError", outletId: 77 });
    pacer.tell({ type: "unreachable", outletId: 2, reason: "no way" });
    pacer.tell({ type: "dead", outletId: 1, reason: "nothing leaves" });
    expect(own.told).toEqual(["udp error", "dead: nothing leaves"]);
    expect([other.told, await outcome(other.path)]).toEqual([[], "no way"]);
    own.path.close();
    own.path.close();
    pacer.tell({ type: "udpError", outletId: 1 });
    expect(own.told).toHaveLength(2);
    expect(pacer.story).toEqual(["open 1", "open 2", "close 1"]);
    expect(await outcome(own.path)).toBe("closed");
  });

  test("writes down when frames are due in the pacer's time, and tells it in the worker's", () => {
    const pacer = new FakePacer(5000);
    link.give(pacer);
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
  link.give(pacer);
  const report = (latenessMsMax: number, latenessCounts: number[]): Lateness => ({
    ...{ latenessMsP50: 1, latenessMsP99: latenessMsMax, latenessMsMax },
    ...{ latenessCounts, latenessMsSum: latenessMsMax * 2 },
  });
  pacer.tell({ type: "lateness", lateness: report(9, [1, 2]) });
  pacer.tell({ type: "lateness", lateness: report(4, [3, 5]) });
  expect(link.takeLateness()).toMatchObject({ latenessMsMax: 9, latenessMsSum: 26, latenessCounts: [4, 7] });
  expect(link.takeLateness()).toMatchObject({ latenessMsMax: 0, latenessMsSum: 0, latenessCounts: [] });
});
