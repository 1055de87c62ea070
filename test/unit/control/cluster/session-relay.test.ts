import { beforeEach, describe, expect, test } from "vitest";
import { messagesCall } from "../../../../src/control/cluster/player-calls.ts";
import { SessionRelay } from "../../../../src/control/cluster/session-relay.ts";
import { QUEUE_COUNT_MAX } from "../../../../src/control/sessions/resume-queue.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { untilSettled } from "../../../support/until-settled.ts";

const SELF = "self";
const TAKEN = JSON.stringify({ kind: "taken" });
const ELSEWHERE = JSON.stringify({ kind: "elsewhere" });

interface Call {
  readonly machineId: string;
  readonly texts: readonly string[];
  readonly answer: (text: string) => void;
  readonly fail: (error: Error) => void;
}

let clock: FakeClock;
let calls: Call[];
let gone: number[];
let homes: Map<string, { readonly machineId: string; readonly revision: number }>;
let dead: Set<string>;
let memory: ByteBudget;
let closedCount: number;
let relay: SessionRelay;

beforeEach(() => {
  clock = new FakeClock();
  calls = [];
  gone = [];
  homes = new Map([["s", { machineId: "a", revision: 1 }]]);
  dead = new Set();
  memory = new ByteBudget({ owner: "the session", limitBytes: 64 * 1024 * 1024 });
  closedCount = 0;
  let number = 0;
  relay = new SessionRelay({
    ...{ sessionId: "s", machineId: SELF, clock, logger: silentLogger },
    nextNumber: () => ++number,
    session: () => ({ memory, relayed: (one) => gone.push(one) }),
    link: {
      call: (machineId, _kind, request) =>
        new Promise((resolve, reject) => {
          const texts = messagesCall.parse(JSON.parse(request)).messages.map(({ text }) => text);
          calls.push({ machineId, texts, answer: resolve, fail: reject });
        }),
    },
    membership: { isAlive: (id) => !dead.has(id) },
    directory: { homes },
    onClosed: () => closedCount++,
  });
});

/** An event; its text is its number. */
function pushEvent({ topic, written, text }: { topic?: string; written?: Promise<void>; text?: string } = {}): number {
  const number = relay.nextNumber();
  relay.push({ topic: topic ?? `topic ${number}`, text: text ?? `${number}`, number }, written);
  return number;
}

function pushUpdate(text: string): void {
  relay.push({ topic: "playerUpdate", text });
}

async function answerLast(text: string): Promise<void> {
  calls.at(-1)?.answer(text);
  await untilSettled();
}

/** The texts of each call. */
function passed(): readonly (readonly string[])[] {
  return calls.map(({ texts }) => texts);
}

describe("messages that must arrive", () => {
  test("are passed on in order, one call at a time, and are gone when they were taken", async () => {
    pushEvent();
    pushEvent();
    pushEvent();
    expect(passed()).toEqual([["1"]]);
    expect(gone).toEqual([]);

    await answerLast(TAKEN);

    expect(gone).toEqual([1]);
    expect(passed()).toEqual([["1"], ["2", "3"]]);
    expect(relay.isEmpty).toBe(false);
    await answerLast(TAKEN);
    expect(gone).toEqual([1, 2, 3]);
    expect(relay.isEmpty).toBe(true);
    expect(calls).toHaveLength(2);
    expect(memory.usedBytes).toBe(0);
  });

  test("wait until they are stored, and those behind them wait, too", async () => {
    let onWritten = (): void => undefined;
    pushEvent({ written: new Promise((resolve) => (onWritten = resolve)) });
    pushEvent();
    pushUpdate("update");
    await untilSettled();
    expect(calls).toEqual([]);

    onWritten();
    await untilSettled();

    expect(passed()).toEqual([["1", "2", "update"]]);
  });

  test("are at most 200 and 256 KiB in a call, but for a larger one", async () => {
    pushEvent();
    for (let count = 0; count < 250; count++) pushEvent();
    await answerLast(TAKEN);
    expect(calls.at(-1)?.texts).toHaveLength(200);
    await answerLast(TAKEN);
    expect(calls.at(-1)?.texts).toHaveLength(50);
    const large = "x".repeat(200 * 1024);
    const larger = "x".repeat(300 * 1024);
    for (const text of [large, large, larger]) pushEvent({ text });
    await answerLast(TAKEN);
    expect(passed().at(-1)).toEqual([large]);
    await answerLast(TAKEN);
    expect(passed().at(-1)).toEqual([large]);
    await answerLast(TAKEN);
    expect(passed().at(-1)).toEqual([larger]);
  });

  test("are repeated after failures, ever more rarely, until they were taken", async () => {
    pushEvent();
    const waits: number[] = [];
    for (let count = 1; count <= 7; count++) {
      if (count % 2 === 0) calls.at(-1)?.fail(new NodeError("cluster-away", "no answer"));
      else calls.at(-1)?.answer(count % 3 === 0 ? "nonsense" : ELSEWHERE);
      await untilSettled();
      const sinceMs = clock.now();
      while (calls.length === count) clock.advance(50);
      waits.push(clock.now() - sinceMs);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1600, 2000, 2000]);
    expect(new Set(calls.map(({ texts }) => texts.join()))).toEqual(new Set(["1"]));
    expect(gone).toEqual([]);

    await answerLast(TAKEN);
    expect(gone).toEqual([1]);

    pushEvent();
    await answerLast(ELSEWHERE);
    const before = calls.length;
    clock.advance(100);
    expect(calls).toHaveLength(before + 1);
  });

  test("go to the machine that has the session next, as soon as that is known", async () => {
    pushEvent();
    await answerLast(ELSEWHERE);
    homes.set("s", { machineId: "b", revision: 2 });
    relay.wake();
    expect(calls.map(({ machineId }) => machineId)).toEqual(["a", "b"]);
    expect(passed()).toEqual([["1"], ["1"]]);
    await answerLast(TAKEN);
    expect(gone).toEqual([1]);
    clock.advance(10_000);
    expect(calls).toHaveLength(2);
  });

  test("are repeated as soon as after a first failure, when there is news of that machine", async () => {
    pushEvent();
    for (let count = 0; count < 5; count++) {
      await answerLast(ELSEWHERE);
      clock.advance(2000);
    }
    relay.wake();
    await answerLast(ELSEWHERE);
    const before = calls.length;
    clock.advance(100);
    expect(calls).toHaveLength(before + 1);
  });

  test.each([
    ["is dead", () => dead.add("a")],
    ["is this one", () => homes.set("s", { machineId: SELF, revision: 2 })],
    ["is not known", () => homes.clear()],
  ])("wait while the machine of the session %s", async (_what, lose) => {
    lose();
    pushEvent();
    clock.advance(10_000);
    expect(calls).toEqual([]);
    dead.clear();
    homes.set("s", { machineId: "b", revision: 3 });
    clock.advance(2000);
    expect(passed()).toEqual([["1"]]);
  });

  test("are bounded while nobody takes them: the older ones are gone, but for the newest of each topic", async () => {
    homes.clear();
    pushEvent({ topic: "rare" });
    for (let count = 0; count < QUEUE_COUNT_MAX + 1; count++) pushEvent({ topic: "frequent" });
    expect(gone.length).toBeGreaterThan(QUEUE_COUNT_MAX / 3);
    expect(gone).not.toContain(1);
    expect(gone).toEqual(gone.toSorted((a, b) => a - b));

    homes.set("s", { machineId: "a", revision: 1 });
    relay.wake();
    for (let count = 0; !relay.isEmpty && count < 100; count++) await answerLast(TAKEN);

    const texts = passed().flat();
    expect(texts[0]).toBe("1");
    expect(texts).toEqual(texts.toSorted((a, b) => Number(a) - Number(b)));
    expect(texts.length + new Set(gone).size).toBeGreaterThan(QUEUE_COUNT_MAX + 1);
    expect(new Set(gone).size).toBe(QUEUE_COUNT_MAX + 2);
  });

  test("are dropped and gone when the session has no memory for them", () => {
    memory.take(memory.limitBytes - 3, "all else");
    homes.clear();
    for (let count = 0; count < 4; count++) pushEvent();
    expect(gone).toEqual([1, 2]);
    pushEvent({ text: "far too long" });
    expect(gone).toEqual([1, 2, 3, 4, 5]);
    expect(memory.usedBytes).toBe(memory.limitBytes - 3);
  });

  test("that were dropped while a call had them do not come again", async () => {
    memory.take(memory.limitBytes - 2, "all else");
    pushEvent();
    pushEvent();
    pushEvent();
    expect(gone).toEqual([1]);
    await answerLast(ELSEWHERE);
    clock.advance(100);
    expect(passed()).toEqual([["1"], ["2", "3"]]);
  });
});

describe("messages that may be dropped", () => {
  test("are passed on in their place, once", async () => {
    pushUpdate("first");
    pushEvent();
    pushUpdate("second");
    await answerLast(TAKEN);
    await answerLast(TAKEN);
    expect(passed()).toEqual([["first"], ["1", "second"]]);
    expect(relay.isEmpty).toBe(true);
  });

  test("are not repeated, and not taken while the machine of the session cannot be reached", async () => {
    pushUpdate("lost");
    pushEvent();
    pushUpdate("lost, too");
    await answerLast(ELSEWHERE);
    pushUpdate("too early");
    clock.advance(100);
    expect(passed()).toEqual([["lost"], ["1"]]);
    pushUpdate("in time");
    await answerLast(TAKEN);
    expect(passed().at(-1)).toEqual(["in time"]);
  });

  test("do not pile up behind a call that is not answered, and cost no message that must arrive", async () => {
    pushEvent();
    for (let count = 0; count < 100; count++) pushEvent({ topic: "one" });
    for (let count = 0; count < 3 * QUEUE_COUNT_MAX; count++) pushUpdate("update");
    for (let count = 0; count < 100; count++) pushEvent({ topic: "one" });
    for (let count = 0; !relay.isEmpty && count < 100; count++) await answerLast(TAKEN);
    const texts = passed().flat();
    expect(texts.filter((text) => text === "update").length).toBeLessThan(1000);
    expect(texts.filter((text) => text !== "update")).toHaveLength(201);
  });

  test("take no memory from those that must arrive", async () => {
    pushEvent();
    pushEvent();
    memory.take(memory.limitBytes - memory.usedBytes - 3, "all else");
    pushUpdate("long update");
    expect(gone).toEqual([]);
  });
});

describe("a closed relay", () => {
  test("gives back what was not taken, also what a call has, and calls nobody any more", async () => {
    let onWritten = (): void => undefined;
    pushEvent();
    pushUpdate("update");
    pushEvent();
    pushEvent({ written: new Promise((resolve) => (onWritten = resolve)) });

    expect(relay.close().map(({ text }) => text)).toEqual(["1", "2", "3"]);

    expect(closedCount).toBe(1);
    expect(memory.usedBytes).toBe(0);
    onWritten();
    await answerLast(TAKEN);
    pushEvent();
    relay.wake();
    clock.advance(10_000);
    expect(calls).toHaveLength(1);
    expect(gone).toEqual([]);
    expect(memory.usedBytes).toBe(0);
    expect(relay.close()).toEqual([]);
    expect(closedCount).toBe(1);
  });

  test("waits for nothing any more", async () => {
    homes.clear();
    pushEvent();
    expect(clock.pendingCount).toBe(1);
    relay.close();
    expect(clock.pendingCount).toBe(0);
  });
});
