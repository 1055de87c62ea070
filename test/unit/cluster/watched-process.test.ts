import { beforeEach, describe, expect, test } from "vitest";
import { WatchedProcess } from "../../../src/cluster/watched-process.ts";
import { NodeError } from "../../../src/errors.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type FakeProcess, FakeProcesses } from "../../support/fake-processes.ts";
import { untilSettled } from "../../support/until-settled.ts";

const STEP_MS = 50;

let clock: FakeClock;
let target: FakeProcess;
let observer: FakeProcess;
/** What a call to the machine over NATS comes to. */
let call: () => Promise<string>;
let ended: number;
let unreachable: string[];
let watched: WatchedProcess;

const nobody = (): Promise<string> => Promise.reject(new NodeError("machine-gone", "nobody"));

beforeEach(() => {
  clock = new FakeClock();
  const processes = new FakeProcesses();
  target = processes.create();
  observer = processes.create();
  target.listener.listen();
  target.listener.setId("m1");
  call = nobody;
  ended = 0;
  unreachable = [];
});

async function pass(ms: number): Promise<void> {
  await untilSettled();
  for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
    clock.advance(STEP_MS);
    await untilSettled();
  }
}

/** Watches it from now on. */
async function watch(): Promise<void> {
  watched = new WatchedProcess({
    ...{ id: "m1", clock, random: systemRandom },
    endpoint: () => target.listener.endpoint(undefined) ?? { hosts: ["10.0.0.1"], port: target.port },
    dial: observer.dialOf(clock),
    link: { call: () => call() },
    onEnded: () => ended++,
    onUnreachable: (_endpoint, reason) => unreachable.push(reason),
  });
  await pass(100);
}

describe("the end of a process", () => {
  test("is proven when its connection is closed, others are refused, and no call finds it", async () => {
    await watch();
    expect(target.lineCount).toBe(1);
    target.end();
    await pass(0);
    expect(ended).toBe(0);
    await pass(200);
    expect(ended).toBe(1);
    await pass(60_000);
    expect([ended, unreachable]).toEqual([1, []]);
  });

  test("is proven also if its host has gone right after it, as with a container", async () => {
    await watch();
    target.end();
    await pass(0);
    target.isCut = true;
    await pass(3000);
    expect(ended).toBe(1);
  });

  test("is proven though its port is closed a moment after its connections", async () => {
    await watch();
    target.endLines("closed");
    target.listener.setId(undefined);
    await pass(0);
    target.end();
    await pass(300);
    expect(ended).toBe(1);
  });

  test("is not proven by a connection that is reset, though others are refused", async () => {
    await watch();
    target.isRefusing = true;
    target.endLines("lost");
    await pass(60_000);
    expect(ended).toBe(0);
  });

  test("is not proven by a connection that is closed while others are accepted", async () => {
    await watch();
    target.endLines("closed");
    await pass(60_000);
    expect(ended).toBe(0);
    expect(target.lineCount).toBe(1);
  });

  test("is not proven when the first connection after it is not refused, but gets no answer", async () => {
    await watch();
    target.endLines("closed");
    target.isCut = true;
    await pass(60_000);
    expect(ended).toBe(0);
  });

  test("is not proven when a connection is refused once, and then accepted", async () => {
    await watch();
    target.isRefusing = true;
    target.endLines("closed");
    await pass(0);
    target.isRefusing = false;
    await pass(60_000);
    expect(ended).toBe(0);
  });

  test("is not proven while a call is answered", async () => {
    call = async () => "";
    await watch();
    target.end();
    await pass(60_000);
    expect(ended).toBe(0);
  });

  test("is not proven while NATS does not say whether anybody is there, and then it is", async () => {
    call = () => Promise.reject(new NodeError("cluster-away", "no answer"));
    await watch();
    target.end();
    await pass(30_000);
    expect(ended).toBe(0);
    call = nobody;
    await pass(1200);
    expect(ended).toBe(1);
  });

  test("is not proven by a process that was never connected", async () => {
    target.isRefusing = true;
    await watch();
    target.end();
    await pass(60_000);
    expect(ended).toBe(0);
  });

  test("is not proven by one that stands still or cannot be reached", async () => {
    await watch();
    target.isPaused = true;
    await pass(30_000);
    target.isCut = true;
    await pass(60_000);
    expect([ended, unreachable]).toEqual([0, []]);
  });

  test("is not told of when nobody watches any more", async () => {
    await watch();
    target.end();
    await pass(0);
    watched.close();
    await pass(60_000);
    expect(ended).toBe(0);
  });
});

describe("a process that is watched", () => {
  test("is connected to again after a reset, and its end is proven then", async () => {
    await watch();
    target.endLines("lost");
    await pass(600);
    expect(target.lineCount).toBe(1);
    target.end();
    await pass(200);
    expect(ended).toBe(1);
  });

  test("under another id is not that process, whose connection is reset", async () => {
    await watch();
    target.listener.setId("m2");
    await pass(60_000);
    expect(target.lineCount).toBe(0);
    target.end();
    await pass(60_000);
    expect(ended).toBe(0);
  });

  test("which cannot be reached for longer than a dead one is known is told of, once", async () => {
    target.isCut = true;
    await watch();
    await pass(29_000);
    expect(unreachable).toEqual([]);
    await pass(120_000);
    expect(unreachable).toEqual(["no answer"]);
    target.isCut = false;
    await pass(35_000);
    expect(target.lineCount).toBe(1);
  });

  test("loses its connection when nobody watches any more", async () => {
    await watch();
    watched.close();
    await pass(60_000);
    expect(target.lineCount).toBe(0);
  });
});
