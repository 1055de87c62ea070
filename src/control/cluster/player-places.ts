// Where the players are of the sessions that this machine has: here, or on other machines. It chooses a machine for each
// new player, follows a session that comes here, and gives players another machine when theirs has died. Main thread; one
// for the node.
//
// A player is with its session unless a record says otherwise. The record is written before the other machine hears of
// the player, so that the next machine that has the session finds it.

import type { z } from "zod";
import type { Bucket } from "../../cluster/bucket.ts";
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
import { askMachine, infoOf } from "./ask-machine.ts";
import type { MachineCalls } from "./machine-calls.ts";
import type { PlaceWish } from "./machine-chooser.ts";
import { MachineDrain } from "./machine-drain.ts";
import { away } from "./owner-records.ts";
import { guildOf, PlaceRecords, readPlaces, type StoredRelay } from "./place-records.ts";
import { newPlace, type Place, type Placed, PlacedPlayers } from "./placed-players.ts";
import { holdsAnswer, MESSAGES, type messagesAnswer, messagesCall } from "./player-calls.ts";
import { PlayerMoves } from "./player-moves.ts";
import type { PlayerReleases } from "./player-releases.ts";
import { RETRY_MS_MAX, RETRY_MS_MIN } from "./retry-times.ts";
import { ownerKey } from "./session-directory.ts";
import type { AskedPlayer, HoldOptions, PlayerHold } from "./session-places.ts";

/** A request waits so long for a player that is about to go on elsewhere. */
const HOLD_MS_MAX = 10_000;

interface PlayerPlacesOptions {
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly store: Pick<ClusterStore, "readSession">;
  readonly link: Pick<MachineLink, "serve">;
  readonly membership: Pick<Membership, "self" | "guard" | "peers" | "loadOf" | "isAlive" | "isNatsAway" | "onFenced">;
  readonly sessions: Pick<Sessions, "get" | "own" | "all">;
  readonly releases: Pick<PlayerReleases, "release">;
  readonly state: Pick<NodeState, "adoptPlayers" | "written" | "flushed" | "isStoring" | "write">;
  readonly calls: Pick<MachineCalls, "call">;
  /** The revision of the owner record of a session that is this machine's. */
  readonly epochOf: (sessionId: string) => number | undefined;
  /** The machine for one more player; undefined: there is none that plays audio. */
  readonly choose: (wish: PlaceWish) => string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What was found in the records of a session that is about to be opened. */
interface Opening {
  readonly elsewhere: readonly Place[];
  /** Are to be elsewhere: their machine is dead, or died with the session. */
  readonly moving: readonly Place[];
  /** Here, with a record that says something else. */
  readonly here: readonly Place[];
  /** Of machines that are dead. */
  readonly relayed: readonly StoredRelay[];
  /** Machines that have left messages and live: they send them. */
  readonly relaying: readonly string[];
}

export class PlayerPlaces {
  readonly #options: PlayerPlacesOptions;
  readonly #records: PlaceRecords;
  readonly #placed: PlacedPlayers;
  readonly #openings = new Map<string, Opening>();
  readonly #moves: PlayerMoves;
  readonly #drain: MachineDrain;
  #stopServing: (() => void) | undefined;
  #life = 0;

  constructor(options: PlayerPlacesOptions) {
    this.#options = options;
    this.#records = new PlaceRecords(options);
    this.#placed = new PlacedPlayers({ ...options, onDeath: () => this.onMachines() });
    this.#moves = new PlayerMoves({
      ...options,
      ...{ placed: this.#placed, records: this.#records },
      onEnsured: (placed, place) => this.#checkIfGone(placed, place),
      remove: (placed, place) => this.#remove(placed, place),
    });
    this.#drain = new MachineDrain({ ...options, placed: this.#placed, moves: this.#moves });
  }

  /** This machine has that id from now on. */
  onJoined(machineId: string): void {
    this.#stopServing?.();
    this.#stopServing = this.#options.link.serve(machineId, MESSAGES, (text, from) => this.#receive(text, from));
    this.#drain.check();
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
    this.#drain.close();
    this.#stopServing?.();
  }

  /** Machines other than this one that have players of the session. */
  machinesOf(sessionId: string): readonly string[] {
    return this.#placed.machinesOf(sessionId);
  }

  /** See `SessionPlaces.holdPlayer`. Players of v3 are always with their session. */
  hold(sessionId: string, guildId: string, options: HoldOptions): Promise<PlayerHold> | undefined {
    const session = this.#options.sessions.own(sessionId);
    if (session === undefined || session.dialect.version !== "4") return undefined;
    const isKnown = this.#placed.get(sessionId)?.places.has(guildId) === true;
    // One that is being destroyed is waited for: the session may be given away before the next one is made.
    const isHere = session.players.has(guildId) || session.kept.has(guildId);
    if (!isKnown && !isHere && !options.isMaking) return undefined;
    return this.#hold(session, guildId, options);
  }

  /** Passes a request about a player, or about all of them, on to a machine that has some. */
  ask(machineId: string, { sessionId, guildId }: AskedPlayer, request: string): Promise<string> {
    const session = this.#options.sessions.own(sessionId);
    const epoch = this.#options.epochOf(sessionId);
    if (session === undefined || epoch === undefined) return Promise.reject(moved());
    return askMachine(this.#options.calls, machineId, {
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
      if (!isHere && machineId !== undefined && this.#placed.isPeer(machineId)) elsewhere.push(place);
      else if (!isHere && !isV3 && this.#moves.chooseOther(place)) moving.push(place);
      else if (machineId !== undefined) here.push({ ...place, machineId: undefined });
    }
    const others = new Set([...elsewhere, ...moving].map(({ guildId }) => guildId));
    const isLeft = (machineId: string): boolean => machineId !== membership.self?.id && !this.#placed.isPeer(machineId);
    const dead = [...relayed].flatMap(([machineId, messages]) => (isLeft(machineId) ? messages : []));
    const relaying = [...relayed.keys()].filter((machineId) => this.#placed.isPeer(machineId));
    this.#openings.set(sessionId, { elsewhere, moving, here, relayed: dead, relaying });
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
    const { elsewhere, moving, here, relayed, relaying } = opening;
    const placed = this.#placed.of(session);
    for (const machineId of relaying) placed.others.add(machineId);
    for (const place of [...elsewhere, ...moving, ...here]) placed.places.set(place.guildId, place);
    void this.#moves.takeLeft(placed, relayed);
    this.#moves.ensureAll(placed, elsewhere);
    if (moving.length > 0) this.#moves.start(placed, moving, { isChosen: true });
  }

  /**
   * Makes known that its players stay here, before another machine has the session.
   * @throws NodeError "cluster-away"
   */
  async giving(session: Session): Promise<void> {
    const { self } = this.#options.membership;
    if (self === undefined) throw away("this machine is not part of it");
    const placed = this.#placed.of(session);
    placed.isGiving = true;
    try {
      await this.#write(placed, self.id);
    } finally {
      placed.isGiving = false;
    }
  }

  async #write(placed: Placed, selfId: string): Promise<void> {
    await Promise.all(Array.from(placed.places.values(), ({ changing }) => changing));
    const written = new Set<string>();
    const unwritten = (): readonly string[] => guildsOf(placed).filter((guildId) => !written.has(guildId));
    // Its client may have come back meanwhile, and gone again.
    for (let guildIds = unwritten(); guildIds.length > 0; guildIds = unwritten()) {
      for (const guildId of guildIds) this.#placed.placeOf(placed, guildId).revision = undefined;
      const changes = guildIds.map((guildId) => ({ guildId, machineId: selfId, revision: undefined }));
      await this.#records.write(placed.session.id, changes);
      for (const guildId of guildIds) written.add(guildId);
    }
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
      askMachine(this.#options.calls, machineId, { kind: "sendUpdates", sessionId, epoch }).catch(() => undefined);
    }
  }

  /**
   * The session has ended, which is this machine's in that revision of its owner record. Resolves when no other machine has
   * anything of it, and none of its players has a record.
   */
  async end(sessionId: string, epoch: () => number): Promise<void> {
    const { state, store, logger, clock } = this.#options;
    const placed = this.#placed.get(sessionId);
    // Also those that had some, which may have left messages.
    const machineIds = [...new Set([...this.machinesOf(sessionId), ...(placed?.others ?? [])])];
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
        left = left.filter((machineId) => this.#placed.isPeer(machineId));
        await Promise.all(
          left.map((machineId) =>
            askMachine(this.#options.calls, machineId, { kind: "end", sessionId, epoch: epoch() }),
          ),
        );
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

  /** There is a machine to move players to. */
  get canMove(): boolean {
    return this.#drain.canMove;
  }

  /** Machines have come or gone, or drain: players of those that have died, or do, get another one. */
  onMachines(): void {
    for (const placed of this.#placed.all) this.#moves.followDeaths(placed);
    this.#drain.check();
  }

  // Holds

  async #hold(session: Session, guildId: string, options: HoldOptions): Promise<PlayerHold> {
    const { clock } = this.#options;
    const placed = this.#placed.of(session);
    const endMs = clock.now() + HOLD_MS_MAX;
    let place = this.#placed.placeOf(placed, guildId);
    for (let busy = busyOf(place); busy !== undefined; busy = busyOf(place)) {
      await Promise.race([busy, pause(clock, HOLD_MS_MAX)]);
      if (this.#placed.get(session.id) !== placed || this.#options.sessions.own(session.id) !== session) throw moved();
      if (clock.now() >= endMs) throw away("the player is moving to another machine");
      place = this.#placed.placeOf(placed, guildId);
    }
    place.holdCount++;
    const isNew = place.machineId === undefined && !place.isChosenHere && !session.hasGuild(guildId);
    if (isNew || place.machineId !== undefined) place.region = options.region ?? place.region;
    try {
      if (isNew && options.isMaking) await this.#place(placed, place);
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
    const machineId = this.#choose(place);
    if (machineId === this.#options.membership.self?.id) {
      place.isChosenHere = true;
      return;
    }
    let failure: unknown;
    this.#placed.change([place], async () => {
      try {
        const [revision] = await this.#records.write(session.id, [{ ...place, machineId }]);
        place.revision = revision;
        place.machineId = machineId;
        placed.others.add(machineId);
      } catch (error) {
        failure = error;
        place.revision = undefined;
      }
    });
    await place.changing;
    const isOver = this.#placed.get(session.id) !== placed;
    if (failure !== undefined || isOver) throw failure ?? moved();
  }

  #release(placed: Placed, place: Place, { mayBeGone }: { readonly mayBeGone: boolean }): void {
    place.holdCount--;
    place.mayBeGone ||= mayBeGone;
    if (place.holdCount > 0 || this.#placed.get(placed.session.id) !== placed) return;
    place.isChosenHere = false;
    if (place.machineId === undefined) this.#placed.forgetUnused(placed, place);
    else this.#checkIfGone(placed, place);
  }

  #checkIfGone(placed: Placed, place: Place): void {
    if (place.mayBeGone && place.holdCount === 0) this.#placed.change([place], () => this.#check(placed, place));
  }

  /** Forgets a place where nothing is any more. Not before its machine has the player, which has nothing until then. */
  async #check(placed: Placed, place: Place): Promise<void> {
    const { logger, epochOf } = this.#options;
    const { id: sessionId } = placed.session;
    const { guildId } = place;
    const epoch = epochOf(sessionId);
    const isMeant =
      this.#placed.isCurrent(placed) && placed.places.get(guildId) === place && place.machineId !== undefined;
    if (epoch === undefined || !isMeant || place.holdCount > 0 || place.ensuring !== undefined) return;
    try {
      const text = await askMachine(this.#options.calls, place.machineId ?? "", {
        kind: "holds",
        sessionId,
        epoch,
        guildId,
      });
      const { holds } = holdsAnswer.parse(JSON.parse(text));
      place.mayBeGone = false;
      if (!holds) await this.#remove(placed, place);
    } catch (error) {
      // The next request that may have ended it finds out.
      logger.debug("cluster: it is not known whether a player is still there", { sessionId, guildId, error });
    }
  }

  /** There is nothing at its machine. */
  async #remove(placed: Placed, place: Place): Promise<void> {
    const change = { ...place, machineId: undefined };
    // Also where it is not known whether that is written: the next player of the guild needs a record first.
    place.machineId = undefined;
    place.revision = undefined;
    await this.#records.write(placed.session.id, [change]);
    if (placed.places.get(place.guildId) === place) placed.places.delete(place.guildId);
  }

  // Messages of players that are elsewhere

  async #receive(text: string, from: string): Promise<string> {
    const { sessions, state, epochOf } = this.#options;
    const { sessionId, messages } = messagesCall.parse(JSON.parse(text));
    const session = sessions.own(sessionId);
    const life = this.#life;
    let answer: z.input<typeof messagesAnswer> = { kind: "elsewhere" };
    if (session !== undefined && epochOf(sessionId) !== undefined && this.#placed.isPeer(from)) {
      this.#placed.of(session).others.add(from);
      for (const message of messages) session.receive({ ...message, machineId: from });
      await state.written();
      // Otherwise the other machine keeps them: they come again, and are known then.
      if (state.isStoring && life === this.#life) answer = { kind: "taken" };
    }
    return JSON.stringify(answer);
  }

  // Small parts

  /** @throws NodeError "cluster-away" */
  #choose({ region }: Place): string {
    const { choose, membership } = this.#options;
    // One that takes no more players says so by itself.
    const own = membership.self?.roles.includes("audio") ? membership.self.id : undefined;
    const chosen = choose({ region }) ?? own;
    if (chosen === undefined)
      throw new NodeError(
        "cluster-away",
        "no machine plays audio: start one with the role audio (tonearm.cluster.roles)",
      );
    return chosen;
  }
}

/** Those with a player here, with anything that is kept for them, or with requests that may make a player here. */
function guildsOf({ session, places }: Placed): readonly string[] {
  const making = [...places.values()].filter(({ machineId, holdCount }) => machineId === undefined && holdCount > 0);
  const used = [...session.players.values(), ...session.kept.list(), ...making];
  return [...new Set(used.map(({ guildId }) => guildId))];
}

/** What a request waits for. */
function busyOf({ changing, ensuring }: Place): Promise<void> | undefined {
  return changing ?? ensuring;
}

function moved(): NodeError {
  return new NodeError("cluster-away", "the session has just moved to another machine: try again in a moment");
}
