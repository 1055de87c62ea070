// Which sessions have no living owner and are this machine's turn, by what it knows of sessions and machines. Main thread;
// part of session-claims.ts, which takes them over.

import type { Membership } from "../../cluster/membership.ts";
import { chosenFor } from "./rendezvous.ts";
import type { SessionDirectory } from "./session-directory.ts";

/** Sessions whose turn is found out at once: each takes a hash for every machine. */
const CHOICES_MAX = 1000;

interface LeftSessionsOptions {
  readonly membership: Pick<Membership, "self" | "peers" | "loadOf" | "isAlive" | "isCaughtUp" | "isNatsAway">;
  readonly directory: Pick<SessionDirectory, "machines" | "isComplete">;
  /** It is said to be here, and is not. */
  readonly isLeftHere: (sessionId: string) => boolean;
}

export class LeftSessions {
  readonly #options: LeftSessionsOptions;
  /** Whose turn each is, among the gateways that there were last: whether it is this one's. */
  readonly #turns = new Map<string, boolean>();
  #gateways = "";

  constructor(options: LeftSessionsOptions) {
    this.#options = options;
  }

  /** Those that are its turn now. Not `isAll`: there may be more, which the next call finds. */
  find(): { readonly ids: readonly string[]; readonly isAll: boolean } {
    const { membership, directory, isLeftHere } = this.#options;
    const { self } = membership;
    const ids: string[] = [];
    if (self === undefined || !directory.isComplete || !membership.isCaughtUp || membership.isNatsAway)
      return { ids, isAll: true };
    const gateways = membership.peers().filter(({ roles }) => roles.includes("gateway"));
    // One that drains would leave them behind again.
    const staying = gateways.filter(({ id }) => membership.loadOf(id)?.isDraining !== true);
    const gatewayIds = (staying.length > 0 ? staying : gateways).map(({ id }) => id);
    this.#forgetTurns(gatewayIds);
    let choices = 0;
    for (const [machineId, sessionIds] of directory.machines) {
      const isSelf = machineId === self.id;
      if (!isSelf && membership.isAlive(machineId)) continue;
      for (const id of sessionIds) {
        let isTurn = isSelf ? isLeftHere(id) : this.#turns.get(id);
        if (isTurn === undefined) {
          if (choices++ >= CHOICES_MAX) return { ids, isAll: false };
          isTurn = chosenFor(id, gatewayIds) === self.id;
          this.#turns.set(id, isTurn);
        }
        if (isTurn) ids.push(id);
      }
    }
    return { ids, isAll: true };
  }

  #forgetTurns(gatewayIds: readonly string[]): void {
    const gateways = gatewayIds.join(" ");
    if (gateways === this.#gateways) return;
    this.#gateways = gateways;
    this.#turns.clear();
  }
}
