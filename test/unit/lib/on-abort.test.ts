import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";
import { onAbort } from "../../../src/lib/on-abort.ts";
import { pause } from "../../../src/lib/pause.ts";
import { unlessAborted } from "../../../src/lib/unless-aborted.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const listenerCount = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

test("a signal that aborts later is reacted to once", () => {
  const abort = new AbortController();
  const react = vi.fn();
  onAbort(abort.signal, react);
  expect(react).not.toHaveBeenCalled();
  abort.abort();
  abort.abort();
  expect(react).toHaveBeenCalledTimes(1);
});

test("a signal that has aborted already is reacted to within the call, and gets no listener", () => {
  const signal = AbortSignal.abort();
  const react = vi.fn();
  const stopListening = onAbort(signal, react);
  expect(react).toHaveBeenCalledTimes(1);
  expect(listenerCount(signal)).toBe(0);
  stopListening();
});

test("a signal whose work is over is not listened to any more", () => {
  const abort = new AbortController();
  const react = vi.fn();
  const stopListening = onAbort(abort.signal, react);
  stopListening();
  stopListening();
  expect(listenerCount(abort.signal)).toBe(0);
  abort.abort();
  expect(react).not.toHaveBeenCalled();
});

test("work that is over leaves no listener on the signal it was awaited with", async () => {
  const { signal } = new AbortController();
  await unlessAborted(Promise.resolve(), signal);
  await expect(unlessAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  await new Promise((resolve) => setImmediate(resolve));
  expect(listenerCount(signal)).toBe(0);
});

test("work awaited with a signal that has aborted already is rejected with its reason", async () => {
  await expect(unlessAborted(new Promise(() => undefined), AbortSignal.abort(new Error("gone")))).rejects.toThrow(
    "gone",
  );
});

test("a pause ends at its time or with its signal, and leaves neither timer nor listener", async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const full = pause(clock, 100, abort.signal);
  clock.advance(100);
  await full;
  expect(listenerCount(abort.signal)).toBe(0);
  const cut = pause(clock, 100, abort.signal);
  abort.abort();
  await cut;
  await pause(clock, 100, abort.signal);
  expect(clock.pendingCount).toBe(0);
});
