// Limits how many wrong passwords are checked. Main thread; one instance for each place that accepts a password.
//
// A network may send some wrong ones at once. From then on each further wrong one makes the next attempts from there
// wait in line for a moment, and right ones cost nothing. Nobody is refused for the guesses of others: an address does
// not tell an honest client from one that guesses beside it (NAT, a reverse proxy), and a right password that was
// accepted at once would make guessing as fast as asking. A client passes the line only with what it showed before.

import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { type Attempted, LoginLine, type Waiting } from "./login-line.ts";
import { Tally } from "./tally.ts";
import { WrongCounts } from "./wrong-counts.ts";

/** Clients whose last attempt is remembered; one more forgets the one whose attempt was noted longest ago. */
const CLIENTS_MAX = 10_000;
/** Attempts that wait, of all networks: one more refuses the last one of the longest line. */
const HELD_MAX = 1024;
const HOP_LENGTH_MAX = 64;

interface FailedLoginsOptions {
  /** So many of one network may be wrong at once. */
  readonly countMax: number;
  /** How long until one of them is forgiven. */
  readonly forgivenMs: number;
  /** From then on, how long a wrong one holds up the next attempt. */
  readonly delayMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For the log, where there are too many. */
  readonly message: string;
}

/** The request that contains an attempt. */
export interface Sender {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Pick<Socket, "remoteAddress" | "remotePort" | "once" | "off">;
}

/** What is known of a client by its last attempt. */
interface Past<Found> {
  readonly right: Found | undefined;
  /** Since it last was right. */
  readonly wrongCount: number;
}

/** `Found` names a password that was right, and is the same value each time. */
export class FailedLogins<Found> {
  readonly #clock: Clock;
  readonly #wrong: WrongCounts;
  readonly #lines = new Map<string, LoginLine<Found>>();
  readonly #pasts = new BoundedMap<string, Past<Found>>(CLIENTS_MAX);
  readonly #delays: Tally;

  constructor(options: FailedLoginsOptions) {
    this.#clock = options.clock;
    this.#wrong = new WrongCounts(options);
    this.#delays = new Tally(options, options.message);
  }

  /**
   * Runs `check` on the password of the sender, now or when it is its turn; undefined means it is wrong. "refused": too
   * many wait already, or the client has gone.
   */
  try(sender: Sender, check: () => Found | undefined): Attempted<Found> | Promise<Attempted<Found>> {
    const { remoteAddress } = sender.socket;
    const network = this.#wrong.networkOf(remoteAddress);
    const client = `${remoteAddress} ${hopOf(sender)}`;
    const line = this.#lines.get(network);
    if (line === undefined && this.#wrong.waitMs(network) === 0) return this.#check(network, client, check);
    const right = this.#pasts.get(client)?.right;
    if (right !== undefined) {
      if (check() === right) {
        this.#pasts.set(client, { right, wrongCount: 0 });
        return right;
      }
      // One guess, until the right password is shown again.
      this.#pasts.set(client, { right: undefined, wrongCount: 0 });
    }
    this.#delays.count({ address: network });
    return new Promise((resolve) => {
      const waiting: Waiting<Found> = {
        countWrong: () => this.#pasts.get(client)?.wrongCount ?? 0,
        run: () => this.#check(network, client, check),
        settle: (outcome) => {
          sender.socket.off("close", leave);
          resolve(outcome);
        },
      };
      const own = line ?? this.#openLine(network);
      const leave = (): void => own.leave(waiting);
      sender.socket.once("close", leave);
      own.enter(waiting);
      this.#bound();
    });
  }

  #check(network: string, client: string, check: () => Found | undefined): Found | "wrong" {
    const right = check();
    if (right === undefined) {
      this.#wrong.add(network);
      this.#pasts.set(client, { right, wrongCount: (this.#pasts.get(client)?.wrongCount ?? 0) + 1 });
      return "wrong";
    }
    this.#pasts.set(client, { right, wrongCount: 0 });
    return right;
  }

  #openLine(network: string): LoginLine<Found> {
    const line = new LoginLine<Found>({
      clock: this.#clock,
      waitMs: () => this.#wrong.waitMs(network),
      onEmpty: () => this.#lines.delete(network),
    });
    this.#lines.set(network, line);
    return line;
  }

  #bound(): void {
    const lines = [...this.#lines.values()];
    if (lines.reduce((count, { length }) => count + length, 0) <= HELD_MAX) return;
    lines.reduce((one, other) => (other.length > one.length ? other : one)).refuseLast();
  }
}

/**
 * Tells the clients of one address apart: the address that the last proxy has appended, or the connection. A client can
 * make up the former: that gets it a better place in the line of its network, and no further attempt.
 */
function hopOf({ headers, socket }: Sender): string {
  const forwarded = String(headers["x-forwarded-for"] ?? "");
  const hop = forwarded.slice(forwarded.lastIndexOf(",") + 1).trim();
  return hop === "" ? `port ${socket.remotePort}` : `hop ${hop.slice(0, HOP_LENGTH_MAX)}`;
}
