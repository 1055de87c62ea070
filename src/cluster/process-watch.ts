// Lets machines notice within a second when the process of one of them ends: each is watched by the three that follow it
// in the order of the ids. Used by the membership. Main thread; one for the node.

import type { Clock } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import type { Logger } from "../log/log.ts";
import type { Dial } from "./life-dial.ts";
import type { LifeListener } from "./life-listener.ts";
import type { Endpoint, Machine } from "./machine.ts";
import type { MachineLink } from "./machine-link.ts";
import { ALIVE, WatchedProcess } from "./watched-process.ts";

/** Machines that each one watches, and that watch each. */
const WATCHED_MAX = 3;
/** Machines that cannot be reached, of which it is said. */
const TOLD_MAX = 100;

/** What the membership knows of other machines, and is told of them. */
interface ProcessSight {
  /** Undefined: nobody can connect to the machine. */
  readonly endpointOf: (id: string) => Endpoint | undefined;
  /** The process of the machine of that id is proven to have ended. */
  readonly onEnded: (id: string) => void;
}

/** Called once, by the membership. */
export type WatchProcesses = (sight: ProcessSight) => ProcessWatch;

interface ProcessWatchOptions extends ProcessSight {
  readonly listener: Pick<LifeListener, "listen" | "endpoint" | "setId" | "close">;
  readonly dial: Dial;
  readonly link: Pick<MachineLink, "status" | "call" | "serve">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ProcessWatch {
  readonly #options: ProcessWatchOptions;
  readonly #watched = new Map<string, WatchedProcess>();
  readonly #told = new Set<string>();
  #id: string | undefined;
  #stopServing: (() => void) | undefined;

  constructor(options: ProcessWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.listener.listen();
  }

  /** Where other machines can connect to this one. */
  get endpoint(): Endpoint | undefined {
    const { listener, link } = this.#options;
    return listener.endpoint(link.status.kind === "connected" ? link.status.seenAs : undefined);
  }

  /** The id under which this machine has joined; undefined: it has none now, and watches nobody. */
  setId(id: string | undefined): void {
    const { listener, link } = this.#options;
    this.#stopServing?.();
    this.#id = id;
    // Before others can be told of the id: who finds nobody there then knows that it is gone.
    this.#stopServing = id === undefined ? undefined : link.serve(id, ALIVE, async () => "");
    listener.setId(id);
    if (id === undefined) this.update([]);
  }

  /** All other machines that are known. */
  update(machines: readonly Machine[]): void {
    const byId = new Map(machines.map((machine) => [machine.id, machine]));
    const ids = new Set(this.#id === undefined ? [] : watchedBy(this.#id, [...byId.keys()]));
    for (const [id, watched] of this.#watched) {
      if (ids.has(id)) continue;
      this.#watched.delete(id);
      watched.close();
    }
    for (const id of ids) {
      const machine = byId.get(id);
      if (machine !== undefined && !this.#watched.has(id)) this.#watched.set(id, this.#watch(machine));
    }
  }

  /** Call it when nothing is done under the id any more: other machines may take this process for ended. */
  close(): void {
    this.#id = undefined;
    this.update([]);
    this.#stopServing?.();
    this.#options.listener.close();
  }

  #watch({ id, name }: Machine): WatchedProcess {
    const { endpointOf, onEnded } = this.#options;
    return new WatchedProcess({
      ...this.#options,
      id,
      endpoint: () => endpointOf(id),
      onEnded: () => onEnded(id),
      onUnreachable: (endpoint, reason) => this.#warnOf(name, endpoint, reason),
    });
  }

  #warnOf(name: string, { hosts, port }: Endpoint, reason: string): void {
    if (this.#told.has(name) || this.#told.size >= TOLD_MAX) return;
    this.#told.add(name);
    const message =
      "cluster: a machine cannot be reached directly: if its process ends, its players go on after 20 s instead of " +
      "about 2: allow TCP connections between machines, to any port";
    this.#options.logger.warn(message, { name, hosts, port, reason });
  }
}

/** Of the other machines, those before this one in the order of the ids, which has no end: so all are watched by as many. */
function watchedBy(id: string, otherIds: readonly string[]): readonly string[] {
  const ordered = otherIds.toSorted().toReversed();
  return [...ordered.filter((other) => other < id), ...ordered.filter((other) => other > id)].slice(0, WATCHED_MAX);
}
