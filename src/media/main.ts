// Entry of an audio worker thread: the only place that reads parentPort. Connects the worker to the real world: bridge,
// clock, sockets, guard, codecs.

import { parentPort, workerData } from "node:worker_threads";
import { EventChannel } from "../bridge/channel.ts";
import type { WorkerSettings } from "../bridge/worker-settings.ts";
import { systemClock } from "../lib/clock.ts";
import { OutboundGuard } from "../lib/outbound-guard.ts";
import { systemRandom } from "../lib/random.ts";
import { createLogger } from "../log.ts";
import { AudioWorker } from "./audio-worker.ts";
import { Codecs } from "./codecs.ts";
import { openDemuxer } from "./demux/open-demuxer.ts";
import { HttpClient } from "./input/http-client.ts";
import { openInput } from "./input/open-input.ts";
import { TrackOpener } from "./track-opener.ts";
import { VoiceConnection } from "./voice/voice-connection.ts";

function startWorker(port: NonNullable<typeof parentPort>, settings: WorkerSettings): void {
  const clock = systemClock;
  const channel = new EventChannel(port, (command) => worker.execute(command));
  const logger = createLogger((level, message, fields) => channel.send({ type: "log", level, message, fields }));
  const guard = new OutboundGuard(settings.networkAllow);
  const client = new HttpClient({ guard, settings: settings.http, clock });
  const opener = new TrackOpener({
    openInput: (input, signal) => openInput(input, { client, settings, clock, logger, signal }),
    openDemuxer,
    clock,
  });
  const worker = new AudioWorker({
    clock,
    logger,
    open: (input, signal) => opener.open(input, signal),
    probe: (input) => opener.probe(input),
    codecs: new Codecs({ complexity: settings.opusComplexity, bitrateBps: settings.opusBitrateBps }),
    createVoice: (listener, { guildId, userId }) =>
      new VoiceConnection({
        guildId,
        userId,
        settings: settings.voice,
        guard,
        clock,
        random: systemRandom,
        logger,
        listener,
      }),
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
