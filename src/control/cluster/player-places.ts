// Where the players are of the sessions that this machine has: here, or on other machines. It chooses a machine for each
// new player, follows a session that comes here, and gives players another machine when theirs has died. Main thread; one
// for the node.
//
// A player is with its session unless a record says otherwise. The record is written before the other machine hears of
// the player, so that whoever has the session next finds it.

import type { z } from "zod";
import type { Bucket, BucketGuard } from "../../cluster/bucket.ts";
import type { ClusterStore } from "../../cluster/cluster-store.ts";
import type { MachineLink } from "../../cluster/machine-link.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import type { StateRecord } from "../../state/state-store.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { NodeState } from "../state/node-state.ts";
import { recordKey } from "../state/session-records.ts";
import { away } from "./owner-records.ts";
import { guildOf, PlaceRecords, readPlaces, type StoredRelay } from "./place-records.ts";
import {
  ensureAnswer,
  holdsAnswer,
  MESSAGES,
  type messagesAnswer,
  messagesCall,
  PLAYERS,
  type PlayerCall,
  type RemoteSessionInfo,
} from "./player-calls.ts";
import { ownerKey } from "./session-directory.ts";
import type { AskedPlayer, HoldOptions, PlayerHold } from "./session-places.ts";

/** A request waits so long for a player that is about to go on elsewhere. */
const HOLD_MS_MAX = 10_000;
/** What could not be done is tried again after that time, doubled with each time. */
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 2000;
/** Sessions whose players get other machines at once. */
const REVIVING_MAX = 8;

interface PlayerPlacesOptions {
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly store: Pick<ClusterStore, "readSession" | "forget">;
  readonly link: Pick<MachineLink, "serve">;
  readonly membership: Pick<Membership, "self" | "guard" | "peers" | "isAlive" | "isNatsAway" | "onFenced">;
  readonly sessions: Pick<Sessions, "get" | "own">;
  readonly state: Pick<NodeState, "adoptPlayers" | "written" | "flushed" | "isStoring" | "write">;
  /** As `MachineCalls.call`. */
  readonly call: (machineId: string, kind: string, request: string) => Promise<string>;
  /** The revision of the owner record of a session that is this machine's. */
  readonly epochOf: (sessionId: string) => number | undefined;
  /** The machine for one more player; undefined: there is none that plays audio. */
  readonly choose: (wish: { readonly region: string | undefined }) => string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Where the player of one guild is, or is about to be. */
interface Place {
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
  /** It is being written, asked for, or made again: what comes waits for that. Never rejects. */
  changing: Promise<void> | undefined;
}

interface Placed {
  readonly session: Session;
  readonly places: Map<string, Place>;
  isReviving: boolean;
}

/** What was found in the records of a session that is about to be opened. */
interface Opening {
  readonly elsewhere: readonly Place[];
  /** Are to be elsewhere: their machine is dead, or died with the session. */
  readonly moving: readonly Place[];
  /** Here, with a record that says something else. */
  readonly here: readonly Place[];
  readonly relayed: readonly StoredRelay[];
}

export class PlayerPlaces {
  readonly #options: PlayerPlacesOptions;
  readonly #records: PlaceRecords;
  readonly #placed = new Map<string, Placed>();
  readonly #openings = new Map<string, Opening>();
  #revivingCount = 0;
  #stopServing: (() => void) | undefined;
  #life = 0;

  constructor(options: PlayerPlacesOptions) {
    this.#options = options;
    this.#records = new PlaceRecords(options);
  }

  /** This machine has that id from now on. */
  onJoined(machineId: string): void {
    this.#stopServing?.();
    this.#stopServing = this.#options.link.serve(machineId, MESSAGES, (text, from) => this.#receive(text, from));
  }

  /** Other machines may have all sessions by now. */
  onLost(): void {
    this.#life++;
    this.#stopServing?.();
    this.#placed.clear();
    this.#openings.clear();
  }

  close(): void {
    this.#life++;
    this.#stopServing?.();
  }

  /** How many players of the session are elsewhere. */
  count(sessionId: string): number {
    return this.#elsewhere(sessionId).length;
  }

  /** Machines other than this one that have players of the session. */
  machinesOf(sessionId: string): readonly string[] {
    return [...new Set(this.#elsewhere(sessionId).flatMap(({ machineId }) => machineId ?? []))];
  }

  /** See `SessionPlaces.holdPlayer`. Players of v3 are always with their session. */
  hold(sessionId: string, guildId: string, options: HoldOptions): Promise<PlayerHold> | undefined {
    const session = this.#options.sessions.own(sessionId);
    if (session === undefined || session.dialect.version !== "4") return undefined;
    const isKnown = this.#placed.get(sessionId)?.places.has(guildId) === true;
    if (!isKnown && (!options.isMaking || session.hasGuild(guildId))) return undefined;
    return this.#hold(session, guildId, options);
  }

  /** Passes a request about a player, or about all of them, on to a machine that has some. */
  ask(machineId: string, { sessionId, guildId }: AskedPlayer, request: string): Promise<string> {
    const session = this.#options.sessions.own(sessionId);
    const epoch = this.#options.epochOf(sessionId);
    if (session === undefined || epoch === undefined) return Promise.reject(moved());
    return this.#call(machineId, {
      kind: "request",
      session: infoOf(session),
      epoch,
      guildId: guildId ?? null,
      request,
    });
  }

  /**
   * Of the records of a session that is about to be opened here, those that are to be opened here. Call `opened` once it
   * is.
   */
  split(sessionId: string, records: readonly StateRecord[]): readonly StateRecord[] {
    const { membership, sessions } = this.#options;
    const { machines, regions, relayed } = readPlaces(records);
    const isV3 = records.some(
      ({ key, value }) => key === recordKey.session(sessionId) && value.includes('"version":"3"'),
    );
    const before = sessions.get(sessionId);
    const elsewhere: Place[] = [];
    const moving: Place[] = [];
    const here: Place[] = [];
    for (const [guildId, region] of regions) {
      const machineId = machines.get(guildId);
      const isHere = machineId === membership.self?.id || before?.hasGuild(guildId) === true;
      const place = newPlace(guildId, { machineId, region });
      if (!isHere && machineId !== undefined && this.#isPeer(machineId)) elsewhere.push(place);
      else if (!isHere && !isV3 && this.#chooseOther(place)) moving.push(place);
      else if (machineId !== undefined) here.push({ ...place, machineId: undefined });
    }
    const others = new Set([...elsewhere, ...moving].map(({ guildId }) => guildId));
    const isLeft = (machineId: string): boolean => machineId !== membership.self?.id && !this.#isPeer(machineId);
    const dead = [...relayed].flatMap(([machineId, messages]) => (isLeft(machineId) ? messages : []));
    this.#openings.set(sessionId, { elsewhere, moving, here, relayed: dead });
    return records.filter((record) => {
      const guildId = guildOf(record);
      return !/^(?:place|relay)\//.test(record.key) && (guildId === undefined || !others.has(guildId));
    });
  }

  /** It is open, after `split`: its other players are seen to. */
  opened(session: Session): void {
    const opening = this.#openings.get(session.id);
    this.#openings.delete(session.id);
    if (opening === undefined) return;
    const { elsewhere, moving, here, relayed } = opening;
    const placed = this.#placedOf(session);
    for (const place of [...elsewhere, ...moving, ...here]) placed.places.set(place.guildId, place);
    void this.#takeLeft(placed, relayed);
    for (const machineId of this.machinesOf(session.id)) {
      const places = elsewhere.filter((place) => place.machineId === machineId);
      if (places.length > 0) this.#change(places, () => this.#ensure(placed, places));
    }
    if (moving.length > 0) this.#change(moving, () => this.#move(placed, moving));
  }

  /**
   * Makes known that its players stay here, before another machine has the session.
   * @throws NodeError "cluster-away"
   */
  async giving(session: Session): Promise<void> {
    const { self } = this.#options.membership;
    if (self === undefined) throw away("this machine is not part of it");
    const placed = this.#placedOf(session);
    await Promise.all(Array.from(placed.places.values(), ({ changing }) => changing));
    const guildIds = new Set([...session.players.keys(), ...Array.from(session.kept.list(), ({ guildId }) => guildId)]);
    const changes = [...guildIds].map((guildId) => ({ guildId, machineId: self.id, revision: undefined }));
    for (const guildId of guildIds) this.#placeOf(placed, guildId).revision = undefined;
    await this.#records.write(session.id, changes);
  }

  /** Another machine has it. */
  forget(sessionId: string): void {
    this.#placed.delete(sessionId);
    this.#openings.delete(sessionId);
  }

  /** Its client is back, and is to be sent where each player is. */
  onResumed(sessionId: string): void {
    const epoch = this.#options.epochOf(sessionId);
    if (epoch === undefined) return;
    for (const machineId of this.machinesOf(sessionId)) {
      // They send it themselves within some seconds.
      this.#call(machineId, { kind: "sendUpdates", sessionId, epoch }).catch(() => undefined);
    }
  }

  /**
   * The session has ended, which is this machine's in that revision of its owner record. Resolves when no other machine has
   * anything of it, and none of its players has a record.
   */
  async end(sessionId: string, epoch: () => number): Promise<void> {
    const { state, store, logger, clock } = this.#options;
    const placed = this.#placed.get(sessionId);
    const machineIds = this.machinesOf(sessionId);
    const places = [...(placed?.places.values() ?? [])];
    this.#placed.delete(sessionId);
    await Promise.all(places.map(({ changing }) => changing));
    for (const { guildId, revision } of places)
      if (revision !== 0) state.write(recordKey.place(sessionId, guildId), undefined);
    if (machineIds.length === 0) return;
    const life = this.#life;
    let left = machineIds;
    for (let delayMs = RETRY_MS_MIN; life === this.#life; delayMs = Math.min(2 * delayMs, RETRY_MS_MAX)) {
      try {
        left = left.filter((machineId) => this.#isPeer(machineId));
        await Promise.all(left.map((machineId) => this.#call(machineId, { kind: "end", sessionId, epoch: epoch() })));
        // What those have left that have died: their writes are over.
        await state.flushed();
        if (!state.isStoring) throw away("the end of a session cannot be stored");
        const records = await store.readSession(sessionId, { key: ownerKey(sessionId), revision: epoch() });
        if (life !== this.#life) return;
        for (const { key } of records) state.write(key, undefined);
        return;
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        logger.debug("cluster: a session could not be ended everywhere yet", { sessionId, error });
        await pause(clock, delayMs);
      }
    }
  }

  /** Machines have come or gone: players of those that have died get another one. */
  onMachines(): void {
    for (const placed of this.#placed.values()) {
      if (this.#revivingCount >= REVIVING_MAX) return;
      if (!placed.isReviving && this.#orphans(placed).length > 0) void this.#revive(placed);
    }
  }

  // Holds

  async #hold(session: Session, guildId: string, { isMaking, region }: HoldOptions): Promise<PlayerHold> {
    const { clock } = this.#options;
    const placed = this.#placedOf(session);
    const endMs = clock.now() + HOLD_MS_MAX;
    let place = this.#placeOf(placed, guildId);
    while (place.changing !== undefined) {
      await Promise.race([place.changing, pause(clock, HOLD_MS_MAX)]);
      if (this.#placed.get(session.id) !== placed || this.#options.sessions.own(session.id) !== session) throw moved();
      if (clock.now() >= endMs) throw away("the player is moving to another machine");
      place = this.#placeOf(placed, guildId);
    }
    place.holdCount++;
    place.region = region ?? place.region;
    try {
      const isNew = place.machineId === undefined && !place.isChosenHere && !session.hasGuild(guildId);
      if (isNew && isMaking) await this.#place(placed, place);
    } catch (error) {
      this.#release(placed, place, { mayBeGone: false });
      throw error;
    }
    let isReleased = false;
    return {
      machineId: place.machineId,
      release: (outcome) => {
        if (!isReleased) this.#release(placed, place, outcome);
        isReleased = true;
      },
    };
  }

  /** Chooses the machine of a new player. */
  async #place(placed: Placed, place: Place): Promise<void> {
    const { session } = placed;
    const { membership, state } = this.#options;
    const machineId = this.#choose(place);
    if (machineId === membership.self?.id) {
      place.isChosenHere = true;
      return;
    }
    let failure: unknown;
    this.#change([place], async () => {
      try {
        const [revision] = await this.#records.write(session.id, [{ ...place, machineId }]);
        place.revision = revision;
        place.machineId = machineId;
      } catch (error) {
        failure = error;
        place.revision = undefined;
      }
    });
    await place.changing;
    const isOver = this.#placed.get(session.id) !== placed;
    // It may have been written after the session has ended here.
    if (isOver && this.#isEnded(session)) state.write(recordKey.place(session.id, place.guildId), undefined);
    if (failure !== undefined || isOver) throw failure ?? moved();
  }

  #release(placed: Placed, place: Place, { mayBeGone }: { readonly mayBeGone: boolean }): void {
    place.holdCount--;
    place.mayBeGone ||= mayBeGone;
    if (place.holdCount > 0 || this.#placed.get(placed.session.id) !== placed) return;
    place.isChosenHere = false;
    if (place.machineId === undefined) {
      if (place.revision === 0) placed.places.delete(place.guildId);
    } else if (place.mayBeGone) this.#change([place], () => this.#check(placed, place));
  }

  /** Forgets a place where nothing is any more. */
  async #check(placed: Placed, place: Place): Promise<void> {
    const { logger, epochOf } = this.#options;
    const { id: sessionId } = placed.session;
    const { guildId } = place;
    const epoch = epochOf(sessionId);
    const isMeant = this.#isCurrent(placed) && placed.places.get(guildId) === place && place.machineId !== undefined;
    if (epoch === undefined || !isMeant || place.holdCount > 0) return;
    try {
      const text = await this.#call(place.machineId ?? "", { kind: "holds", sessionId, epoch, guildId });
      const { holds } = holdsAnswer.parse(JSON.parse(text));
      place.mayBeGone = false;
      if (!holds) await this.#remove(placed, place);
    } catch (error) {
      // The next request that may have ended it finds out.
      logger.debug("cluster: it is not known whether a player is still there", { sessionId, guildId, error });
    }
  }

  async #remove(placed: Placed, place: Place): Promise<void> {
    await this.#records.write(placed.session.id, [{ ...place, machineId: undefined }]);
    if (placed.places.get(place.guildId) === place) placed.places.delete(place.guildId);
  }

  // Machines that are dead, and sessions that have come here

  #orphans(placed: Placed): readonly Place[] {
    return [...placed.places.values()].filter(
      ({ machineId, changing }) => changing === undefined && machineId !== undefined && !this.#isPeer(machineId),
    );
  }

  async #revive(placed: Placed): Promise<void> {
    placed.isReviving = true;
    this.#revivingCount++;
    try {
      for (let orphans = this.#orphans(placed); orphans.length > 0; orphans = this.#orphans(placed)) {
        if (!this.#isCurrent(placed)) break;
        for (const place of orphans) this.#chooseOther(place);
        const places = orphans;
        await this.#change(places, () => this.#move(placed, places));
      }
    } finally {
      placed.isReviving = false;
      this.#revivingCount--;
      this.onMachines();
    }
  }

  /** Chooses a machine; false: this one. */
  #chooseOther(place: Place): boolean {
    const { choose, membership } = this.#options;
    // Without any, they are kept here, silent or not.
    const chosen = choose({ region: place.region }) ?? membership.self?.id;
    place.machineId = chosen === membership.self?.id ? undefined : chosen;
    return place.machineId !== undefined;
  }

  /** Brings players to the machines that were chosen for them. Goes on until that is done, or cannot be any more. */
  async #move(placed: Placed, places: readonly Place[]): Promise<void> {
    const { session } = placed;
    const { membership, store, state, logger } = this.#options;
    for (let delayMs = RETRY_MS_MIN; this.#isCurrent(placed); delayMs = Math.min(2 * delayMs, RETRY_MS_MAX)) {
      try {
        const self = membership.self?.id;
        const changes = places.map((place) => ({ ...place, machineId: place.machineId ?? self }));
        const revisions = await this.#records.write(session.id, changes);
        for (const [index, place] of places.entries()) place.revision = revisions[index];
        const [last] = places.slice(-1);
        const atLeast = { key: recordKey.place(session.id, last?.guildId ?? ""), revision: last?.revision ?? 0 };
        const records = await store.readSession(session.id, atLeast);
        if (!this.#isCurrent(placed)) return;
        const here = new Set(places.filter(({ machineId }) => machineId === undefined).map(({ guildId }) => guildId));
        void this.#takeLeft(placed, this.#leftIn(records));
        if (here.size > 0)
          state.adoptPlayers(
            session,
            records.filter((record) => here.has(guildOf(record) ?? "")),
          );
        const others = places.filter(({ machineId }) => machineId !== undefined);
        await Promise.all(
          [...new Set(others.map(({ machineId }) => machineId))].map((machineId) =>
            this.#ensure(
              placed,
              others.filter((place) => place.machineId === machineId),
              atLeast,
            ),
          ),
        );
        logger.info("cluster: players of a session go on at other machines: theirs has died", {
          ...{ sessionId: session.id, players: places.length, here: here.size },
        });
        return;
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        for (const place of places) place.revision = undefined;
        logger.debug("cluster: players could not be moved yet", { sessionId: session.id, error });
        await pause(this.#options.clock, delayMs);
      }
    }
  }

  /** Until their machine says that it has them, or has died. */
  async #ensure(placed: Placed, places: readonly Place[], atLeast?: BucketGuard): Promise<void> {
    const { session } = placed;
    const { epochOf, logger, clock } = this.#options;
    const [{ machineId = "" } = {}] = places;
    for (let delayMs = RETRY_MS_MIN; this.#isCurrent(placed); delayMs = Math.min(2 * delayMs, RETRY_MS_MAX)) {
      const epoch = epochOf(session.id);
      if (epoch === undefined || !this.#isPeer(machineId)) return;
      const guildIds = places.map(({ guildId }) => guildId);
      try {
        const ensure = {
          kind: "ensure",
          session: infoOf(session),
          epoch,
          guildIds,
          ...(atLeast && { atLeast }),
        } as const;
        const { missing } = ensureAnswer.parse(JSON.parse(await this.#call(machineId, ensure)));
        for (const place of places) if (missing.includes(place.guildId)) await this.#remove(placed, place);
        return;
      } catch (error) {
        logger.debug("cluster: a machine could not be asked for its players yet", { sessionId: session.id, error });
        await pause(clock, delayMs);
      }
    }
  }

  #leftIn(records: readonly StateRecord[]): readonly StoredRelay[] {
    const { self } = this.#options.membership;
    const { relayed } = readPlaces(records.filter(({ key }) => key.startsWith("relay/")));
    return [...relayed].flatMap(([id, messages]) => (id === self?.id || this.#isPeer(id) ? [] : messages));
  }

  /** Takes what machines have left that are dead, and removes it from the records once it is stored with the session. */
  async #takeLeft(placed: Placed, messages: readonly StoredRelay[]): Promise<void> {
    const { state, clock } = this.#options;
    for (const message of messages) placed.session.receive(message);
    while (messages.length > 0 && this.#isCurrent(placed)) {
      await state.flushed();
      if (state.isStoring && this.#isCurrent(placed)) {
        for (const { key } of messages) state.write(key, undefined);
        return;
      }
      await pause(clock, RETRY_MS_MAX);
    }
  }

  // Messages of players that are elsewhere

  async #receive(text: string, from: string): Promise<string> {
    const { sessions, state, epochOf } = this.#options;
    const { sessionId, messages } = messagesCall.parse(JSON.parse(text));
    const session = sessions.own(sessionId);
    const life = this.#life;
    let answer: z.input<typeof messagesAnswer> = { kind: "elsewhere" };
    if (session !== undefined && epochOf(sessionId) !== undefined && this.#isPeer(from)) {
      for (const message of messages) session.receive({ ...message, machineId: from });
      await state.written();
      // Otherwise the other machine keeps them: they come again, and are known then.
      if (state.isStoring && life === this.#life) answer = { kind: "taken" };
    }
    return JSON.stringify(answer);
  }

  // Small parts

  /** Nobody has it any more. */
  #isEnded({ id }: Session): boolean {
    const { sessions, epochOf } = this.#options;
    return sessions.get(id) === undefined && epochOf(id) === undefined;
  }

  #elsewhere(sessionId: string): readonly Place[] {
    const places = this.#placed.get(sessionId)?.places.values() ?? [];
    return [...places].filter(({ machineId }) => machineId !== undefined);
  }

  #isPeer(machineId: string): boolean {
    const { membership } = this.#options;
    return machineId !== membership.self?.id && membership.isAlive(machineId);
  }

  /** @throws NodeError "cluster-away" */
  #choose({ region }: Place): string {
    const chosen = this.#options.choose({ region });
    if (chosen === undefined) throw away("none of them plays audio (tonearm.cluster.roles)");
    return chosen;
  }

  #placedOf(session: Session): Placed {
    const known = this.#placed.get(session.id);
    if (known?.session === session) return known;
    const placed: Placed = { session, places: new Map(), isReviving: false };
    this.#placed.set(session.id, placed);
    return placed;
  }

  #placeOf({ places }: Placed, guildId: string): Place {
    const place = places.get(guildId) ?? newPlace(guildId, { revision: 0 });
    places.set(guildId, place);
    return place;
  }

  #isCurrent(placed: Placed): boolean {
    return this.#placed.get(placed.session.id) === placed;
  }

  /** What comes for these waits until `work` is done, which begins at once, or after what changes them already. */
  #change(places: readonly Place[], work: () => Promise<void>): Promise<void> {
    const before = places.flatMap(({ changing }) => changing ?? []);
    const changing = (before.length === 0 ? work() : Promise.all(before).then(work))
      .catch((error: unknown) => {
        const isExpected = error instanceof NodeError && error.fault !== "ourselves";
        this.#options.logger[isExpected ? "debug" : "error"]("cluster: a player could not be placed", { error });
      })
      .finally(() => {
        for (const place of places) if (place.changing === changing) place.changing = undefined;
        // It may have died meanwhile.
        if (places.some(({ machineId }) => machineId !== undefined && !this.#isPeer(machineId))) this.onMachines();
      });
    for (const place of places) place.changing = changing;
    return changing;
  }

  #call(machineId: string, call: PlayerCall): Promise<string> {
    return this.#options.call(machineId, PLAYERS, JSON.stringify(call));
  }
}

function newPlace(
  guildId: string,
  { machineId, revision, region }: Partial<Pick<Place, "machineId" | "revision" | "region">>,
): Place {
  return {
    ...{ guildId, machineId, revision, region },
    isChosenHere: false,
    holdCount: 0,
    mayBeGone: false,
    changing: undefined,
  };
}

function infoOf({ id, userId, clientName, owner, account }: Session): RemoteSessionInfo {
  return { id, userId, clientName: clientName ?? null, owner: owner ?? null, account };
}

function moved(): NodeError {
  return new NodeError("cluster-away", "the session has just moved to another machine: try again in a moment");
}
