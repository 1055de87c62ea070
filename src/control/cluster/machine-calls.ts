// Calls to other machines that may take long: they are given up when the machine dies or stands still, which NATS does not
// tell of one that had taken a call. Main thread; one for the node.

import type { MachineLink } from "../../cluster/machine-link.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";

/** A request may wait for a track to be loaded, as long as one that comes from a client. */
const CALL_TIMEOUT_MS = 60_000;
/** A machine that stands still may go on in that time. */
const SILENT_CALL_MS = 2000;
const CHECK_MS = 500;

interface MachineCallsOptions {
  readonly link: Pick<MachineLink, "call">;
  readonly membership: Pick<Membership, "isAlive" | "isSilent">;
  readonly clock: Clock;
}

/** A call that another machine has, or is getting. */
interface Call {
  readonly machineId: string;
  readonly giveUp: (error: NodeError) => void;
}

export class MachineCalls {
  readonly #options: MachineCallsOptions;
  readonly #calls = new Set<Call>();

  constructor(options: MachineCallsOptions) {
    this.#options = options;
  }

  /**
   * As `MachineLink.call`.
   * @throws NodeError also "cluster-away" when the machine has died meanwhile, or has not been heard of for some seconds
   */
  async call(
    machineId: string,
    kind: string,
    request: string,
    { timeoutMs = CALL_TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
  ): Promise<string> {
    let giveUp: ((error: NodeError) => void) | undefined;
    const gone = new Promise<never>((_resolve, reject) => {
      giveUp = reject;
    });
    const call: Call = { machineId, giveUp: (error) => giveUp?.(error) };
    this.#calls.add(call);
    let timer: Timer | undefined;
    const checkLater = (delayMs: number): void => {
      timer = this.#options.clock.after(delayMs, () => {
        if (this.#options.membership.isSilent(machineId)) call.giveUp(silent());
        else checkLater(CHECK_MS);
      });
    };
    checkLater(SILENT_CALL_MS);
    try {
      const answer = this.#options.link.call(machineId, kind, request, { timeoutMs });
      return await Promise.race([answer, gone]);
    } finally {
      timer?.cancel();
      this.#calls.delete(call);
    }
  }

  /** Machines have come or gone. */
  onMachines(): void {
    for (const { machineId, giveUp } of this.#calls) {
      if (!this.#options.membership.isAlive(machineId))
        giveUp(new NodeError("cluster-away", "the machine that had the request has died"));
    }
  }
}

function silent(): NodeError {
  return new NodeError("cluster-away", "the machine that has the request has not been heard of for some seconds");
}
