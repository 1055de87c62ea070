// Replaces the WorkerPool where audio does not matter: every player gets a worker that accepts all commands, sends
// nothing, and answers every request at once.

import { CommandChannel, type MainEnd } from "../../src/bridge/channel.ts";
import type { WorkerEvent } from "../../src/bridge/events.ts";
import type { WorkerProvider } from "../../src/control/players/player-providers.ts";
import type { AdmissionRequest } from "../../src/control/workers/admission.ts";
import type { PlayerPlacement } from "../../src/control/workers/placements.ts";
import { type PooledPlayer, WorkerHandle } from "../../src/control/workers/worker-handle.ts";
import type { Clock } from "../../src/lib/clock.ts";

export class SilentWorkers implements WorkerProvider {
  readonly #clock: Clock;
  #playerCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  attach(player: PooledPlayer): void {
    const channel = new CommandChannel(silentEndpoint(), { clock: this.#clock, onEvent: () => undefined });
    player.onWorkerAssigned(new WorkerHandle({ playerId: ++this.#playerCount, workerIndex: 0, channel }));
  }

  detach(): void {}

  isolate(): boolean {
    return true;
  }

  async admit(_player: PooledPlayer, { onAdmitted }: AdmissionRequest): Promise<void> {
    onAdmitted();
  }

  placementOf(): PlayerPlacement {
    const ownerWorker = { index: 0, isIsolated: false, metrics: undefined, reportedAgoMs: undefined };
    return { ownerWorker, renderWorker: undefined };
  }

  addIncident(): void {}
}

function silentEndpoint(): MainEnd {
  let deliver: (event: WorkerEvent) => void = () => undefined;
  return {
    postMessage: (command) => {
      if ("requestId" in command) {
        queueMicrotask(() => deliver({ type: "reply", requestId: command.requestId, value: undefined }));
      }
    },
    on: (_event, listener) => {
      deliver = listener;
    },
  };
}
