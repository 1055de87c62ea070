// Many requests of one attacker, some at a time.

import type { Attack } from "../harness/attack.ts";

/** Concurrent requests. */
const WIDTH = 32;

/** Runs `count` requests, some at a time, until the time is over; resolves with how many were begun. */
export async function manyTimes(
  attack: Pick<Attack, "seconds">,
  count: number,
  work: (index: number) => Promise<unknown>,
  width = WIDTH,
): Promise<number> {
  const endsAtMs = performance.now() + attack.seconds * 1000;
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < count && performance.now() < endsAtMs) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, runNext));
  return next;
}
