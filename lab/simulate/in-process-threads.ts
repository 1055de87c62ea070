// The threads of a simulated node: the code that worker threads run (media/start-audio.ts,
// media/start-probe-worker.ts), started in this process over ports in memory. A simulation can kill them, make them
// hang, or hold them for a while.

import type { MessagePort, WorkerOptions } from "node:worker_threads";
import { PLAYER_COUNTERS } from "../../src/bridge/audio-metrics.ts";
import { sumOf } from "../../src/bridge/audio-report.ts";
import type { CodecAnswer, CodecRequest } from "../../src/bridge/codec-request.ts";
import type { PlayerId } from "../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../src/bridge/events.ts";
import { Heartbeat } from "../../src/bridge/heartbeat.ts";
import { startHeartbeat } from "../../src/bridge/thread-start.ts";
import { type PlayerReport, unpackWorkerReport } from "../../src/bridge/worker-report.ts";
import type { WorkerStart } from "../../src/bridge/worker-settings.ts";
import type { Thread, Threads } from "../../src/control/workers/threads.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { WasmCodec } from "../../src/lib/wasm-codec.ts";
import { LocalPacer } from "../../src/media/pacer/local-pacer.ts";
import { startAudio } from "../../src/media/start-audio.ts";
import { startProbeWorker } from "../../src/media/start-probe-worker.ts";
import type { Dice } from "./dice.ts";
import { InProcessPort } from "./in-process-port.ts";
import { ThreadGate } from "./thread-gate.ts";
import type { VirtualNetwork } from "./virtual-network.ts";

/** From the start of a thread until its code runs. */
const START_MS = { min: 20, max: 300 };
/** The load that a busy audio worker reports: enough for players to be moved away. */
const BUSY_LOAD = 0.55;

interface ThreadEnvironment {
  readonly clock: Clock;
  readonly random: Dice;
  readonly network: VirtualNetwork;
  /** Loaded before virtual time begins: a thread that loads codecs has them at once. */
  readonly codecs: ReadonlyMap<string, WasmCodec>;
}

type Role = "audio" | "probe" | "codecs";

export class InProcessThreads implements Threads {
  readonly #environment: ThreadEnvironment;
  readonly #threads = new Set<InProcessThread>();
  readonly #ended: InProcessThread[] = [];

  constructor(environment: ThreadEnvironment) {
    this.#environment = environment;
  }

  /** Threads of audio workers, oldest first. */
  get audio(): readonly InProcessThread[] {
    return [...this.#threads].filter(({ role, isEnded }) => role === "audio" && !isEnded);
  }

  get probes(): readonly InProcessThread[] {
    return [...this.#threads].filter(({ role, isEnded }) => role === "probe" && !isEnded);
  }

  /** Frames that audio workers have reported as dropped, all together. */
  get framesDropped(): number {
    return [...this.#threads, ...this.#ended].reduce((sum, thread) => sum + thread.framesDropped, 0);
  }

  /** Audio workers that were ended, whether by a fault or not. */
  get endedCount(): number {
    return this.#ended.filter(({ role }) => role === "audio").length;
  }

  start(entry: URL, options: WorkerOptions): Thread {
    const thread = new InProcessThread(roleOf(entry), options, this.#environment);
    this.#threads.add(thread);
    thread.on("exit", () => {
      this.#threads.delete(thread);
      this.#ended.push(thread);
    });
    return thread;
  }

  createChannel(): { readonly port1: MessagePort; readonly port2: MessagePort } {
    const [port1, port2] = InProcessPort.pair(this.#environment);
    return { port1: asMessagePort(port1), port2: asMessagePort(port2) };
  }
}

class InProcessThread implements Thread {
  readonly role: Role;
  /** The audio worker reports that it is busy. */
  isBusy = false;
  /**
   * As reported by the audio worker. Not what else it counts as lost: that is time without audio, which is reported
   * later.
   */
  framesDropped = 0;
  /** Players of the audio worker whose audio another one renders. */
  readonly #away = new Set<PlayerId>();
  readonly #environment: ThreadEnvironment;
  readonly #gate = new ThreadGate();
  readonly #outer: InProcessPort;
  readonly #onExit: ((code: number) => void)[] = [];

  constructor(role: Role, options: WorkerOptions, environment: ThreadEnvironment) {
    this.role = role;
    this.#environment = environment;
    const [outer, inner] = InProcessPort.pair(environment);
    this.#outer = outer;
    inner.moveTo(this.#gate);
    const { clock, random } = environment;
    const start = options.workerData as WorkerStart; // made by control/workers from the same contract
    clock.after(random.between(START_MS.min, START_MS.max), () => this.#gate.enter(() => this.#run(inner, start)));
  }

  get isEnded(): boolean {
    return this.#gate.isEnded;
  }

  // The overloads of Thread define the arguments.
  on(event: "message" | "error" | "messageerror" | "exit", listener: (reported: never) => void): void {
    if (event === "exit") this.#onExit.push(listener as (code: number) => void);
    else if (event === "message") this.#outer.on("message", (message) => listener(this.#shade(message) as never));
  }

  postMessage(message: unknown): void {
    if (typeof message === "object" && message !== null && "port" in message) {
      (message.port as InProcessPort).moveTo(this.#gate); // made by createChannel
    }
    this.#outer.postMessage(message);
  }

  unref(): void {}

  async terminate(): Promise<number> {
    this.end(1);
    return 1;
  }

  /** Ends the thread at once; the main thread gets its exit event. */
  end(code: number): void {
    if (this.#gate.isEnded) return;
    this.#gate.end();
    this.#environment.clock.after(this.#environment.random.between(0, 5), () => {
      for (const listener of this.#onExit) listener(code);
    });
  }

  /** Stops all activity, permanently or for a while. */
  hold(forMs?: number): void {
    this.#gate.hold();
    if (forMs !== undefined) this.#environment.clock.after(forMs, () => this.#gate.release());
  }

  #run(port: InProcessPort, start: WorkerStart): void {
    const { network, random } = this.#environment;
    const clock = this.#gate.clockOf(this.#environment.clock);
    const sockets = network.socketsFor(this.#gate);
    if (this.role === "codecs") {
      this.#serveCodecs(port);
      return;
    }
    const { settings, heartbeatMemory } = start;
    const heartbeat = new Heartbeat(heartbeatMemory);
    if (this.role === "probe") {
      startProbeWorker({ port, settings, heartbeat, tasks: { run: (_owner, work) => work() }, clock, sockets });
      return;
    }
    const { codecPort } = start;
    if (codecPort !== undefined) (codecPort as unknown as InProcessPort).moveTo(this.#gate); // made by createChannel
    const { onHeartbeat } = startAudio({
      port,
      settings,
      heartbeat,
      codecPort,
      clock,
      random: random.branch(),
      sockets,
      ownPacer: new LocalPacer(clock, sockets),
      takeThreadLoad: () => 0,
      // Messages that the worker has sent by then still arrive.
      onClosed: () => this.#environment.clock.after(10, () => this.end(0)),
    });
    startHeartbeat(heartbeat, clock, onHeartbeat);
    port.postMessage({ type: "ready" });
  }

  #serveCodecs(port: InProcessPort): void {
    port.on("message", (message) => {
      const { requestId, codec } = message as CodecRequest; // the other end is the node's own main thread
      const wasm = this.#environment.codecs.get(codec);
      const answer: CodecAnswer =
        wasm === undefined
          ? { requestId, failure: "not in this simulation" }
          : { requestId, loaded: { kind: "wasm", wasm } };
      port.postMessage(answer);
    });
  }

  /** Frames that its voice connection could not send; and of audio that is rendered elsewhere, all frames not sent. */
  #countDropped({ playerId, increases = [] }: PlayerReport): void {
    const counts = PLAYER_COUNTERS.zero();
    PLAYER_COUNTERS.add(counts, increases);
    const lost = this.#away.has(playerId) ? sumOf(counts.lostFrames) : 0;
    this.framesDropped += lost > 0 ? lost : counts.framesRefused;
  }

  #shade(message: unknown): unknown {
    const event = message as WorkerEvent; // the other end is the node's own worker
    if (event.type === "handedOver") this.#away.add(event.playerId);
    if (event.type !== "workerReport") return message;
    for (const report of unpackWorkerReport(event).players) this.#countDropped(report);
    return this.isBusy
      ? { ...event, worker: { ...event.worker, tickLoad: BUSY_LOAD, threadLoad: BUSY_LOAD } }
      : message;
  }
}

function roleOf({ pathname }: URL): Role {
  if (pathname.includes("probe-main")) return "probe";
  return pathname.includes("codec-main") ? "codecs" : "audio";
}

/** The types require a MessagePort; the parts that the node uses are implemented. */
function asMessagePort(port: InProcessPort): MessagePort {
  return port as unknown as MessagePort;
}
