// Entry of an audio worker thread, which with lookup-main.ts is the only place that reads parentPort. Connects the worker to
// the real world: bridge, clock, sockets, guard, codecs. What is large (HTTP client, containers, voice) is loaded when it is
// first needed, so that an idle worker stays small.

import { parentPort, workerData } from "node:worker_threads";
import { EventChannel } from "../bridge/channel.ts";
import { BEAT_MS, WorkMark } from "../bridge/work-mark.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { ownThreadNumber, readThreadCpuMs } from "../lib/thread-cpu.ts";
import { createLogger, type Logger } from "../log.ts";
import { AudioWorker } from "./audio-worker.ts";
import { ThreadTurns } from "./budget/thread-turns.ts";
import { TrackBudget } from "./budget/track-budget.ts";
import { Bulkhead } from "./bulkhead.ts";
import { Codecs } from "./codecs.ts";
import { createGuard, createOpener } from "./create-opener.ts";
import { CodecModules, packageSource } from "./decode/codec-modules.ts";
import { RemoteCodecs } from "./remote-codecs.ts";
import { VoiceThreadLimits } from "./voice/voice-limits.ts";

/** Kept outside of V8's heap by all tracks of a worker together, and by one. */
const WORKER_MEMORY_BYTES_MAX = 512 * 1024 * 1024;
const TRACK_MEMORY_BYTES_MAX = 64 * 1024 * 1024;
/** Ordinary songs need a MB or two: a few that want very much do not end them. */
const MEMORY_RESERVE = { ownBytes: 4 * 1024 * 1024, leftBytes: 128 * 1024 * 1024 };

/** Failures without an owner, each within a minute of the one before, after which the worker is replaced. */
const STRAYS_MAX = 20;
const STRAY_MEMORY_MS = 60_000;

function startWorker(port: NonNullable<typeof parentPort>, { settings, markMemory, codecPort }: WorkerStart): void {
  const clock = systemClock;
  const mark = new WorkMark(markMemory);
  mark.threadNumber = ownThreadNumber();
  const beat = (): void => {
    mark.beat();
    clock.after(BEAT_MS, beat);
  };
  const bulkhead = new Bulkhead({ mark, onFault: (playerId, error) => worker.onFault(playerId, error) });
  const turns = new ThreadTurns();
  const memory = new ByteBudget({ owner: "the audio worker", limitBytes: WORKER_MEMORY_BYTES_MAX });
  const createBudget = (owner: number): TrackBudget => {
    const limitBytes = TRACK_MEMORY_BYTES_MAX;
    const ofTrack = new ByteBudget({ owner: "the track", limitBytes, parent: memory, reserve: MEMORY_RESERVE });
    const ownClock = bulkhead.clockOf(owner, clock);
    return new TrackBudget({ clock: ownClock, turns, memory: ofTrack, mark, owner, activity: "read" });
  };
  const channel = new EventChannel(port, { clock, onCommand: (command) => worker.execute(command) });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = createGuard(settings, clock);
  const threadLimits = new VoiceThreadLimits(clock);
  const modules = new CodecModules(codecPort === undefined ? packageSource : new RemoteCodecs(codecPort, clock));
  const codecs = new Codecs({ complexity: settings.opusComplexity, bitrateBps: settings.opusBitrateBps }, modules);
  const opener = createOpener({ settings, guard, clock, logger, channel });
  const worker = new AudioWorker({
    clock,
    bulkhead,
    logger,
    createBudget,
    open: (input, work) => {
      codecs.warmUp(input.container);
      return opener.open(input, work);
    },
    codecs,
    createVoice: async (listener, ids) => {
      const { VoiceConnection } = await import("./voice/voice-connection.ts");
      return new VoiceConnection({
        ...ids,
        settings: settings.voice,
        guard,
        threadLimits,
        work: (handler) => bulkhead.run(listener.playerId, "voice", handler),
        clock: bulkhead.clockOf(listener.playerId, clock),
        random: systemRandom,
        logger,
        listener,
      });
    },
    takeThreadLoad: createLoadMeter(clock, mark.threadNumber),
    setComplexity: (complexity) => codecs.setComplexity(complexity),
    trackStuckThresholdMs: settings.trackStuckThresholdMs,
    send: (event) => channel.send(event),
    answer: (request, work) => void channel.answer(request, work),
    onClosed: () => {
      port.close();
      // Sockets that are still closing must not keep the thread: what they had to say has been said.
      setImmediate(() => process.exit(0));
    },
  });
  catchStrays(bulkhead, logger, clock);
  beat();
  channel.send({ type: "ready" });
}

/** The share of a core that the thread has used since the call before; where the system does not tell, that of its time. */
function createLoadMeter(clock: Clock, threadNumber: number): () => number {
  let before = { nowMs: clock.now(), cpuMs: readThreadCpuMs(threadNumber), loop: performance.eventLoopUtilization() };
  return () => {
    const { nowMs, cpuMs, loop } = before;
    before = { nowMs: clock.now(), cpuMs: readThreadCpuMs(threadNumber), loop: performance.eventLoopUtilization() };
    if (cpuMs === undefined || before.cpuMs === undefined) {
      return performance.eventLoopUtilization(before.loop, loop).utilization;
    }
    return Math.min(1, (before.cpuMs - cpuMs) / Math.max(1, before.nowMs - nowMs));
  };
}

/** What a callback or a promise threw that nobody waited for: it is the player's whose turn it was, and the worker goes on. */
function catchStrays(bulkhead: Bulkhead, logger: Logger, clock: Clock): void {
  let strayCount = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  const onStray = (error: unknown): void => {
    if (bulkhead.attribute(error)) return;
    logger.error("something failed on an audio worker that is nobody's", { error });
    strayCount = clock.now() - lastMs < STRAY_MEMORY_MS ? strayCount + 1 : 1;
    lastMs = clock.now();
    // What fails again and again is better begun anew: players move to another worker.
    if (strayCount >= STRAYS_MAX) process.exit(1);
  };
  process.on("uncaughtException", onStray);
  process.on("unhandledRejection", onStray);
}

if (parentPort === null) throw new Error("media/main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startWorker(parentPort, workerData as WorkerStart);
