// Entry of an audio worker thread: the only place that reads parentPort. Connects the worker to the real world: bridge,
// clock, sockets, guard, codecs. What is large (HTTP client, containers, voice) is loaded when it is first needed, so that
// an idle worker stays small.

import { parentPort, workerData } from "node:worker_threads";
import { EventChannel } from "../bridge/channel.ts";
import type { WorkerSettings } from "../bridge/worker-settings.ts";
import { systemClock } from "../lib/clock.ts";
import { createHostResolver } from "../lib/host-resolver.ts";
import { OutboundGuard } from "../lib/outbound-guard.ts";
import { OwnNetwork } from "../lib/own-network.ts";
import { systemRandom } from "../lib/random.ts";
import { createLogger } from "../log.ts";
import { AudioWorker } from "./audio-worker.ts";
import { Codecs } from "./codecs.ts";
import type { HttpClient } from "./input/http-client.ts";
import type { OutgoingRoutes } from "./input/outgoing-routes.ts";
import { TrackOpener, type TrackOpenerOptions } from "./track-opener.ts";

function startWorker(port: NonNullable<typeof parentPort>, settings: WorkerSettings): void {
  const clock = systemClock;
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
  const openDemuxer: TrackOpenerOptions["openDemuxer"] = async (source, hints) =>
    (await import("./demux/open-demuxer.ts")).openDemuxer(source, hints);
  const opener = new TrackOpener({
    openInput: async (input, signal) => {
      const { openInput } = await import("./input/open-input.ts");
      return openInput(input, { client: await loadClient(), settings, clock, logger, signal });
    },
    readPlaylist: async (input, opened) => (await import("./input/playlist.ts")).readPlaylist(input, opened),
    openHls: async (url, signal) => {
      const { HlsDemuxer } = await import("./input/hls/hls-demuxer.ts");
      return HlsDemuxer.open(url, { client: await loadClient(), clock, logger, signal, openSegment: openDemuxer });
    },
    openDemuxer,
    onProbed: (stream) => codecs.warmUp(stream),
    clock,
    readAheadMs: settings.readAheadMs,
  });
  const worker = new AudioWorker({
    clock,
    logger,
    open: (input, signal) => opener.open(input, signal),
    probe: (input) => opener.probe(input),
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
startWorker(parentPort, workerData as WorkerSettings);
