// Gives an audio worker the real world to stand on: its thread's port and load, the system's clock and sockets. Audio
// thread; loaded by main.ts.

import type { PlainCommand, ThreadEnd } from "../bridge/channel.ts";
import type { Heartbeat } from "../bridge/heartbeat.ts";
import { catchStrays } from "../bridge/thread-start.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { readThreadTimes } from "../lib/thread-cpu.ts";
import { systemSockets } from "../network/sockets.ts";
import { startAudio } from "./start-audio.ts";

/** What a worker's thread provides. */
export interface ThreadEnvironment {
  readonly start: WorkerStart;
  readonly heartbeat: Heartbeat;
  readonly port: ThreadEnd<PlainCommand>;
  /** The worker has closed everything: the thread may end. */
  readonly onClosed: () => void;
}

/** Starts the worker, which takes commands from then on; `onHeartbeat` is to be called with every heartbeat. */
export function startWorker({ start, heartbeat, port, onClosed }: ThreadEnvironment): {
  readonly onHeartbeat: () => void;
} {
  const { settings, codecPort } = start;
  const clock = systemClock;
  const { logger, attribute, onHeartbeat, loadEncoder, requestPacer } = startAudio({
    port,
    settings,
    heartbeat,
    codecPort,
    clock,
    random: systemRandom,
    sockets: systemSockets,
    ownPacer: undefined,
    takeThreadLoad: createLoadMeter(clock, heartbeat.threadNumber),
    onClosed,
  });
  catchStrays({ threadName: "an audio worker", clock, logger, attribute });
  loadEncoder();
  // Nobody would answer a spare. When it gets players, the pacer runs.
  if (!start.isSpare) requestPacer();
  return { onHeartbeat };
}

/**
 * Loads what every player needs, 0.1 s of work and more. Await this before the first command is executed, because
 * loading later would interrupt players that are already playing.
 */
export async function loadAhead(): Promise<void> {
  const parts = [
    import("./voice/connection/voice-connection.ts"),
    import("./input/open-input.ts"),
    import("./input/http-client.ts"),
    import("./input/playlist.ts"),
    import("./probe/open-demuxer.ts"),
    import("./demux/hls/hls-demuxer.ts"),
  ];
  // A part that cannot be loaded is reported when a player needs it.
  await Promise.allSettled(parts);
}

/**
 * The share of a core that the thread has used since the previous call; where the system does not provide it, the share
 * of its time.
 */
function createLoadMeter(clock: Clock, threadNumber: number): () => number {
  const cpuMs = readThreadTimes(threadNumber)?.cpuMs;
  if (cpuMs === undefined) return createLoopMeter();
  let before = { nowMs: clock.now(), cpuMs };
  return () => {
    const { nowMs, cpuMs } = before;
    before = { nowMs: clock.now(), cpuMs: readThreadTimes(threadNumber)?.cpuMs ?? cpuMs };
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
