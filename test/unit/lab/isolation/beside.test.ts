import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { beside } from "../../../../lab/isolation/harness/beside.ts";
import { sleep } from "../../../../lab/sleep.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An attack of two seconds beside an operation; `answer` gets whether the attack has begun. */
async function run(answer: (isAttacked: boolean) => Promise<string>) {
  const found = { problems: [] as string[], delays: [] as string[] };
  let isAttacked = false;
  const result = beside(found, {
    honest: () => answer(isAttacked),
    expected: "200",
    strike: async () => {
      isAttacked = true;
      await sleep(2000);
      return "struck";
    },
  });
  await vi.advanceTimersByTimeAsync(20_000);
  return { ...found, answer: await result };
}

test("an honest client that always succeeds in time is no problem", async () => {
  const { problems, delays, answer } = await run(async () => "200");
  expect([problems, delays, answer]).toEqual([[], [], "honest client: 8 of 8, 0 ms; struck"]);
});

test("each failure of an honest client during the attack is a problem", async () => {
  const { problems } = await run(async (isAttacked) => (isAttacked ? "503" : "200"));
  expect(problems).toEqual(["the honest client beside it: 8x 503, of 8"]);
});

test("an honest client that fails before the attack makes the case invalid", async () => {
  const { problems, answer } = await run(async (isAttacked) => (isAttacked ? "200" : "404"));
  expect([problems, answer]).toEqual([["the honest client failed before the attack: 4x 404"], "nothing was tried"]);
});

test("an honest client that waits 300 ms longer than before is delayed, and not before", async () => {
  const waiting = (ms: number) => async (isAttacked: boolean) => {
    if (isAttacked) await sleep(ms);
    return "200";
  };
  expect((await run(waiting(300))).delays).toEqual([]);
  expect((await run(waiting(301))).delays).toEqual(["the honest client waits 301 ms, allowed are 300"]);
});
