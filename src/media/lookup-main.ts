// Entry of the look-up thread: connects it to the real world, as main.ts does an audio worker. Nothing plays here, so what a
// stranger's file does to this thread is heard by nobody; the main thread ends it and starts it anew at any time.

import { parentPort, workerData } from "node:worker_threads";
import { EventChannel } from "../bridge/channel.ts";
import type { LookupCommand } from "../bridge/commands.ts";
import { BEAT_MS, WorkMark } from "../bridge/work-mark.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { systemClock } from "../lib/clock.ts";
import { ownThreadNumber } from "../lib/thread-cpu.ts";
import { createLogger } from "../log.ts";
import { ThreadTurns } from "./budget/thread-turns.ts";
import { TrackBudget } from "./budget/track-budget.ts";
import { createGuard, createOpener } from "./create-opener.ts";
import { LookupWorker } from "./lookup-worker.ts";
import { WorkNames } from "./work-names.ts";

/** Kept outside of V8's heap by all look-ups together, and by one: as much as a track may, or it could not be loaded. */
const THREAD_MEMORY_BYTES_MAX = 256 * 1024 * 1024;
const LOOKUP_MEMORY_BYTES_MAX = 64 * 1024 * 1024;
/** Most look-ups need less than a MB: a few that want very much do not end them. */
const MEMORY_RESERVE = { ownBytes: 4 * 1024 * 1024, leftBytes: 128 * 1024 * 1024 };
/** From here on the largest gives way, so that the others never come to the limit. */
const CROWDED_MEMORY_BYTES = 128 * 1024 * 1024;

/** Failures without a name after which the thread is better begun anew. */
const STRAYS_MAX = 20;

function startLookups(port: NonNullable<typeof parentPort>, { settings, markMemory }: WorkerStart): void {
  const clock = systemClock;
  const mark = new WorkMark(markMemory);
  mark.threadNumber = ownThreadNumber();
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
      const limitBytes = LOOKUP_MEMORY_BYTES_MAX;
      const ofLookup = new ByteBudget({ owner: "the look-up", limitBytes, parent: memory, reserve: MEMORY_RESERVE });
      // The names are kept by themselves here, and more exactly.
      const ownMark = new WorkMark(WorkMark.allocate());
      return new TrackBudget({ clock, turns, memory: ofLookup, mark: ownMark, owner, activity: "lookup" });
    },
    answer: (request, work) => void channel.answer(request, work),
  });
  let strayCount = 0;
  const onStray = (error: unknown): void => {
    if (names.current === undefined) {
      logger.error("something failed on the look-up thread that is nobody's", { error });
      strayCount += 1;
      if (strayCount >= STRAYS_MAX) process.exit(1);
    } else worker.end(names.current, error);
  };
  process.on("uncaughtException", onStray);
  process.on("unhandledRejection", onStray);
  const beat = (): void => {
    mark.beat();
    worker.makeRoom(CROWDED_MEMORY_BYTES);
    clock.after(BEAT_MS, beat);
  };
  beat();
  channel.send({ type: "ready" });
}

if (parentPort === null) throw new Error("media/lookup-main.ts runs in a worker thread only");
// Everybody needs these, and the first reading of a file from a slow disk must not look like a hang: the thread is watched once
// it is ready. Commands wait in the port meanwhile.
await Promise.all([import("./input/http-client.ts"), import("./input/playlist.ts"), import("./demux/open-demuxer.ts")]);
// workerData is made by control/workers from the same contract.
startLookups(parentPort, workerData as WorkerStart);
