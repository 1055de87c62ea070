// Builds a probe worker from its thread's environment, as start-audio.ts does for an audio worker. Used on a real
// thread (probe-main.ts) and in a simulation (lab/simulate). Probe thread.

import { EventChannel, type ThreadEnd } from "../bridge/channel.ts";
import type { ProbeThreadCommand } from "../bridge/commands.ts";
import { Heartbeat } from "../bridge/heartbeat.ts";
import { startHeartbeat } from "../bridge/thread-start.ts";
import type { WorkerSettings } from "../bridge/worker-settings.ts";
import type { Clock } from "../lib/clock.ts";
import { createLogger, type Logger } from "../log/log.ts";
import type { Sockets } from "../network/sockets.ts";
import { createGuard, createOpener } from "./probe/create-opener.ts";
import { ProbeWorker, type ProbeWorkerOptions } from "./probe-worker.ts";
import { TimeSlicer } from "./quota/time-slicer.ts";
import { TrackBudget } from "./quota/track-budget.ts";
import { ThreadMemory } from "./quota/track-memory.ts";

/** Held outside of V8's heap by all probes together. */
const THREAD_MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/** From here on the largest probe is ended, so that the others never reach the limit. */
const CROWDED_MEMORY_BYTES = 128 * 1024 * 1024;

/** The environment of a probe worker. */
interface ProbeEnvironment {
  /** To the main thread. */
  readonly port: ThreadEnd<ProbeThreadCommand>;
  readonly settings: WorkerSettings;
  /** The thread's own end of it. */
  readonly heartbeat: Heartbeat;
  /** Keeps the current task up to date. */
  readonly tasks: ProbeWorkerOptions["tasks"];
  readonly clock: Clock;
  readonly sockets: Sockets;
}

/** The interface of a started worker for its thread. */
interface StartedProbeWorker {
  readonly logger: Logger;
  readonly worker: ProbeWorker;
}

/** Starts a probe worker, which sends `ready` at once and takes commands from then on. */
export function startProbeWorker({
  port,
  settings,
  heartbeat,
  tasks,
  clock,
  sockets,
}: ProbeEnvironment): StartedProbeWorker {
  const slicer = new TimeSlicer({ clock, isLeastUsedFirst: true });
  const memory = new ThreadMemory("the probe thread", THREAD_MEMORY_BYTES_MAX);
  const channel = new EventChannel<ProbeThreadCommand>(port, {
    clock,
    onCommand: (command) => worker.execute(command),
  });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = createGuard(settings, clock);
  const { createConnector } = sockets;
  const worker: ProbeWorker = new ProbeWorker({
    opener: createOpener({ settings, guard, createConnector, clock, logger, channel }),
    tasks,
    createBudget: (taskId, owner) => {
      // The names are tracked separately here, and more exactly.
      const ownHeartbeat = new Heartbeat(Heartbeat.allocate());
      return new TrackBudget({
        clock,
        slicer,
        createMemory: () => memory.createTrackMemory("the probe", owner),
        heartbeat: ownHeartbeat,
        taskId,
        owner,
        activity: "probe",
      });
    },
    answer: (request, work) => void channel.answer(request, work),
  });
  startHeartbeat(heartbeat, clock, () => worker.makeSpace(CROWDED_MEMORY_BYTES));
  channel.send({ type: "ready" });
  return { logger, worker };
}
