// Assembles an audio worker from what its thread provides: channel, clock, randomness, sockets, codecs. The same code
// runs in a real thread (start-worker.ts) and in a simulation (lab/simulate). Large parts (HTTP client, containers,
// voice) are loaded on first use, so that a worker stays small as long as possible. Audio thread.

import type { MessagePort } from "node:worker_threads";
import { EventChannel, type PlainCommand, type ThreadEnd } from "../bridge/channel.ts";
import type { Heartbeat } from "../bridge/heartbeat.ts";
import type { WorkerSettings } from "../bridge/worker-settings.ts";
import type { Clock } from "../lib/clock.ts";
import { GarbageNudge } from "../lib/garbage-nudge.ts";
import type { Owner } from "../lib/owners.ts";
import type { Random } from "../lib/random.ts";
import { createLogger, type Logger } from "../log/log.ts";
import type { Sockets } from "../network/sockets.ts";
import { AudioWorker } from "./audio-worker.ts";
import { CodecModules, packageSource } from "./decode/codec-modules.ts";
import { FilterModules } from "./effects/filters/filter-modules.ts";
import type { OpusCache } from "./opus-cache/opus-cache.ts";
import type { PacerEnd } from "./pacer/pacer-end.ts";
import { PacerLink } from "./pacer/pacer-link.ts";
import { RemotePacer } from "./pacer/remote-pacer.ts";
import { Codecs } from "./pipeline/codecs.ts";
import { createGuard, createOpener } from "./probe/create-opener.ts";
import { SharedStreams } from "./probe/shared-streams.ts";
import type { TrackOpener } from "./probe/track-opener.ts";
import { TimeSlicer } from "./quota/time-slicer.ts";
import { TrackBudget } from "./quota/track-budget.ts";
import { ThreadMemory } from "./quota/track-memory.ts";
import { RemoteCodecs } from "./remote-codecs.ts";
import { ErrorBoundary } from "./scheduler/error-boundary.ts";
import { VoiceThreadLimits } from "./voice/voice-limits.ts";

/** Limit of the memory outside of V8's heap for all tracks of a worker together. */
const WORKER_MEMORY_BYTES_MAX = 512 * 1024 * 1024;

/** Dependencies of an audio worker. */
interface AudioEnvironment {
  /** To the main thread. */
  readonly port: ThreadEnd<PlainCommand>;
  readonly settings: WorkerSettings;
  /** This thread's end of the heartbeat. */
  readonly heartbeat: Heartbeat;
  /** Where codecs are requested; undefined: they are loaded here. */
  readonly codecPort: MessagePort | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly sockets: Sockets;
  /** Creates a pacer in the worker's own thread; undefined: one is requested from the main thread. */
  readonly ownPacer: PacerEnd | undefined;
  /** Share of the time since the last call in which the thread was busy, 0 to 1. */
  readonly takeThreadLoad: () => number;
  /** Everything is closed: the thread may end. */
  readonly onClosed: () => void;
}

/** The thread's interface to a started worker. */
interface StartedAudio {
  readonly logger: Logger;
  /** Attributes an uncaught error to the player whose work it was. False: unknown. */
  attribute(error: unknown): boolean;
  /** To be called with every heartbeat. */
  readonly onHeartbeat: () => void;
  /** Loads the encoder, without waiting for it. */
  readonly loadEncoder: () => void;
  /** Has the pacer started before a player needs it. */
  readonly requestPacer: () => void;
}

/** Starts an audio worker, which takes commands from then on. Its thread reports that it is ready and alive. */
export function startAudio(environment: AudioEnvironment): StartedAudio {
  const { port, settings, heartbeat, codecPort, clock, random, sockets } = environment;
  const boundary = new ErrorBoundary({
    heartbeat,
    onFault: (playerId, error) => worker.onFault(playerId, error),
    beforeWork: () => worker.catchUp(),
  });
  const slicer = new TimeSlicer({ clock });
  const memory = new ThreadMemory("the audio worker", WORKER_MEMORY_BYTES_MAX);
  const createBudget = (playerId: number, owner: Owner): TrackBudget => {
    const ownClock = boundary.clockOf(playerId, clock);
    return new TrackBudget({
      clock: ownClock,
      slicer,
      createMemory: () => memory.createTrackMemory("the track", owner),
      heartbeat,
      taskId: playerId,
      owner,
      activity: "read",
      beforeWork: () => boundary.beforeWork(),
    });
  };
  const channel = new EventChannel(port, { clock, onCommand: (command) => worker.execute(command) });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = createGuard(settings, clock);
  const threadLimits = new VoiceThreadLimits({ clock, areFramesAhead: () => worker.areFramesAhead });
  const modules = new CodecModules(codecPort === undefined ? packageSource : new RemoteCodecs(codecPort, clock));
  const codecs = new Codecs(settings.opus, modules, logger);
  const { createConnector } = sockets;
  const opener = createOpener({
    settings,
    guard,
    createConnector,
    clock,
    logger,
    channel,
    onContainer: (container) => codecs.warmUp(container),
  });
  let openTrack: TrackOpener["open"] = (input, work) => opener.open(input, work);
  if (settings.hasOpusCache) openTrack = throughCache(openTrack, { settings, channel, codecs });
  const streams = new SharedStreams({ clock, openTrack });
  const pacer = new PacerLink(() => channel.send({ type: "pacerRequested" }));
  if (environment.ownPacer !== undefined) pacer.connect(environment.ownPacer);
  const worker = new AudioWorker({
    clock,
    boundary,
    logger,
    createBudget,
    open: (input, work) => {
      if (input.kind !== "site") codecs.warmUp(input.container);
      return streams.open(input, work);
    },
    codecs,
    filterModules: new FilterModules({ heartbeat, clock, logger }),
    createVoice: async (listener, ids) => {
      const { VoiceConnection } = await import("./voice/connection/voice-connection.ts");
      return new VoiceConnection({
        ...ids,
        settings: settings.voice,
        guard,
        sockets,
        pacer,
        threadLimits,
        work: (handler) => boundary.run(listener.playerId, "voice", handler),
        clock: boundary.clockOf(listener.playerId, clock),
        random,
        logger,
        listener,
      });
    },
    takeThreadLoad: environment.takeThreadLoad,
    pacer,
    setPacer: ({ port, wakeUpMemory }) => pacer.connect(new RemotePacer(port, wakeUpMemory)),
    setComplexity: (complexity) => codecs.setComplexity(complexity),
    trackStuckThresholdMs: settings.players.trackStuckThresholdMs,
    send: (event) => channel.send(event),
    answer: (request, work) => void channel.answer(request, work),
    onClosed: environment.onClosed,
  });
  const garbage = new GarbageNudge();
  const onHeartbeat = (): void => void garbage.check(memory.usedBytes);
  return {
    logger,
    onHeartbeat,
    attribute: (error) => boundary.attribute(error),
    loadEncoder: () => codecs.loadEncoder(),
    requestPacer: () => pacer.request(),
  };
}

/** Asks the Opus cache for each track that is opened. */
function throughCache(
  openTrack: TrackOpener["open"],
  parts: { readonly settings: WorkerSettings; readonly channel: EventChannel; readonly codecs: Codecs },
): TrackOpener["open"] {
  const { settings, channel, codecs } = parts;
  const load = async (): Promise<OpusCache> => {
    const { OpusCache } = await import("./opus-cache/opus-cache.ts");
    return new OpusCache({
      openTrack,
      opus: settings.opus,
      request: (request) => channel.requestOpusCache(request),
      send: (event) => channel.send(event),
      complexity: () => codecs.complexity,
    });
  };
  let loading: Promise<OpusCache> | undefined;
  return async (input, work) => {
    loading ??= load();
    return (await loading).open(input, work);
  };
}
