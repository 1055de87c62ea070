// Tells plugins what happens to sessions and players: a queue for each plugin that listens, so that one that is slow or
// lost holds up nothing. Main thread; one for the node.

import type { OwnNodeEvent, ToldEvent } from "../../bridge/plugin-players.ts";
import type { Clock } from "../../lib/clock.ts";
import { Counts } from "../../lib/counts.ts";
import { messageOf } from "../../lib/message-of.ts";
import { moreThan, type Owner } from "../../lib/owners.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import type { InstalledPlugin } from "./installed-plugin.ts";

/** Events that wait for one plugin. Beyond either bound the oldest of the owners with most of them are dropped. */
const WAITING_MAX = 2000;
const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** So much of the bounds is left then: each time costs, and many events in one moment must not hold up the thread. */
const LEFT_SHARE = 0.9;
/** An event without its tracks. */
const EVENT_SIZE_BYTES = 500;
/** Events of one message to its thread. */
const BATCH_MAX = 100;
const TIMEOUT_MS = 15_000;
/** Before the next try with a thread that was lost, or did not take its events. */
const RETRY_MS = 1000;
const NODE: Owner = ["node"];

interface PluginEventsOptions {
  /** Those that are not off. */
  readonly plugins: () => readonly InstalledPlugin[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PluginEvents {
  readonly #options: PluginEventsOptions;
  readonly #queues = new Map<InstalledPlugin, EventQueue>();
  #isClosed = false;

  constructor(options: PluginEventsOptions) {
    this.#options = options;
  }

  /** Tells all plugins that listen. Never throws and never waits. `owner`: whose work follows from it. */
  tell(event: OwnNodeEvent, owner: Owner): void {
    for (const plugin of this.#options.plugins()) this.tellOne(plugin, event, owner);
  }

  /** Tells one plugin, if it listens. */
  tellOne(plugin: InstalledPlugin, event: OwnNodeEvent, owner: Owner): void {
    if (plugin.manifest?.isListening !== true || this.#isClosed) return;
    const queue = this.#queues.get(plugin) ?? new EventQueue(plugin, this.#options);
    this.#queues.set(plugin, queue);
    queue.push({ event, owner });
  }

  /** From now on nobody is told anything. */
  close(): void {
    this.#isClosed = true;
    for (const queue of this.#queues.values()) queue.close();
  }
}

class EventQueue {
  readonly #plugin: InstalledPlugin;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #waiting: ToldEvent[] = [];
  #sizeBytes = 0;
  #isSending = false;
  /** Some were, since the thread took all that waited. */
  #areDropped = false;
  readonly #closing = new AbortController();

  constructor(plugin: InstalledPlugin, { clock, logger }: Pick<PluginEventsOptions, "clock" | "logger">) {
    this.#plugin = plugin;
    this.#clock = clock;
    this.#logger = logger;
  }

  push(told: ToldEvent): void {
    this.#waiting.push(told);
    this.#sizeBytes += sizeOf(told);
    while (this.#waiting.length > WAITING_MAX || this.#sizeBytes > WAITING_BYTES_MAX) this.#dropOldest();
    if (!this.#isSending) void this.#send();
  }

  close(): void {
    this.#clear();
    this.#closing.abort();
  }

  #clear(): void {
    this.#waiting = [];
    this.#sizeBytes = 0;
  }

  #dropOldest(): void {
    const isFull = this.#waiting.length > WAITING_MAX;
    const weightOf = isFull ? (): number => 1 : sizeOf;
    const left = (isFull ? WAITING_MAX : WAITING_BYTES_MAX) * LEFT_SHARE;
    const dropped = oldestOfGreediest(this.#waiting, { weightOf, left });
    this.#waiting = this.#waiting.filter((told) => !dropped.has(told));
    for (const told of dropped) this.#sizeBytes -= sizeOf(told);
    this.#onDropped("it does not take them fast enough, or its thread is lost");
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const events = this.#waiting.splice(0, BATCH_MAX);
      this.#sizeBytes -= events.reduce((sum, told) => sum + sizeOf(told), 0);
      if (!(await this.#tell(events))) await pause(this.#clock, RETRY_MS, this.#closing.signal);
    }
    this.#areDropped = false;
    this.#isSending = false;
  }

  /** False: the thread has not taken them, or perhaps not all. */
  async #tell(events: readonly ToldEvent[]): Promise<boolean> {
    const { runner } = this.#plugin;
    const { signal } = this.#closing;
    if (runner.state === "resting") {
      for (const told of events.toReversed()) {
        this.#waiting.unshift(told);
        this.#sizeBytes += sizeOf(told);
      }
      return false;
    }
    try {
      await runner.request({ type: "events", owner: NODE, events }, { signal, timeoutMs: TIMEOUT_MS });
      return true;
    } catch (error) {
      if (runner.state === "off") this.#clear();
      else if (!signal.aborted) this.#onDropped(messageOf(error));
      return false;
    }
  }

  /** One line until the thread has caught up. */
  #onDropped(reason: string): void {
    if (this.#areDropped) return;
    this.#areDropped = true;
    const message = "events for a plugin dropped; perhaps more are until it has caught up";
    this.#logger.warn(message, { plugin: this.#plugin.name, reason });
  }
}

/** One after the other, each the oldest of the owner with most that are left, until all others weigh at most `left`. */
function oldestOfGreediest(
  waiting: readonly ToldEvent[],
  { weightOf, left }: { readonly weightOf: (told: ToldEvent) => number; readonly left: number },
): ReadonlySet<ToldEvent> {
  const counts = new Counts();
  const queues = new Map<string, { readonly owner: Owner; readonly own: ToldEvent[] }>();
  let weight = 0;
  for (const told of waiting) {
    const { owner } = told;
    weight += weightOf(told);
    counts.addEach(owner, weightOf(told));
    const queue = queues.get(owner.join("\n")) ?? { owner, own: [] };
    queues.set(owner.join("\n"), queue);
    queue.own.push(told);
  }
  const dropped = new Set<ToldEvent>();
  while (weight > left) {
    let greediest: { readonly owner: Owner; readonly own: ToldEvent[] } | undefined;
    for (const queue of queues.values()) {
      if (greediest === undefined || moreThan(queue.owner, greediest.owner, counts) > 0) greediest = queue;
    }
    const told = greediest?.own.shift();
    if (told === undefined) break;
    weight -= weightOf(told);
    counts.addEach(told.owner, -weightOf(told));
    dropped.add(told);
  }
  return dropped;
}

function sizeOf({ event }: ToldEvent): number {
  if (!("track" in event)) return EVENT_SIZE_BYTES;
  const length = event.track.encoded.length + (event.mirror?.encoded.length ?? 0);
  // The encoded text and the texts that it was made of.
  return EVENT_SIZE_BYTES + length * 4;
}
