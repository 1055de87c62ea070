// Carries out what a client of v3 says on its WebSocket: each operation is the update of v4 that does the same
// (protocol-v4.md section 2.11). Main thread. Operations have no answers; one that fails leaves a line in the log.

import { parseJson } from "../../../lib/json.ts";
import type { Session } from "../../sessions/session.ts";
import type { SessionPlayer } from "../../sessions/session-player.ts";
import type { ApiContext } from "../api-context.ts";
import { parsePlayerUpdate } from "../parse-player-update.ts";
import type { PlayerBody } from "../request-bodies.ts";
import { playerBodyOf, type V3Operation, type V3PlayerOperation, v3Operation } from "./bodies.ts";

/** Operations of one session that wait for their player to be there; one more is dropped. */
const WAITING_MAX = 1000;

/** The operations that wait for a guild's player, at the end of a line per guild. */
interface Line {
  waitingCount: number;
  readonly lastByGuild: Map<string, Promise<void>>;
}

export class V3Operations {
  readonly #context: Pick<ApiContext, "disabledFilters" | "logger">;
  readonly #lines = new WeakMap<Session, Line>();

  constructor(context: Pick<ApiContext, "disabledFilters" | "logger">) {
    this.#context = context;
  }

  /** Takes one message of a client. Never throws. */
  onText(session: Session, text: string): void {
    try {
      this.#carryOut(session, v3Operation.parse(parseJson(text)));
    } catch (error) {
      this.#logFailure(session, error);
    }
  }

  #carryOut(session: Session, operation: V3Operation): void {
    if (operation.op === "configureResuming") {
      const { key = null, timeout } = operation;
      session.configure({ resuming: key !== null, resumeKey: key, timeout });
    } else if (operation.op === "destroy") {
      const guildId = String(operation.guildId);
      this.#inLine(session, guildId, async () => {
        // The next ones wait for its end by themselves.
        void session.destroyPlayer(guildId);
      });
    } else {
      this.#inLine(session, String(operation.guildId), () => this.#update(session, operation));
    }
  }

  /** Hands the update to the player, without waiting until it is carried out: players have a queue of their own. */
  async #update(session: Session, operation: V3PlayerOperation): Promise<void> {
    const guildId = String(operation.guildId);
    if (operation.op === "stop" && !session.players.has(guildId)) return;
    const player = await session.getOrCreatePlayer(guildId);
    if (operation.op === "play" && operation.noReplace === true && player.toJson().track !== null) return;
    const body = playerBodyOf(operation, filtersOf(player));
    const isReplacing = operation.op !== "play" || operation.noReplace !== true;
    player
      .update(parsePlayerUpdate(body, this.#context.disabledFilters), { isReplacing })
      .catch((error: unknown) => this.#logFailure(session, error));
  }

  #inLine(session: Session, guildId: string, work: () => Promise<void>): void {
    const line = this.#lineOf(session);
    if (line.waitingCount >= WAITING_MAX) throw new Error(`${WAITING_MAX} operations are waiting already`);
    line.waitingCount++;
    const before = line.lastByGuild.get(guildId) ?? Promise.resolve();
    const turn = before
      .then(work)
      .catch((error: unknown) => this.#logFailure(session, error))
      .finally(() => {
        line.waitingCount--;
        if (line.lastByGuild.get(guildId) === turn) line.lastByGuild.delete(guildId);
      });
    line.lastByGuild.set(guildId, turn);
  }

  #lineOf(session: Session): Line {
    const line = this.#lines.get(session) ?? { waitingCount: 0, lastByGuild: new Map() };
    this.#lines.set(session, line);
    return line;
  }

  /** At a level that a client cannot fill the log with. */
  #logFailure({ id }: Session, error: unknown): void {
    this.#context.logger.debug("an operation of a v3 client was not carried out", { sessionId: id, error });
  }
}

/** Players keep their filters as they were parsed. */
function filtersOf(player: SessionPlayer): PlayerBody["filters"] {
  return player.toJson().filters as PlayerBody["filters"];
}
