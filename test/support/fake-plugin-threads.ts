// Threads of plugins that do what a test says: they record what they are asked, live, answer, hang and end on order.

import { EventEmitter } from "node:events";
import { MessageChannel, type WorkerOptions } from "node:worker_threads";
import type { PluginCommand, PluginEvent, PluginManifest, PluginStart } from "../../src/bridge/plugin-messages.ts";
import { toWireError } from "../../src/bridge/wire-error.ts";
import { BEAT_MS, WorkMark } from "../../src/bridge/work-mark.ts";
import type { Thread, Threads } from "../../src/control/workers/threads.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { settle } from "./fake-workers.ts";

type CommandOf<Type extends PluginCommand["type"]> = Extract<PluginCommand, { readonly type: Type }>;

/** What a plugin named `name` says of itself, with one source of the same name. */
export function manifestOf(name: string, more: Partial<PluginManifest> = {}): PluginManifest {
  const sources = [{ name, prefixes: [`${name}:`], fields: [] }];
  return { name, version: "1.0.0", aliases: [], ownServers: [], sources, ...more };
}

export class FakePluginThreads implements Threads {
  /** All that were started, in order. */
  readonly started: FakePluginThread[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(_entry: URL, options: WorkerOptions): Thread {
    const thread = new FakePluginThread(options.workerData as PluginStart, this.#clock); // made by the node
    this.started.push(thread);
    return thread;
  }

  createChannel(): MessageChannel {
    return new MessageChannel();
  }

  get last(): FakePluginThread {
    const thread = this.started.at(-1);
    if (thread === undefined) throw new Error("no thread was started");
    return thread;
  }

  /** Those that run. */
  get alive(): FakePluginThread[] {
    return this.started.filter(({ isEnded }) => !isEnded);
  }
}

export class FakePluginThread extends EventEmitter implements Thread {
  readonly start: PluginStart;
  readonly commands: PluginCommand[] = [];
  isEnded = false;
  /** It shows no sign of life any more. */
  isHanging = false;
  /** It says that it is disposed when it is told to. */
  isObedient = true;

  constructor(start: PluginStart, clock: Clock) {
    super();
    this.start = start;
    const mark = new WorkMark(start.markMemory);
    const beat = (): void => {
      if (this.isEnded) return;
      if (!this.isHanging) mark.beat();
      clock.after(BEAT_MS, beat);
    };
    beat();
  }

  postMessage(command: unknown): void {
    this.commands.push(structuredClone(command) as PluginCommand); // the node's own
    if (this.isObedient && this.all("dispose").length > 0) queueMicrotask(() => this.say({ type: "disposed" }));
  }

  unref(): void {}

  async terminate(): Promise<void> {
    this.exit(1);
  }

  /** It ends, whoever wanted it. */
  exit(code = 0): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.emit("exit", code);
  }

  say(event: PluginEvent): void {
    if (!this.isEnded) this.emit("message", structuredClone(event));
  }

  /** It is set up. */
  async ready(manifest: PluginManifest): Promise<void> {
    this.say({ type: "named", name: manifest.name });
    this.say({ type: "ready", manifest });
    await settle();
  }

  /** It answers what it was asked last, or that. */
  async reply(
    value: Extract<PluginEvent, { readonly type: "reply" }>["value"] = { kind: "empty" },
    requestId = this.lastRequestId,
  ): Promise<void> {
    this.say({ type: "reply", requestId, value });
    await settle();
  }

  async replyError(error: Error, requestId = this.lastRequestId): Promise<void> {
    this.say({ type: "replyError", requestId, error: toWireError(error) });
    await settle();
  }

  all<Type extends PluginCommand["type"]>(type: Type): CommandOf<Type>[] {
    return this.commands.filter((command): command is CommandOf<Type> => command.type === type);
  }

  get lastRequestId(): number {
    const request = this.commands.findLast((command) => command.type === "load" || command.type === "resolve");
    if (request === undefined || !("requestId" in request)) throw new Error("the thread was asked nothing");
    return request.requestId;
  }
}
