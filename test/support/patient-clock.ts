// The real clock with time-outs that a starved machine does not reach: for tests in which no time-out may fire.

import { type Clock, systemClock } from "../../src/lib/clock.ts";

const PATIENCE = 100;

export const patientClock: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs * PATIENCE, callback),
};
