// Entry of an audio worker thread; only it, lookup-main.ts and codec-main.ts read parentPort. Connects the worker to the real
// world: bridge, clock, sockets, guard, codecs. What is large (HTTP client, containers, voice) is loaded when it is first
// needed, so that an idle worker stays small; by a spare at once.

import { parentPort, workerData } from "node:worker_threads";
import { EventChannel } from "../bridge/channel.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { GarbageNudge } from "../lib/garbage-nudge.ts";
import { systemRandom } from "../lib/random.ts";
import { readThreadCpuMs } from "../lib/thread-cpu.ts";
import { createLogger } from "../log.ts";
import { AudioWorker } from "./audio-worker.ts";
import { ThreadTurns } from "./budget/thread-turns.ts";
import { TrackBudget } from "./budget/track-budget.ts";
import { createTrackMemory } from "./budget/track-memory.ts";
import { CodecModules, packageSource } from "./decode/codec-modules.ts";
import { createGuard, createOpener } from "./opening/create-opener.ts";
import { Codecs } from "./pipeline/codecs.ts";
import { RemoteCodecs } from "./remote-codecs.ts";
import { catchStrays, openOwnMark, startBeating } from "./thread-start.ts";
import { Bulkhead } from "./tick/bulkhead.ts";
import { VoiceThreadLimits } from "./voice/voice-limits.ts";

/** Kept outside of V8's heap by all tracks of a worker together. */
const WORKER_MEMORY_BYTES_MAX = 512 * 1024 * 1024;

function startWorker(port: NonNullable<typeof parentPort>, start: WorkerStart): void {
  const { settings, markMemory, codecPort } = start;
  const clock = systemClock;
  const mark = openOwnMark(markMemory);
  const bulkhead = new Bulkhead({ mark, onFault: (playerId, error) => worker.onFault(playerId, error) });
  const turns = new ThreadTurns();
  const memory = new ByteBudget({ owner: "the audio worker", limitBytes: WORKER_MEMORY_BYTES_MAX });
  const createBudget = (owner: number): TrackBudget => {
    const ofTrack = createTrackMemory("the track", memory);
    const ownClock = bulkhead.clockOf(owner, clock);
    return new TrackBudget({ clock: ownClock, turns, memory: ofTrack, mark, owner, activity: "read" });
  };
  const channel = new EventChannel(port, { clock, onCommand: (command) => worker.execute(command) });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = createGuard(settings, clock);
  const threadLimits = new VoiceThreadLimits(clock);
  const modules = new CodecModules(codecPort === undefined ? packageSource : new RemoteCodecs(codecPort, clock));
  const codecs = new Codecs(
    { complexity: settings.opusComplexity, bitrateBps: settings.opusBitrateBps },
    modules,
    clock,
  );
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
  catchStrays({ threadName: "an audio worker", clock, logger, attribute: (error) => bulkhead.attribute(error) });
  const garbage = new GarbageNudge();
  startBeating(mark, clock, () => garbage.look(memory.usedBytes));
  channel.send({ type: "ready" });
  if (start.isSpare) loadAhead();
}

/** What every player needs, half a second's work. */
function loadAhead(): void {
  const parts = [
    import("./voice/voice-connection.ts"),
    import("./input/open-input.ts"),
    import("./input/http-client.ts"),
    import("./input/playlist.ts"),
    import("./opening/open-demuxer.ts"),
  ];
  for (const part of parts) part.catch(() => undefined); // told when a player asks for it
}

/** The share of a core that the thread has used since the call before; where the system does not tell, that of its time. */
function createLoadMeter(clock: Clock, threadNumber: number): () => number {
  const cpuMs = readThreadCpuMs(threadNumber);
  if (cpuMs === undefined) return createLoopMeter();
  let before = { nowMs: clock.now(), cpuMs };
  return () => {
    const { nowMs, cpuMs } = before;
    before = { nowMs: clock.now(), cpuMs: readThreadCpuMs(threadNumber) ?? cpuMs };
    return Math.min(1, (before.cpuMs - cpuMs) / Math.max(1, before.nowMs - nowMs));
  };
}

function createLoopMeter(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}

if (parentPort === null) throw new Error("media/main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startWorker(parentPort, workerData as WorkerStart);
