// Threads of plugins that do what a test says: they record requests, answer, hang and end on order.

import type { PluginCommand, PluginEvent, PluginManifest, PluginStart } from "../../src/bridge/plugin-messages.ts";
import { toWireError } from "../../src/bridge/wire-error.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { FakeThread, FakeThreads } from "./fake-thread.ts";
import { settle } from "./fake-workers.ts";

type CommandOf<Type extends PluginCommand["type"]> = Extract<PluginCommand, { readonly type: Type }>;

const REQUESTS: readonly PluginCommand["type"][] = ["load", "resolve", "search", "lyrics", "serve", "events", "drain"];

/** The manifest of a plugin named `name`, with one source of the same name. */
export function manifestOf(name: string, more: Partial<PluginManifest> = {}): PluginManifest {
  const sources = [{ name, prefixes: [`${name}:`], fields: [] }];
  return { name, version: "1.0.0", aliases: [], ownServers: [], sources, ...more };
}

export class FakePluginThreads extends FakeThreads<FakePluginThread> {
  constructor(clock: Clock) {
    super((_entry, { workerData }) => new FakePluginThread(workerData as PluginStart, clock)); // made by the node
  }

  /** The running threads. */
  get alive(): FakePluginThread[] {
    return this.started.filter(({ isEnded }) => !isEnded);
  }
}

export class FakePluginThread extends FakeThread<PluginStart> {
  readonly commands: PluginCommand[] = [];
  /** It confirms that it is disposed when asked to. */
  isObedient = true;

  postMessage(command: unknown): void {
    this.commands.push(structuredClone(command) as PluginCommand); // the node's own
    if (this.isObedient && this.all("dispose").length > 0) queueMicrotask(() => this.say({ type: "disposed" }));
  }

  say(event: PluginEvent): void {
    if (!this.isEnded) this.emit("message", structuredClone(event));
  }

  /** Reports that it is set up. */
  async ready(manifest: PluginManifest): Promise<void> {
    this.say({ type: "named", name: manifest.name });
    this.say({ type: "ready", manifest });
    await settle();
  }

  /** Answers the last request, or the given one. */
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
    const request = this.commands.findLast(({ type }) => REQUESTS.includes(type));
    if (request === undefined || !("requestId" in request)) throw new Error("the thread was asked nothing");
    return request.requestId;
  }
}
