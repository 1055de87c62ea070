// Carries out what a client of v3 says on its WebSocket: each operation is the update of v4 that does the same
// (protocol-v4.md section 2.11). Main thread. Operations have no answers; one that fails leaves a line in the log.

import { parseJson } from "../../../lib/json.ts";
import type { Session } from "../../sessions/session.ts";
import type { ApiContext } from "../api-context.ts";
import { parsePlayerUpdate, updateBounds } from "../parse-player-update.ts";
import { playerBodyOf, type V3Operation, type V3PlayerOperation, v3Operation } from "./bodies.ts";

/** Operations of one session that wait for their player to be there; one more is dropped. */
const WAITING_MAX = 1000;
/** Values of one operation: a full list of bands, and everything else. */
const VALUE_COUNT_MAX = 4096;

/** The operations that wait for a guild's player, at the end of a line per guild. */
interface Line {
  waitingCount: number;
  readonly lastByGuild: Map<string, Promise<void>>;
  readonly destructions: WeakSet<Promise<void>>;
}

export class V3Operations {
  readonly #context: Pick<ApiContext, "disabledFilters" | "moduleFilters" | "limitsOf" | "logger">;
  readonly #lines = new WeakMap<Session, Line>();

  constructor(context: Pick<ApiContext, "disabledFilters" | "moduleFilters" | "limitsOf" | "logger">) {
    this.#context = context;
  }

  /** Takes one message of a client. Never throws. */
  onText(session: Session, text: string): void {
    try {
      this.#carryOut(
        session,
        v3Operation.parse(parseJson(text, { valueCountMax: VALUE_COUNT_MAX })),
        Buffer.byteLength(text),
      );
    } catch (error) {
      this.#logFailure(session, error);
    }
  }

  #carryOut(session: Session, operation: V3Operation, sizeBytes: number): void {
    if (operation.op === "configureResuming") {
      const { key = null, timeout } = operation;
      session.configure({ resuming: key !== null, resumeKey: key, timeout });
    } else if (operation.op === "destroy") {
      this.#destroy(session, String(operation.guildId));
    } else {
      const line = this.#lineOf(session);
      if (line.waitingCount >= WAITING_MAX) throw new Error(`${WAITING_MAX} operations are waiting already`);
      session.memory.take(sizeBytes, "an operation that waits");
      line.waitingCount++;
      this.#inLine(session, String(operation.guildId), () => this.#update(session, operation)).finally(() => {
        line.waitingCount--;
        session.memory.release(sizeBytes);
      });
    }
  }

  /** Hands the update to the player without waiting until it is applied: players have their own queue. */
  async #update(session: Session, operation: V3PlayerOperation): Promise<void> {
    const guildId = String(operation.guildId);
    if (operation.op === "stop" && !session.players.has(guildId)) return;
    await session.untilGone(guildId);
    const current = session.players.get(guildId)?.toJson();
    if (operation.op === "play" && operation.noReplace === true && current?.track) return;
    const body = playerBodyOf(operation, current?.filters);
    const isReplacing = operation.op !== "play" || operation.noReplace !== true;
    session
      .updatePlayer(guildId, parsePlayerUpdate(body, updateBounds(this.#context, session.owner)), { isReplacing })
      .catch((error: unknown) => this.#logFailure(session, error));
  }

  /** Never refused, however many wait: consecutive ones for the same guild are merged into one. */
  #destroy(session: Session, guildId: string): void {
    const line = this.#lineOf(session);
    const last = line.lastByGuild.get(guildId);
    if (last !== undefined && line.destructions.has(last)) return;
    const completion = this.#inLine(session, guildId, async () => {
      // The next ones wait for its end by themselves.
      void session.destroyPlayer(guildId);
    });
    line.destructions.add(completion);
  }

  /** Never rejects. */
  #inLine(session: Session, guildId: string, work: () => Promise<void>): Promise<void> {
    const { lastByGuild } = this.#lineOf(session);
    const before = lastByGuild.get(guildId) ?? Promise.resolve();
    const completion = before
      .then(work)
      .catch((error: unknown) => this.#logFailure(session, error))
      .finally(() => {
        if (lastByGuild.get(guildId) === completion) lastByGuild.delete(guildId);
      });
    lastByGuild.set(guildId, completion);
    return completion;
  }

  #lineOf(session: Session): Line {
    const line = this.#lines.get(session) ?? { waitingCount: 0, lastByGuild: new Map(), destructions: new WeakSet() };
    this.#lines.set(session, line);
    return line;
  }

  /** At a level that a client cannot fill the log with. */
  #logFailure({ id }: Session, error: unknown): void {
    this.#context.logger.debug("operation of a v3 client failed", { sessionId: id, error });
  }
}
