// The threads of a simulated node: the code that worker threads run (media/start-audio.ts, media/start-lookups.ts),
// started in this process over ports in memory. They can be killed, hang, or be held up for a while, which is what a
// simulation is for.

import type { MessagePort, WorkerOptions } from "node:worker_threads";
import type { CodecAnswer, CodecWish } from "../../src/bridge/codec-wish.ts";
import type { PlayerId } from "../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../src/bridge/events.ts";
import { type PlayerReport, sumOf } from "../../src/bridge/sound-report.ts";
import { startBeating } from "../../src/bridge/thread-start.ts";
import { WorkMark } from "../../src/bridge/work-mark.ts";
import type { WorkerStart } from "../../src/bridge/worker-settings.ts";
import type { Thread, Threads } from "../../src/control/workers/threads.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { WasmCodec } from "../../src/lib/wasm-codec.ts";
import { LocalPacer } from "../../src/media/pacer/local-pacer.ts";
import { startAudio } from "../../src/media/start-audio.ts";
import { startLookups } from "../../src/media/start-lookups.ts";
import type { Dice } from "./dice.ts";
import { InProcessPort } from "./in-process-port.ts";
import { ThreadGate } from "./thread-gate.ts";
import type { VirtualNetwork } from "./virtual-network.ts";

/** From the start of a thread until its code runs. */
const START_MS = { min: 20, max: 300 };
/** What a busy audio worker says of itself: enough for players to be moved away. */
const BUSY_LOAD = 0.55;

export interface ThreadGround {
  readonly clock: Clock;
  readonly random: Dice;
  readonly network: VirtualNetwork;
  /** Loaded before time begins: a thread that loads codecs has them at once. */
  readonly codecs: ReadonlyMap<string, WasmCodec>;
}

type Role = "audio" | "lookups" | "codecs";

export class InProcessThreads implements Threads {
  readonly #ground: ThreadGround;
  readonly #threads = new Set<InProcessThread>();
  readonly #ended: InProcessThread[] = [];

  constructor(ground: ThreadGround) {
    this.#ground = ground;
  }

  /** Those that run audio workers, oldest first. */
  get audio(): readonly InProcessThread[] {
    return [...this.#threads].filter(({ role, isEnded }) => role === "audio" && !isEnded);
  }

  get lookups(): readonly InProcessThread[] {
    return [...this.#threads].filter(({ role, isEnded }) => role === "lookups" && !isEnded);
  }

  /** Frames that audio workers have told they have thrown away, all together. */
  get framesDropped(): number {
    return [...this.#threads, ...this.#ended].reduce((sum, thread) => sum + thread.framesDropped, 0);
  }

  /** Audio workers that were ended, whether by a fault or not. */
  get endedCount(): number {
    return this.#ended.filter(({ role }) => role === "audio").length;
  }

  start(entry: URL, options: WorkerOptions): Thread {
    const thread = new InProcessThread(roleOf(entry), options, this.#ground);
    this.#threads.add(thread);
    thread.on("exit", () => {
      this.#threads.delete(thread);
      this.#ended.push(thread);
    });
    return thread;
  }

  createChannel(): { readonly port1: MessagePort; readonly port2: MessagePort } {
    const [port1, port2] = InProcessPort.pair(this.#ground);
    return { port1: asMessagePort(port1), port2: asMessagePort(port2) };
  }
}

export class InProcessThread implements Thread {
  readonly role: Role;
  /** The audio worker says that it is busy. */
  isBusy = false;
  /** Told of by the audio worker. Not what else it counts as lost: that is time without sound, which comes later. */
  framesDropped = 0;
  /** Players of the audio worker whose sound another one makes. */
  readonly #away = new Set<PlayerId>();
  readonly #ground: ThreadGround;
  readonly #gate = new ThreadGate();
  readonly #outer: InProcessPort;
  readonly #onExit: ((code: number) => void)[] = [];

  constructor(role: Role, options: WorkerOptions, ground: ThreadGround) {
    this.role = role;
    this.#ground = ground;
    const [outer, inner] = InProcessPort.pair(ground);
    this.#outer = outer;
    inner.moveTo(this.#gate);
    const { clock, random } = ground;
    const start = options.workerData as WorkerStart; // made by control/workers from the same contract
    clock.after(random.between(START_MS.min, START_MS.max), () => this.#gate.enter(() => this.#run(inner, start)));
  }

  get isEnded(): boolean {
    return this.#gate.isEnded;
  }

  // The overloads of Thread say what each is given.
  on(event: "message" | "error" | "messageerror" | "exit", listener: (told: never) => void): void {
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

  /** The thread is gone from one moment to the next; the main thread hears of it. */
  end(code: number): void {
    if (this.#gate.isEnded) return;
    this.#gate.end();
    this.#ground.clock.after(this.#ground.random.between(0, 5), () => {
      for (const listener of this.#onExit) listener(code);
    });
  }

  /** It does nothing any more, for ever or for a while. */
  hold(forMs?: number): void {
    this.#gate.hold();
    if (forMs !== undefined) this.#ground.clock.after(forMs, () => this.#gate.release());
  }

  #run(port: InProcessPort, start: WorkerStart): void {
    const { network, random } = this.#ground;
    const clock = this.#gate.clockOf(this.#ground.clock);
    const sockets = network.socketsFor(this.#gate);
    if (this.role === "codecs") {
      this.#serveCodecs(port);
      return;
    }
    const { settings, markMemory } = start;
    const mark = new WorkMark(markMemory);
    if (this.role === "lookups") {
      startLookups({ port, settings, mark, names: { run: (_owner, work) => work() }, clock, sockets });
      return;
    }
    const { codecPort } = start;
    if (codecPort !== undefined) (codecPort as unknown as InProcessPort).moveTo(this.#gate); // made by createChannel
    const { onBeat } = startAudio({
      ...{ port, settings, mark, codecPort, clock, random: random.branch(), sockets },
      ownPacer: new LocalPacer(clock, sockets),
      takeThreadLoad: () => 0,
      // What the worker has said by then still arrives.
      onClosed: () => this.#ground.clock.after(10, () => this.end(0)),
    });
    startBeating(mark, clock, onBeat);
    port.postMessage({ type: "ready" });
  }

  #serveCodecs(port: InProcessPort): void {
    port.on("message", (message) => {
      const { codec } = message as CodecWish; // the other end is the node's own main thread
      const wasm = this.#ground.codecs.get(codec);
      const answer: CodecAnswer =
        wasm === undefined ? { codec, failure: "not in this simulation" } : { codec, loaded: { kind: "wasm", wasm } };
      port.postMessage(answer);
    });
  }

  /** What its voice connection could not send; and of sound that is made elsewhere, all that did not get out. */
  #countDropped({ playerId, voiceCounts, lostFrames }: PlayerReport): void {
    const refused = voiceCounts?.framesRefused ?? 0;
    this.framesDropped += this.#away.has(playerId) && lostFrames !== undefined ? sumOf(lostFrames) : refused;
  }

  #shade(message: unknown): unknown {
    const event = message as WorkerEvent; // the other end is the node's own worker
    if (event.type === "handedOver") this.#away.add(event.playerId);
    if (event.type === "playerReports") for (const report of event.reports) this.#countDropped(report);
    if (event.type !== "counters" || !this.isBusy) return message;
    return { ...event, worker: { ...event.worker, tickLoad: BUSY_LOAD, threadLoad: BUSY_LOAD } };
  }
}

function roleOf({ pathname }: URL): Role {
  if (pathname.includes("lookup-main")) return "lookups";
  return pathname.includes("codec-main") ? "codecs" : "audio";
}

/** The typings ask for a MessagePort; what the node uses of it is there. */
function asMessagePort(port: InProcessPort): MessagePort {
  return port as unknown as MessagePort;
}
