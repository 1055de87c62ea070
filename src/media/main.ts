// Entry of an audio worker thread: the only place that reads parentPort. Connects the worker to the real world: bridge,
// clock, sockets, guard, codecs. What is large (HTTP client, containers, voice) is loaded when it is first needed, so that
// an idle worker stays small.

import { parentPort, workerData } from "node:worker_threads";
import { EventChannel } from "../bridge/channel.ts";
import { WorkMark } from "../bridge/work-mark.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { systemClock } from "../lib/clock.ts";
import { createHostResolver } from "../lib/host-resolver.ts";
import { OutboundGuard } from "../lib/outbound-guard.ts";
import { OwnNetwork } from "../lib/own-network.ts";
import { systemRandom } from "../lib/random.ts";
import { createLogger } from "../log.ts";
import { AudioWorker } from "./audio-worker.ts";
import { ThreadTurns } from "./budget/thread-turns.ts";
import { TrackBudget } from "./budget/track-budget.ts";
import { Codecs } from "./codecs.ts";
import type { HttpClient } from "./input/http-client.ts";
import type { OutgoingRoutes } from "./input/outgoing-routes.ts";
import { TrackOpener, type TrackOpenerOptions } from "./track-opener.ts";

/** Kept outside of V8's heap by all tracks of a worker together, and by one. */
const WORKER_MEMORY_BYTES_MAX = 512 * 1024 * 1024;
const TRACK_MEMORY_BYTES_MAX = 64 * 1024 * 1024;

function startWorker(port: NonNullable<typeof parentPort>, { settings, markMemory }: WorkerStart): void {
  const clock = systemClock;
  const mark = new WorkMark(markMemory);
  const turns = new ThreadTurns();
  const memory = new ByteBudget({ owner: "the audio worker", limitBytes: WORKER_MEMORY_BYTES_MAX });
  const createBudget = (owner: number): TrackBudget => {
    const ofTrack = new ByteBudget({ owner: "the track", limitBytes: TRACK_MEMORY_BYTES_MAX, parent: memory });
    return new TrackBudget({ clock, turns, memory: ofTrack, mark, owner, activity: "read" });
  };
  const channel = new EventChannel(port, { clock, onCommand: (command) => worker.execute(command) });
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const ownNetwork = new OwnNetwork({ clock, blocks: settings.routing?.ipBlocks ?? [] });
  const guard = new OutboundGuard(settings.networkAllow, { ownNetwork, resolve: createHostResolver({ clock }) });
  const codecs = new Codecs({ complexity: settings.opusComplexity, bitrateBps: settings.opusBitrateBps });
  let whenClient: Promise<HttpClient> | undefined;
  const loadClient = (): Promise<HttpClient> => {
    whenClient ??= Promise.all([import("./input/http-client.ts"), loadRoutes()]).then(
      ([{ HttpClient }, routes]) => new HttpClient({ guard, settings: settings.http, clock, routes }),
    );
    return whenClient;
  };
  const loadRoutes = async (): Promise<OutgoingRoutes | undefined> => {
    const { routing, http } = settings;
    // Behind a proxy, sites see the proxy's address whatever ours is.
    if (routing === undefined || !routing.sources.includes("http") || http.proxyUrl !== undefined) return undefined;
    const { OutgoingRoutes } = await import("./input/outgoing-routes.ts");
    return new OutgoingRoutes({
      guard,
      clock,
      logger,
      retriesMax: routing.retriesMax,
      lookupTimeoutMs: http.connectTimeoutMs,
      wantRoute: (families) => channel.wantRoute(families),
      send: (event) => channel.send(event),
    });
  };
  const openDemuxer: TrackOpenerOptions["openDemuxer"] = async (source, hints, budget) =>
    (await import("./demux/open-demuxer.ts")).openDemuxer(source, hints, budget);
  const opener = new TrackOpener({
    openInput: async (input, work) => {
      const { openInput } = await import("./input/open-input.ts");
      return openInput(input, { ...work, client: await loadClient(), settings, clock: work.budget.clock, logger });
    },
    readPlaylist: async (input, opened) => (await import("./input/playlist.ts")).readPlaylist(input, opened),
    openHls: async (url, work) => {
      const { HlsDemuxer } = await import("./input/hls/hls-demuxer.ts");
      const parts = { client: await loadClient(), clock: work.budget.clock, logger, openSegment: openDemuxer };
      return HlsDemuxer.open(url, { ...work, ...parts });
    },
    openDemuxer,
    onProbed: (stream) => codecs.warmUp(stream),
    clock,
    readAheadMs: settings.readAheadMs,
  });
  const worker = new AudioWorker({
    clock,
    logger,
    createBudget,
    open: (input, work) => opener.open(input, work),
    probe: (input) => opener.probe(input, createBudget(0)),
    codecs,
    createVoice: async (listener, ids) => {
      const { VoiceConnection } = await import("./voice/voice-connection.ts");
      return new VoiceConnection({
        ...ids,
        settings: settings.voice,
        guard,
        clock,
        random: systemRandom,
        logger,
        listener,
      });
    },
    trackStuckThresholdMs: settings.trackStuckThresholdMs,
    send: (event) => channel.send(event),
    answer: (request, work) => void channel.answer(request, work),
    onClosed: () => {
      port.close();
      // Sockets that are still closing must not keep the thread: what they had to say has been said.
      setImmediate(() => process.exit(0));
    },
  });
  channel.send({ type: "ready" });
}

if (parentPort === null) throw new Error("media/main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startWorker(parentPort, workerData as WorkerStart);
