// The frames that lie ready between an audio worker and the pacer.
// Two threads at once: test/integration/realtime/pacer-thread.test.ts.

import { beforeEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import {
  FrameRingReader,
  FrameRingWriter,
  PAYLOAD_BYTES_MAX,
  RING_FRAMES,
} from "../../../../src/media/pacer/frame-ring.ts";

let writer: FrameRingWriter;
let reader: FrameRingReader;

beforeEach(() => {
  writer = new FrameRingWriter();
  reader = new FrameRingReader(writer.memory);
});

function put(number: number): boolean {
  return outcomeOf(number) !== "full";
}

function outcomeOf(number: number): ReturnType<FrameRingWriter["put"]> {
  return writer.put(Buffer.alloc(1 + (number % PAYLOAD_BYTES_MAX), number), number * 20);
}

/** Sends the oldest frame and returns its number; its bytes and deadline must be those that were put in. */
function leave(): number | undefined {
  const { dueMs } = reader;
  const frame = reader.take();
  if (frame === undefined) {
    expect(dueMs).toBe(Number.POSITIVE_INFINITY);
    return undefined;
  }
  const number = reader.takenDueMs / 20;
  expect(dueMs).toBe(reader.takenDueMs);
  expect(Buffer.compare(frame, Buffer.alloc(1 + (number % PAYLOAD_BYTES_MAX), number))).toBe(0);
  reader.release();
  return number;
}

describe("a frame ring", () => {
  test("a frame ring returns frames in order, each as it was put in, over and over", () => {
    for (let number = 0; number < 5 * RING_FRAMES; number += 3) {
      for (const next of [number, number + 1, number + 2]) expect(put(next)).toBe(true);
      expect([leave(), leave(), leave(), leave()]).toEqual([number, number + 1, number + 2, undefined]);
    }
  });

  test("a frame ring keeps a frame that replaced a revoked one until its own deadline", () => {
    put(1);
    expect(reader.dueMs).toBe(20);
    expect(writer.revoke(1)).toBe(1);
    put(5);
    expect(reader.take()).toBeDefined();
    expect(reader.takenDueMs).toBe(100);
    reader.putBack();
    put(6);
    expect([leave(), leave(), leave()]).toEqual([5, 6, undefined]);
  });

  test("a frame ring accepts its capacity and no more, until a frame has been released", () => {
    for (let number = 0; number < RING_FRAMES; number++) expect(put(number)).toBe(true);
    expect(put(99)).toBe(false);
    expect(reader.take()).toBeDefined();
    expect(put(99)).toBe(false);
    reader.release();
    expect([put(99), put(100)]).toEqual([true, false]);
  });

  test("a frame ring is empty when the last frame has been released, not while it is taken", () => {
    expect(writer.isEmpty).toBe(true);
    put(1);
    expect(writer.isEmpty).toBe(false);
    reader.take();
    expect(writer.isEmpty).toBe(false);
    reader.release();
    expect(writer.isEmpty).toBe(true);
    put(2);
    writer.revoke(1);
    expect(writer.isEmpty).toBe(true);
  });

  test("a frame is the first in the ring when no frame before it is ready or taken", () => {
    expect([outcomeOf(1), outcomeOf(2), outcomeOf(3)]).toEqual(["first", "behind", "behind"]);
    writer.revoke(2);
    expect(outcomeOf(2)).toBe("behind");
    leave();
    reader.take();
    expect(outcomeOf(3)).toBe("behind");
    reader.release();
    leave();
    expect(outcomeOf(4)).toBe("first");
    writer.revoke(1);
    expect(outcomeOf(4)).toBe("first");
  });

  test("a frame ring carries the largest frame whole", () => {
    const largest = Buffer.from(Array.from({ length: PAYLOAD_BYTES_MAX }, (_, index) => index % 251));
    writer.put(largest, 0);
    expect(Buffer.compare(reader.take()!, largest)).toBe(0);
  });
});

describe("revoking frames", () => {
  test("revoking removes at most as many frames as requested, newest first, and the others are sent", () => {
    for (const number of [1, 2, 3, 4]) put(number);
    expect(writer.revoke(2)).toBe(2);
    expect(put(5)).toBe(true);
    expect([leave(), leave(), leave(), leave()]).toEqual([1, 2, 5, undefined]);
  });

  test("revoking removes no frame that is taken or sent", () => {
    for (const number of [1, 2, 3]) put(number);
    leave();
    reader.take();
    expect(writer.revoke(99)).toBe(1);
    expect(writer.revoke(99)).toBe(0);
    reader.release();
    expect([writer.revoke(99), leave()]).toEqual([0, undefined]);
  });

  test("revoking a full ring removes all frames and leaves it as new", () => {
    for (let number = 0; number < RING_FRAMES; number++) put(number);
    expect(writer.revoke(99)).toBe(RING_FRAMES);
    for (let number = 50; number < 50 + RING_FRAMES; number++) expect(put(number)).toBe(true);
    expect(leave()).toBe(50);
  });
});

test("with random operations in between, each frame is sent once or revoked once, in order", () => {
  const seed = 20_261_123;
  const random = seededRandom(seed);
  let ready: number[] = [];
  let isLeaving = false;
  for (let round = 0; round < 5000; round++) {
    const what = `seed ${seed} round ${round}`;
    const dice = random();
    if (dice < 0.5) {
      const hasCapacity = ready.length + (isLeaving ? 1 : 0) < RING_FRAMES;
      expect(put(round), what).toBe(hasCapacity);
      if (hasCapacity) ready.push(round);
    } else if (dice < 0.6) {
      const countMax = Math.floor(random() * 4);
      const retained = ready.slice(0, Math.max(0, ready.length - countMax));
      expect(writer.revoke(countMax), what).toBe(ready.length - retained.length);
      ready = retained;
    } else if (isLeaving) {
      reader.release();
      isLeaving = false;
    } else {
      isLeaving = reader.take() !== undefined;
      expect(isLeaving ? reader.takenDueMs / 20 : undefined, what).toBe(ready.shift());
    }
    expect(writer.isEmpty, what).toBe(ready.length === 0 && !isLeaving);
  }
});
