// Gives players other machines when theirs has died, and has machines make sure that they have the players of a session
// that has come here. Main thread; part of player-places.ts.

import type { BucketGuard } from "../../cluster/bucket.ts";
import type { ClusterStore } from "../../cluster/cluster-store.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import type { StateRecord } from "../../state/state-store.ts";
import type { NodeState } from "../state/node-state.ts";
import { recordKey } from "../state/session-records.ts";
import { askMachine, infoOf } from "./ask-machine.ts";
import type { MachineCalls } from "./machine-calls.ts";
import type { PlaceWish } from "./machine-chooser.ts";
import { guildOf, type PlaceRecords, readPlaces, type StoredRelay } from "./place-records.ts";
import type { Place, Placed, PlacedPlayers } from "./placed-players.ts";
import { ensureAnswer } from "./player-calls.ts";
import { RETRY_MS_MAX, RETRY_MS_MIN } from "./retry-times.ts";
import { Slots } from "./slots.ts";

/** Sessions whose players get other machines at once. */
const MOVING_MAX = 8;
/** Stands for no guild: a change of its record that changes nothing. */
const NO_GUILD = { guildId: "none", machineId: undefined, revision: undefined };

interface PlayerMovesOptions {
  readonly placed: PlacedPlayers;
  readonly records: Pick<PlaceRecords, "write">;
  readonly store: Pick<ClusterStore, "readSession">;
  readonly membership: Pick<Membership, "self">;
  readonly state: Pick<NodeState, "adoptPlayers" | "flushed" | "isStoring" | "write">;
  readonly calls: Pick<MachineCalls, "call">;
  /** The revision of the owner record of a session that is this machine's. */
  readonly epochOf: (sessionId: string) => number | undefined;
  /** The machine for one more player; undefined: there is none that plays audio. */
  readonly choose: (wish: PlaceWish) => string | undefined;
  /** Its machine has said whether it has it, or has died. */
  readonly onEnsured: (placed: Placed, place: Place) => void;
  /** Forgets a place and its record. */
  readonly remove: (placed: Placed, place: Place) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Players that are to be at a machine. */
interface Ensured {
  readonly machineId: string;
  readonly places: readonly Place[];
  readonly atLeast: BucketGuard | undefined;
}

export class PlayerMoves {
  readonly #options: PlayerMovesOptions;
  readonly #slots = new Slots(MOVING_MAX);

  constructor(options: PlayerMovesOptions) {
    this.#options = options;
  }

  #orphans(placed: Placed): readonly Place[] {
    return [...placed.places.values()].filter(
      ({ machineId, changing }) =>
        changing === undefined && machineId !== undefined && !this.#options.placed.isPeer(machineId),
    );
  }

  /** Players whose machine is dead get another one, and what it has left for the client is taken. */
  followDeaths(placed: Placed): void {
    if (!this.#options.placed.isCurrent(placed)) return;
    const orphans = this.#orphans(placed);
    const isLeft =
      placed.movingCount === 0 && [...placed.others].some((machineId) => !this.#options.placed.isPeer(machineId));
    if (orphans.length > 0 || isLeft) this.start(placed, orphans, { isChosen: false });
  }

  /** Has players go on at machines that are chosen now, or (`isChosen`) were before. */
  start(placed: Placed, places: readonly Place[], { isChosen }: { readonly isChosen: boolean }): void {
    placed.movingCount++;
    const moved = this.#options.placed.change(places, () =>
      this.#slots.run(async () => {
        if (!isChosen) for (const place of places) this.chooseOther(place);
        await this.bring(placed, places);
        if (places.length > 0 && this.#options.placed.isCurrent(placed)) this.#logMoved(placed, places);
      }),
    );
    void moved.then(() => {
      placed.movingCount--;
      this.followDeaths(placed);
    });
  }

  /** Chooses a machine; false: this one. */
  chooseOther(place: Place): boolean {
    const { choose, membership } = this.#options;
    // Without any, they are kept here, silent or not.
    const chosen = choose({ region: place.region }) ?? membership.self?.id;
    place.machineId = chosen === membership.self?.id ? undefined : chosen;
    return place.machineId !== undefined;
  }

  /**
   * Brings players to the machines that were chosen for them, and takes what dead machines have left. Goes on until that is
   * done, or cannot be any more.
   */
  async bring(placed: Placed, places: readonly Place[]): Promise<void> {
    const { session } = placed;
    const { membership, store, clock, logger } = this.#options;
    for (
      let delayMs = RETRY_MS_MIN;
      this.#options.placed.isCurrent(placed);
      delayMs = Math.min(2 * delayMs, RETRY_MS_MAX)
    ) {
      try {
        const self = membership.self?.id;
        // Later they may seem to live: what is known of one that was never seen is not for good.
        const dead = new Set([...placed.others].filter((machineId) => !this.#options.placed.isPeer(machineId)));
        const changes = places.map((place) => ({ ...place, machineId: place.machineId ?? self }));
        // It is written after the last that the dead machines have, and read with that.
        const [last = NO_GUILD] = changes.slice(-1);
        const revisions = await this.#options.records.write(session.id, changes.length > 0 ? changes : [NO_GUILD]);
        for (const [index, place] of places.entries()) place.revision = revisions[index];
        const atLeast = { key: recordKey.place(session.id, last.guildId), revision: revisions.at(-1) ?? 0 };
        const records = await store.readSession(session.id, atLeast);
        if (!this.#options.placed.isCurrent(placed)) return;
        void this.takeLeft(placed, this.#leftIn(records, dead));
        for (const machineId of dead) placed.others.delete(machineId);
        this.#adopt(placed, places, records);
        this.ensureAll(placed, places, atLeast);
        return;
      } catch (error) {
        for (const place of places) place.revision = undefined;
        const level = error instanceof NodeError ? "debug" : "error";
        logger[level]("cluster: players could not be moved yet", { sessionId: session.id, error });
        await pause(clock, delayMs);
      }
    }
  }

  #logMoved({ session }: Placed, { length: players }: readonly Place[]): void {
    this.#options.logger.info("cluster: players of a session get other machines: theirs has died", {
      ...{ sessionId: session.id, players },
    });
  }

  /** Makes those again that are to be here. */
  #adopt({ session }: Placed, places: readonly Place[], records: readonly StateRecord[]): void {
    const here = new Set(places.filter(({ machineId }) => machineId === undefined).map(({ guildId }) => guildId));
    if (here.size === 0) return;
    this.#options.state.adoptPlayers(
      session,
      records.filter((record) => here.has(guildOf(record) ?? "")),
    );
  }

  /** Has the machines of those that are elsewhere say that they have them. */
  ensureAll(placed: Placed, places: readonly Place[], atLeast?: BucketGuard): void {
    const machineIds = new Set(places.flatMap(({ machineId }) => machineId ?? []));
    for (const machineId of machineIds) {
      placed.others.add(machineId);
      const some = places.filter((place) => place.machineId === machineId);
      const ensuring = this.#ensure(placed, { machineId, places: some, atLeast }).finally(() => {
        for (const place of some) {
          if (place.ensuring === ensuring) place.ensuring = undefined;
          this.#options.onEnsured(placed, place);
        }
        this.followDeaths(placed);
      });
      for (const place of some) place.ensuring = ensuring;
    }
  }

  /** Until the machine says that it has them, has died, or cannot have them. Never rejects. */
  async #ensure(placed: Placed, { machineId, places, atLeast }: Ensured): Promise<void> {
    const { session } = placed;
    const { epochOf, calls, logger, clock } = this.#options;
    for (let delayMs = RETRY_MS_MIN; ; delayMs = Math.min(2 * delayMs, RETRY_MS_MAX)) {
      const epoch = epochOf(session.id);
      if (!this.#options.placed.isCurrent(placed) || epoch === undefined || !this.#options.placed.isPeer(machineId))
        return;
      const guildIds = places.map(({ guildId }) => guildId);
      try {
        const call = {
          kind: "ensure",
          session: infoOf(session),
          epoch,
          guildIds,
          ...(atLeast && { atLeast }),
        } as const;
        const { missing } = ensureAnswer.parse(JSON.parse(await askMachine(calls, machineId, call)));
        const gone = places.filter(({ guildId }) => missing.includes(guildId));
        await Promise.all(
          gone.map((place) =>
            this.#options.placed.change([place], () => this.#forgetMissing(placed, place, machineId)),
          ),
        );
        return;
      } catch (error) {
        logger.debug("cluster: a machine could not be asked for its players yet", { sessionId: session.id, error });
        const isRefused = error instanceof NodeError && error.code === "memory-exhausted";
        await pause(clock, isRefused ? RETRY_MS_MAX : delayMs);
        if (!isRefused || !this.#options.placed.isCurrent(placed)) continue;
        // The session is not open there, and so none of its players is.
        const left = places.filter(
          (place) => placed.places.get(place.guildId) === place && place.machineId === machineId,
        );
        this.start(placed, left, { isChosen: false });
        return;
      }
    }
  }

  /** It has neither a player nor a record. */
  async #forgetMissing(placed: Placed, place: Place, machineId: string): Promise<void> {
    const isThere = placed.places.get(place.guildId) === place && place.machineId === machineId;
    if (isThere && this.#options.placed.isCurrent(placed)) await this.#options.remove(placed, place);
  }

  #leftIn(records: readonly StateRecord[], dead: ReadonlySet<string>): readonly StoredRelay[] {
    const { self } = this.#options.membership;
    const { relayed } = readPlaces(records.filter(({ key }) => key.startsWith("relay/")));
    return [...relayed].flatMap(([id, messages]) =>
      dead.has(id) || (id !== self?.id && !this.#options.placed.isPeer(id)) ? messages : [],
    );
  }

  /** Takes what machines have left that are dead, and removes it from the records once it is stored with the session. */
  async takeLeft(placed: Placed, messages: readonly StoredRelay[]): Promise<void> {
    const { state, clock } = this.#options;
    for (const message of messages) placed.session.receive(message);
    if (messages.length > 0) {
      this.#options.logger.info("cluster: events that machines have left are passed on, if they are new", {
        ...{ sessionId: placed.session.id, events: messages.length },
        machines: [...new Set(messages.map(({ machineId }) => machineId))],
      });
    }
    while (messages.length > 0 && this.#options.placed.isCurrent(placed)) {
      await state.flushed();
      if (state.isStoring && this.#options.placed.isCurrent(placed)) {
        for (const { key } of messages) state.write(key, undefined);
        return;
      }
      await pause(clock, RETRY_MS_MAX);
    }
  }
}
