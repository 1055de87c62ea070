// Watches the process of one other machine by a connection to it (life-listener.ts), and proves its end: then its machine
// is declared dead at once, not only after the time of a lease. Made by process-watch.ts. Main thread.
//
// The proof, all of it:
// 1. There was a connection on which this life of the machine had told its id, and this side's address and port: so nothing
//    between had taken the connection over, and what ends it comes from the system on which the process ran.
// 2. The other side has closed it, with a FIN. A process that lives never does: where it must, it resets connections.
// 3. At once after that, a new connection to the same address was refused: nothing listens there any more. One that is
//    tried later is not accepted either (the host may be gone then, as that of a container).
// 4. A call to the machine over NATS finds nobody.
//
// Why two machines never send to one guild because of it: the system closes the connections of a process only when all its
// threads have ended, and with them all its sockets. A process that stands still, or is cut off, keeps its connections; a
// firewall can reset them, and refuse others, but sends no FIN; what cannot be reached at all does not refuse. In doubt the
// lease decides. A wrong proof would need a forged FIN, or a proxy that keeps the port of the connection, while the process
// that lives listens no more and is away from NATS.

import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { onAbort } from "../lib/on-abort.ts";
import { pause } from "../lib/pause.ts";
import type { Random } from "../lib/random.ts";
import type { Dial, Dialled, Lifeline } from "./life-dial.ts";
import type { Endpoint } from "./machine.ts";
import type { MachineLink } from "./machine-link.ts";

/** The kind of call that every machine that can be watched answers. */
export const ALIVE = "alive";

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 15_000;
/** A process that ends may close its port a moment after its connections. */
const PORT_TRIES_MAX = 5;
const PORT_RETRY_MS = 20;
/** From one connection that is refused to the next. */
const AGAIN_MS = 100;
/** From one try of a proof that NATS has not answered to the next. */
const PROVE_AGAIN_MS = 1000;
const CALL_MS_MAX = 2000;
/** Longer than a dead machine is among the others. */
const UNREACHABLE_MS = 30_000;

export interface WatchedProcessOptions {
  /** Of the machine. */
  readonly id: string;
  /** As the machine says it now. */
  readonly endpoint: () => Endpoint | undefined;
  readonly dial: Dial;
  readonly link: Pick<MachineLink, "call">;
  readonly clock: Clock;
  readonly random: Random;
  /** Its end is proven. Nothing follows. */
  readonly onEnded: () => void;
  /** It has never been reached, for long. At most once. */
  readonly onUnreachable: (endpoint: Endpoint, reason: string) => void;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

export class WatchedProcess {
  readonly #options: WatchedProcessOptions;
  readonly #closing = new AbortController();

  constructor(options: WatchedProcessOptions) {
    this.#options = options;
    void this.#run();
  }

  close(): void {
    this.#closing.abort();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #run(): Promise<void> {
    const { clock, random, onEnded, onUnreachable } = this.#options;
    const beganMs = clock.now();
    let canBeUnreachable = true;
    for (let retryMs = RETRY_MS_MIN; !this.#isClosed; ) {
      const endpoint = this.#options.endpoint();
      const reached = endpoint && (await this.#reach(endpoint));
      if (typeof reached === "object") {
        canBeUnreachable = false;
        retryMs = RETRY_MS_MIN;
        const end = await this.#endOf(reached.line);
        const hasEnded = end === "closed" && (await this.#hasEnded(reached.place));
        if (hasEnded && !this.#isClosed) {
          onEnded();
          return;
        }
      } else if (
        endpoint &&
        reached &&
        canBeUnreachable &&
        clock.now() - beganMs >= UNREACHABLE_MS &&
        !this.#isClosed
      ) {
        canBeUnreachable = false;
        onUnreachable(endpoint, reached);
      }
      await pause(clock, retryMs * (1 + random.unit()), this.#closing.signal);
      retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs);
    }
  }

  /** A connection to the process; a text: why there is none. */
  async #reach({ hosts, port }: Endpoint): Promise<{ readonly line: Lifeline; readonly place: Place } | string> {
    let reason = "closed";
    for (const host of hosts) {
      if (this.#isClosed) break;
      const place = { host, port };
      const dialled = await this.#dial(place);
      if (dialled.kind === "verified") return { line: dialled.line, place };
      ({ reason } = dialled);
    }
    return reason;
  }

  async #endOf(line: Lifeline): Promise<"closed" | "lost"> {
    const stopListening = onAbort(this.#closing.signal, () => line.close());
    const end = await line.ended;
    stopListening();
    return end;
  }

  /** A connection to it has been closed. */
  async #hasEnded(place: Place): Promise<boolean> {
    const { clock } = this.#options;
    if (!(await this.#isRefusedSoon(place))) return false;
    for (let delayMs = AGAIN_MS; !this.#isClosed; delayMs = PROVE_AGAIN_MS) {
      const asked = this.#call();
      await pause(clock, delayMs, this.#closing.signal);
      const found = await this.#listensAt(place);
      if (found === "accepted" || found === "verified") return false;
      const answer = await asked;
      if (answer !== "unknown") return answer === "nobody";
    }
    return false;
  }

  async #isRefusedSoon(place: Place): Promise<boolean> {
    for (let tries = 0; tries < PORT_TRIES_MAX && !this.#isClosed; tries++) {
      const found = await this.#listensAt(place);
      if (found !== "accepted") return found === "refused";
      await pause(this.#options.clock, PORT_RETRY_MS, this.#closing.signal);
    }
    return false;
  }

  async #listensAt(place: Place): Promise<Dialled["kind"]> {
    const dialled = await this.#dial(place);
    if (dialled.kind === "verified") dialled.line.close();
    return dialled.kind;
  }

  #dial(place: Place): Promise<Dialled> {
    return this.#options.dial({ ...place, id: this.#options.id });
  }

  async #call(): Promise<"answers" | "nobody" | "unknown"> {
    const { link, id } = this.#options;
    try {
      await link.call(id, ALIVE, "", { timeoutMs: CALL_MS_MAX });
      return "answers";
    } catch (error) {
      const isNobody = error instanceof NodeError && error.code === "machine-gone";
      return isNobody ? "nobody" : "unknown";
    }
  }
}
