// Puts a look-up worker together from what its thread stands on, as start-audio.ts does an audio worker. The same in a
// thread of its own (lookup-main.ts) and in a simulation (lab/simulate). Look-up thread.

import { EventChannel, type ThreadEnd } from "../bridge/channel.ts";
import type { LookupCommand } from "../bridge/commands.ts";
import { startBeating } from "../bridge/thread-start.ts";
import { WorkMark } from "../bridge/work-mark.ts";
import type { WorkerSettings } from "../bridge/worker-settings.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import { createLogger, type Logger } from "../log.ts";
import type { Sockets } from "../network/sockets.ts";
import { ThreadTurns } from "./budget/thread-turns.ts";
import { TrackBudget } from "./budget/track-budget.ts";
import { createTrackMemory } from "./budget/track-memory.ts";
import { LookupWorker, type LookupWorkerOptions } from "./lookup-worker.ts";
import { createGuard, createOpener } from "./opening/create-opener.ts";

/** Kept outside of V8's heap by all look-ups together. */
const THREAD_MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/** From here on the largest gives way, so that the others never come to the limit. */
const CROWDED_MEMORY_BYTES = 128 * 1024 * 1024;

/** What a look-up worker stands on. */
export interface LookupGround {
  /** To the main thread. */
  readonly port: ThreadEnd<LookupCommand>;
  readonly settings: WorkerSettings;
  /** Its own end of it. */
  readonly mark: WorkMark;
  /** Keeps the mark true by itself. */
  readonly names: LookupWorkerOptions["names"];
  readonly clock: Clock;
  readonly sockets: Sockets;
}

/** What the thread does with a worker that has been started. */
export interface StartedLookups {
  readonly logger: Logger;
  readonly worker: LookupWorker;
}

/** Starts a look-up worker, which says `ready` at once and takes commands from then on. */
export function startLookups({ port, settings, mark, names, clock, sockets }: LookupGround): StartedLookups {
  const turns = new ThreadTurns({ clock, isLeastUsedFirst: true });
  const memory = new ByteBudget({ owner: "the look-up thread", limitBytes: THREAD_MEMORY_BYTES_MAX });
  const channel = new EventChannel<LookupCommand>(port, { clock, onCommand: (command) => worker.execute(command) });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = createGuard(settings, clock);
  const { createConnector } = sockets;
  const worker: LookupWorker = new LookupWorker({
    opener: createOpener({ settings, guard, createConnector, clock, logger, channel }),
    names,
    createBudget: (owner) => {
      const ofLookup = createTrackMemory("the look-up", memory);
      // The names are kept by themselves here, and more exactly.
      const ownMark = new WorkMark(WorkMark.allocate());
      return new TrackBudget({ clock, turns, memory: ofLookup, mark: ownMark, owner, activity: "lookup" });
    },
    answer: (request, work) => void channel.answer(request, work),
  });
  startBeating(mark, clock, () => worker.makeRoom(CROWDED_MEMORY_BYTES));
  channel.send({ type: "ready" });
  return { logger, worker };
}
