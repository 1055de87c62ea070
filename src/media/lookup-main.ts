// Entry of the look-up thread: connects it to the real world, as main.ts does an audio worker. Nothing plays here, so what a
// stranger's file does to this thread is heard by nobody; the main thread ends it and starts it anew at any time.

import { parentPort, workerData } from "node:worker_threads";
import { EventChannel } from "../bridge/channel.ts";
import type { LookupCommand } from "../bridge/commands.ts";
import { WorkMark } from "../bridge/work-mark.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { systemClock } from "../lib/clock.ts";
import { createLogger } from "../log.ts";
import { ThreadTurns } from "./budget/thread-turns.ts";
import { TrackBudget } from "./budget/track-budget.ts";
import { createGuard, createOpener } from "./create-opener.ts";
import { LookupWorker } from "./lookup-worker.ts";

/** Kept outside of V8's heap by all look-ups together, and by one: as much as a track may, or it could not be loaded. */
const THREAD_MEMORY_BYTES_MAX = 256 * 1024 * 1024;
const LOOKUP_MEMORY_BYTES_MAX = 64 * 1024 * 1024;

function startLookups(port: NonNullable<typeof parentPort>, { settings, markMemory }: WorkerStart): void {
  const clock = systemClock;
  const mark = new WorkMark(markMemory);
  const turns = new ThreadTurns();
  const memory = new ByteBudget({ owner: "the look-up thread", limitBytes: THREAD_MEMORY_BYTES_MAX });
  const channel = new EventChannel<LookupCommand>(port, { clock, onCommand: (command) => worker.execute(command) });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = createGuard(settings, clock);
  const worker = new LookupWorker({
    opener: createOpener({ settings, guard, clock, logger, channel }),
    createBudget: (owner) => {
      const limitBytes = LOOKUP_MEMORY_BYTES_MAX;
      const ofLookup = new ByteBudget({ owner: "the look-up", limitBytes, parent: memory });
      return new TrackBudget({ clock, turns, memory: ofLookup, mark, owner, activity: "lookup" });
    },
    answer: (request, work) => void channel.answer(request, work),
  });
  channel.send({ type: "ready" });
}

if (parentPort === null) throw new Error("media/lookup-main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startLookups(parentPort, workerData as WorkerStart);
