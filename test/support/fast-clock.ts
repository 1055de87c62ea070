// The real clock with timers that fire early: for tests over real sockets in which a time-out must occur.

import { type Clock, systemClock } from "../../src/lib/clock.ts";

const HASTE = 20;

export const fastClock: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs / HASTE, callback),
};
