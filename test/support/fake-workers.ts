// Replaces the WorkerPool: gives players a worker that records its requests and sends what the test says.

import type { Incident } from "../../src/bridge/audio-report.ts";
import { CommandChannel, type MainEnd } from "../../src/bridge/channel.ts";
import type { WorkerCommand } from "../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../src/bridge/events.ts";
import type { WorkerReply } from "../../src/bridge/replies.ts";
import type { WireError } from "../../src/bridge/wire-error.ts";
import type { WorkerProvider } from "../../src/control/players/player-providers.ts";
import type { AdmissionRequest } from "../../src/control/workers/admission.ts";
import type { PlayerPlacement } from "../../src/control/workers/placements.ts";
import {
  type CrashAttribution,
  type PlayerEvent,
  type PooledPlayer,
  WorkerHandle,
} from "../../src/control/workers/worker-handle.ts";
import { NodeError } from "../../src/errors.ts";
import type { Clock } from "../../src/lib/clock.ts";

type WithoutPlayerId<Event> = Event extends { readonly playerId: number } ? Omit<Event, "playerId"> : Event;
type CommandOf<Type extends WorkerCommand["type"]> = Extract<WorkerCommand, { readonly type: Type }>;

/** Serves one player at a time. */
export class FakeWorkers implements WorkerProvider {
  /** All commands of all workers, in order. */
  readonly commands: WorkerCommand[] = [];
  /** False: players stay without a worker until `start`. */
  isRunning = true;
  /** Reported by the next handles. */
  isIsolated = false;
  readonly #clock: Clock;
  #channel: CommandChannel | undefined;
  #deliver: ((event: WorkerEvent) => void) | undefined;
  #player: PooledPlayer | undefined;
  #playerCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get playerId(): number {
    return this.#playerCount;
  }

  get hasPlayer(): boolean {
    return this.#player !== undefined;
  }

  attach(player: PooledPlayer): void {
    this.#player = player;
    if (this.isRunning) this.start();
  }

  detach(player: PooledPlayer): void {
    if (this.#player === player) this.#player = undefined;
  }

  /** Gives the player a new worker. */
  start(): void {
    const endpoint: MainEnd = {
      postMessage: (command) => this.commands.push(command),
      on: (_event, listener) => {
        this.#deliver = listener;
      },
    };
    this.isRunning = true;
    this.#channel = new CommandChannel(endpoint, { clock: this.#clock, onEvent: () => undefined });
    this.#player?.onWorkerAssigned(
      new WorkerHandle({
        playerId: ++this.#playerCount,
        workerIndex: 0,
        isIsolated: this.isIsolated,
        channel: this.#channel,
      }),
    );
  }

  /** Whether one more player may have its own worker. */
  hasIsolatedCapacity = true;

  /** Gives the player its own worker. */
  isolate(player: PooledPlayer): boolean {
    if (!this.hasIsolatedCapacity) return false;
    this.isIsolated = true;
    player.onWorkerLost({ kind: "suspect", activity: "prepare" });
    this.start();
    return true;
  }

  /** Why `admit` rejects. */
  refusal: Error | undefined;
  admitted = 0;

  async admit(_player: PooledPlayer, { onAdmitted }: AdmissionRequest): Promise<void> {
    if (this.refusal !== undefined) throw this.refusal;
    this.admitted += 1;
    onAdmitted();
  }

  /** The placement of the player; the worker has just reported. */
  placement: PlayerPlacement | undefined = {
    ownerWorker: { index: 0, isIsolated: false, metrics: undefined, reportedAgoMs: 0 },
    renderWorker: undefined,
  };
  readonly incidents: Incident[] = [];

  placementOf(): PlayerPlacement | undefined {
    return this.placement;
  }

  addIncident(incident: Incident): void {
    this.incidents.push(incident);
  }

  /** The worker dies. */
  lose(attribution: CrashAttribution = { kind: "none" }): void {
    this.isRunning = false;
    this.#channel?.close(new NodeError("worker-lost", "killed by the test"));
    this.#player?.onWorkerLost(attribution);
  }

  /** The worker sends a message about the player. */
  say(event: WithoutPlayerId<PlayerEvent>): void {
    this.#player?.onWorkerEvent({ ...event, playerId: this.#playerCount } as PlayerEvent);
  }

  /** The worker answers the last request of that type. */
  async reply(type: WorkerCommand["type"], value: WorkerReply = undefined): Promise<void> {
    this.#deliver?.({ type: "reply", requestId: this.#lastRequestId(type), value });
    await settle();
  }

  async replyError(type: WorkerCommand["type"], error: WireError): Promise<void> {
    this.#deliver?.({ type: "replyError", requestId: this.#lastRequestId(type), error });
    await settle();
  }

  all<Type extends WorkerCommand["type"]>(type: Type): CommandOf<Type>[] {
    return this.commands.filter((command): command is CommandOf<Type> => command.type === type);
  }

  last<Type extends WorkerCommand["type"]>(type: Type): CommandOf<Type> {
    const command = this.all(type).at(-1);
    if (command === undefined) throw new Error(`the worker was never sent ${type}`);
    return command;
  }

  #lastRequestId(type: WorkerCommand["type"]): number {
    const request = this.last(type);
    if (!("requestId" in request)) throw new Error(`${type} is not answered`);
    return request.requestId;
  }
}

/** Completes everything that waits for promises only. */
export async function settle(): Promise<void> {
  for (let iteration = 0; iteration < 20; iteration++) await Promise.resolve();
}
