// The players of the sessions that this machine has, as far as they are elsewhere or on their way: where each is, and what
// is being done about it. Main thread; shared by player-places.ts and player-moves.ts.

import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** Where the player of one guild is, or is about to be. */
export interface Place {
  readonly guildId: string;
  /** Undefined: here. */
  machineId: string | undefined;
  /** Of its record, 0 where there is none; undefined: not known. */
  revision: number | undefined;
  /** Of its voice server, as far as known. */
  region: string | undefined;
  /** It was decided, for the requests that are under way, that a player is made here. */
  isChosenHere: boolean;
  holdCount: number;
  /** One of the requests may have ended it. */
  mayBeGone: boolean;
  /** Its record is being written, or it is asked for: what comes waits for that. Never rejects. */
  changing: Promise<void> | undefined;
  /** Its machine is to say that it has it, which may take as long as that lives: requests wait. Never rejects. */
  ensuring: Promise<void> | undefined;
}

/** Of one session. */
export interface Placed {
  readonly session: Session;
  readonly places: Map<string, Place>;
  /** Machines that may have left messages for it when they die: that have, or had, players of it. */
  readonly others: Set<string>;
  /** Players of dead machines are on their way to other ones. */
  movingCount: number;
  /** Where its players are is being written for another machine, which gets the session: nothing may move. */
  isGiving: boolean;
}

interface PlacedPlayersOptions {
  readonly membership: Pick<Membership, "self" | "isAlive">;
  readonly sessions: Pick<Sessions, "own">;
  /** The machine of a place has died while that was changed. */
  readonly onDeath: () => void;
  readonly logger: Logger;
}

export class PlacedPlayers {
  readonly #options: PlacedPlayersOptions;
  readonly #placed = new Map<string, Placed>();

  constructor(options: PlacedPlayersOptions) {
    this.#options = options;
  }

  get all(): Iterable<Placed> {
    return this.#placed.values();
  }

  get(sessionId: string): Placed | undefined {
    return this.#placed.get(sessionId);
  }

  delete(sessionId: string): void {
    this.#placed.delete(sessionId);
  }

  clear(): void {
    this.#placed.clear();
  }

  /** Those of a session, none at first. */
  of(session: Session): Placed {
    const known = this.#placed.get(session.id);
    if (known?.session === session) return known;
    const placed: Placed = { session, places: new Map(), others: new Set(), movingCount: 0, isGiving: false };
    this.#placed.set(session.id, placed);
    return placed;
  }

  /** That of a guild; here, without a record, at first. */
  placeOf({ places }: Placed, guildId: string): Place {
    const place = places.get(guildId) ?? newPlace(guildId, { revision: 0 });
    places.set(guildId, place);
    return place;
  }

  /** Forgets one that says nothing: it is here, has no record, and nobody holds or changes it. */
  forgetUnused({ places }: Placed, place: Place): void {
    const { guildId, machineId, revision, holdCount, changing } = place;
    if (machineId !== undefined || revision !== 0 || holdCount > 0 || changing !== undefined) return;
    if (places.get(guildId) === place) places.delete(guildId);
  }

  /** Machines other than this one that have players of the session. */
  machinesOf(sessionId: string): readonly string[] {
    const places = this.#placed.get(sessionId)?.places.values() ?? [];
    return [...new Set([...places].flatMap(({ machineId }) => machineId ?? []))];
  }

  /** The session is still this machine's. */
  isCurrent(placed: Placed): boolean {
    const { session } = placed;
    return this.#placed.get(session.id) === placed && this.#options.sessions.own(session.id) === session;
  }

  /** It is another machine, and lives. */
  isPeer(machineId: string): boolean {
    const { membership } = this.#options;
    return machineId !== membership.self?.id && membership.isAlive(machineId);
  }

  /** What comes for these waits until `work` is done, which begins at once, or after what changes them already. */
  change(places: readonly Place[], work: () => Promise<void>): Promise<void> {
    const before = places.flatMap(({ changing }) => changing ?? []);
    const changing = (before.length === 0 ? work() : Promise.all(before).then(work))
      .catch((error: unknown) => {
        const isExpected = error instanceof NodeError && error.fault !== "ourselves";
        this.#options.logger[isExpected ? "debug" : "error"]("cluster: a player could not be placed", { error });
      })
      .finally(() => {
        for (const place of places) if (place.changing === changing) place.changing = undefined;
        // It may have died meanwhile.
        if (places.some(({ machineId }) => machineId !== undefined && !this.isPeer(machineId))) this.#options.onDeath();
      });
    for (const place of places) place.changing = changing;
    return changing;
  }
}

/** Default: here, with a record that is not known. */
export function newPlace(
  guildId: string,
  { machineId, revision, region }: Partial<Pick<Place, "machineId" | "revision" | "region">>,
): Place {
  return {
    ...{ guildId, machineId, revision, region },
    isChosenHere: false,
    holdCount: 0,
    mayBeGone: false,
    changing: undefined,
    ensuring: undefined,
  };
}
