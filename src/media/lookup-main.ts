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
import { createTrackMemory } from "./budget/track-memory.ts";
import { LookupWorker } from "./lookup-worker.ts";
import { createGuard, createOpener } from "./opening/create-opener.ts";
import { catchStrays, openOwnMark, startBeating } from "./thread-start.ts";
import { WorkNames } from "./work-names.ts";

/** Kept outside of V8's heap by all look-ups together. */
const THREAD_MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/** From here on the largest gives way, so that the others never come to the limit. */
const CROWDED_MEMORY_BYTES = 128 * 1024 * 1024;

function startLookups(port: NonNullable<typeof parentPort>, { settings, markMemory }: WorkerStart): void {
  const clock = systemClock;
  const mark = openOwnMark(markMemory);
  const names = new WorkNames(mark);
  const turns = new ThreadTurns({ isLeastUsedFirst: true });
  const memory = new ByteBudget({ owner: "the look-up thread", limitBytes: THREAD_MEMORY_BYTES_MAX });
  const channel = new EventChannel<LookupCommand>(port, { clock, onCommand: (command) => worker.execute(command) });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = createGuard(settings, clock);
  const worker = new LookupWorker({
    opener: createOpener({ settings, guard, clock, logger, channel }),
    names,
    createBudget: (owner) => {
      const ofLookup = createTrackMemory("the look-up", memory);
      // The names are kept by themselves here, and more exactly.
      const ownMark = new WorkMark(WorkMark.allocate());
      return new TrackBudget({ clock, turns, memory: ofLookup, mark: ownMark, owner, activity: "lookup" });
    },
    answer: (request, work) => void channel.answer(request, work),
  });
  const attribute = (error: unknown): boolean => {
    if (names.current === undefined) return false;
    worker.end(names.current, error);
    return true;
  };
  catchStrays({ threadName: "the look-up thread", clock, logger, attribute });
  startBeating(mark, clock, () => worker.makeRoom(CROWDED_MEMORY_BYTES));
  channel.send({ type: "ready" });
}

if (parentPort === null) throw new Error("media/lookup-main.ts runs in a worker thread only");
// Everybody needs these, and the first reading of a file from a slow disk must not look like a hang: the thread is watched once
// it is ready. Commands wait in the port meanwhile.
await Promise.all([
  import("./input/http-client.ts"),
  import("./input/playlist.ts"),
  import("./opening/open-demuxer.ts"),
]);
// workerData is made by control/workers from the same contract.
startLookups(parentPort, workerData as WorkerStart);
