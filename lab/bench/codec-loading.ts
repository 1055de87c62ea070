// Measures what the first track of a codec does to players that are already playing: 50 players in a tick loop on its
// own thread, whose packets are timed while a decoder is loaded and plays its first two seconds, either on the node's
// codec thread or on the audio thread itself. `npm run bench -- codec-loading`.

import { parentPort, Worker, workerData } from "node:worker_threads";
import { Heartbeat } from "../../src/bridge/heartbeat.ts";
import { CodecLoader } from "../../src/control/workers/codec-loader.ts";
import { systemThreads } from "../../src/control/workers/threads.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/log/log.ts";
import { CodecModules, ownCodecModules } from "../../src/media/decode/codec-modules.ts";
import { Codecs } from "../../src/media/pipeline/codecs.ts";
import { RemoteCodecs } from "../../src/media/remote-codecs.ts";
import { ErrorBoundary } from "../../src/media/scheduler/error-boundary.ts";
import { TickLoop } from "../../src/media/scheduler/tick-loop.ts";
import { readCodecPackets } from "../media-files/codec-packets.ts";
import { quantile } from "../report/statistics.ts";
import { sleep } from "../sleep.ts";

const CODECS = ["none", "mp3", "aac", "flac", "vorbis", "alac"];
const ROUNDS = 10;
const PLAYERS = 50;
const FRAME_MS = 20;
const QUIET_MS = 1000;
const PACKETS_PLAYED = 100;
/** About the CPU time of a passthrough player. */
const PACKET_BYTES = 250;

interface Job {
  readonly codec: string;
  readonly codecPort: ConstructorParameters<typeof RemoteCodecs>[0] | undefined;
}

/**
 * Lateness of the latest packet of all players, in milliseconds: while idle, and while the codec is loaded and played.
 */
interface Lateness {
  readonly quietMs: number;
  readonly loadingMs: number;
  readonly startMs: number;
}

async function play({ codec, codecPort }: Job): Promise<Lateness> {
  let worstMs = 0;
  const boundary = new ErrorBoundary({ heartbeat: new Heartbeat(Heartbeat.allocate()), onFault: () => undefined });
  const loop = new TickLoop(systemClock, boundary, { lookAheadFrames: 0 });
  const packet = new Uint8Array(PACKET_BYTES);
  const copy = new Uint8Array(PACKET_BYTES);
  for (let index = 0; index < PLAYERS; index++) {
    loop.add({
      owner: [],
      playerId: index,
      send: (deadlineMs) => {
        worstMs = Math.max(worstMs, systemClock.now() - deadlineMs);
      },
      prepare: () => {
        copy.set(packet);
        return true;
      },
      onDeadlinesDropped: () => undefined,
      charge: () => undefined,
    });
  }
  await sleep(QUIET_MS / 2);
  worstMs = 0;
  await sleep(QUIET_MS);
  const quietMs = worstMs;
  worstMs = 0;
  const startedMs = performance.now();
  let startMs = 0;
  if (codec === "none") await sleep(QUIET_MS);
  else {
    const modules =
      codecPort === undefined ? ownCodecModules : new CodecModules(new RemoteCodecs(codecPort, systemClock));
    const codecs = new Codecs({ complexity: 10, bitrateBps: 128_000, encoder: "tonearm" }, modules);
    const { stream, packets } = readCodecPackets(codec);
    const [decoder, encoder] = await Promise.all([codecs.createDecoder(stream), codecs.acquireEncoder()]);
    const [left, right] = [new Float32Array(960), new Float32Array(960)];
    for (let index = 0; index < PACKETS_PLAYED; index++) {
      await decoder.decode(packets[index % packets.length]!);
      encoder.encode(left, right);
      startMs ||= performance.now() - startedMs;
      await sleep(FRAME_MS / 2);
    }
    decoder.close();
  }
  loop.close();
  return { quietMs, loadingMs: worstMs, startMs };
}

async function run(codec: string, isRemote: boolean): Promise<Lateness> {
  const logger = createLogger((_level, message) => console.error(message));
  const entry = new URL("../../src/media/codec-main.js", import.meta.url);
  const loader = new CodecLoader({ entry, threads: systemThreads, clock: systemClock, logger });
  const codecPort = isRemote ? loader.connect() : undefined;
  const job: Job = { codec, codecPort };
  const transferList = codecPort === undefined ? [] : [codecPort];
  const worker = new Worker(new URL(import.meta.url), { workerData: job, transferList });
  const lateness = await new Promise<Lateness>((resolve, reject) => {
    worker.on("message", resolve);
    worker.on("error", reject);
  });
  await worker.terminate();
  await loader.close();
  return lateness;
}

/** The best value, which shows what the machine can do undisturbed, and the median. */
function summarize(values: readonly number[]): string {
  return `${quantile(values, 0).toFixed(1)} / ${quantile(values, 0.5).toFixed(1)}`.padStart(16);
}

async function main(): Promise<void> {
  console.log(
    `latest packet of ${PLAYERS} players, ms, best / median of ${ROUNDS} rounds: idle, while loading; first ` +
      "audio after",
  );
  for (const codec of CODECS) {
    for (const isRemote of codec === "none" ? [true] : [false, true]) {
      const results: Lateness[] = [];
      for (let round = 0; round < ROUNDS; round++) results.push(await run(codec, isRemote));
      const name = `${codec}${isRemote ? "" : ", loaded on the audio thread"}`;
      const columns = [
        summarize(results.map(({ quietMs }) => quietMs)),
        summarize(results.map(({ loadingMs }) => loadingMs)),
        summarize(results.map(({ startMs }) => startMs)),
      ];
      console.log(`${name.padEnd(38)}${columns.join("")}`);
    }
  }
}

if (parentPort === null) await main();
else {
  // The node's clock and ports keep no thread alive.
  setInterval(() => undefined, QUIET_MS);
  parentPort.postMessage(await play(workerData as Job));
}
