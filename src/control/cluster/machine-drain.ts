// Moves players off machines that drain, which live and are about to end: those that do not sound first. Each is released
// by its machine, as it is stored then, and made again by the next one. Main thread; part of player-places.ts: each
// gateway moves the players of its sessions.

import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import { voiceRegion } from "../players/voice-region.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { askMachine } from "./ask-machine.ts";
import type { MachineCalls } from "./machine-calls.ts";
import type { PlaceWish } from "./machine-chooser.ts";
import type { Place, Placed, PlacedPlayers } from "./placed-players.ts";
import { releaseAnswer } from "./player-calls.ts";
import type { PlayerMoves } from "./player-moves.ts";
import type { PlayerReleases } from "./player-releases.ts";
import { RETRY_MS_MAX, RETRY_MS_MIN } from "./retry-times.ts";
import { Slots } from "./slots.ts";

/** Players that this machine moves at once. */
const MOVING_MAX = 8;
/** From one that sounds to the next in its turn: its new machine joins a voice channel for each. */
const PACE_MS = 100;
/** Players that could not be moved, or came later, are looked for this often. */
const LOOK_MS = 250;
/** One that was to be moved is left alone for so long, whatever came of it. */
const AGAIN_MS = 5000;

interface MachineDrainOptions {
  readonly placed: PlacedPlayers;
  readonly moves: Pick<PlayerMoves, "bring" | "chooseOther">;
  readonly releases: Pick<PlayerReleases, "release">;
  readonly calls: Pick<MachineCalls, "call">;
  readonly membership: Pick<Membership, "self" | "peers" | "loadOf">;
  readonly sessions: Pick<Sessions, "own" | "all">;
  /** The revision of the owner record of a session that is this machine's. */
  readonly epochOf: (sessionId: string) => number | undefined;
  readonly choose: (wish: PlaceWish) => string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A player on a machine that drains. */
interface Leaving {
  readonly session: Session;
  readonly guildId: string;
}

/** Whether players of the session outlive this machine, so that they can go on elsewhere while it lives. */
export function isMovable({ dialect, isLasting }: Pick<Session, "dialect" | "isLasting">): boolean {
  return dialect.version === "4" && isLasting;
}

export class MachineDrain {
  readonly #options: MachineDrainOptions;
  readonly #slots = new Slots(MOVING_MAX);
  /** When each may be moved again. */
  readonly #notBeforeMs = new WeakMap<Place, number>();
  #isRunning = false;
  #isClosed = false;

  constructor(options: MachineDrainOptions) {
    this.#options = options;
  }

  /** There is a machine to move players to. */
  get canMove(): boolean {
    return this.#options.membership.peers().some(({ id }) => this.#isTarget(id));
  }

  /** Machines may have begun to drain, this one among them. */
  check(): void {
    if (this.#isRunning || this.#isClosed || this.#draining().size === 0) return;
    this.#isRunning = true;
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
  }

  /** While there are machines that drain. */
  async #run(): Promise<void> {
    try {
      while (!this.#isClosed && this.#draining().size > 0) {
        await this.#moveAll({ isIdleOnly: true });
        await this.#moveAll({ isIdleOnly: false });
        await pause(this.#options.clock, LOOK_MS);
      }
    } catch (error) {
      this.#options.logger.error("cluster: players cannot be moved off a machine; please report it", { error });
    } finally {
      this.#isRunning = false;
    }
  }

  async #moveAll({ isIdleOnly }: { readonly isIdleOnly: boolean }): Promise<void> {
    if (this.#isClosed || !this.canMove) return;
    const found = this.#find();
    await Promise.all(
      found.map((leaving) =>
        this.#slots.run(async () => {
          const isMoved = !this.#isClosed && (await this.#move(leaving, { isIdleOnly }));
          if (isMoved && !isIdleOnly) await pause(this.#options.clock, PACE_MS);
        }),
      ),
    );
  }

  #draining(): ReadonlySet<string> {
    const { membership } = this.#options;
    const ids = membership.peers().map(({ id }) => id);
    return new Set(ids.filter((id) => membership.loadOf(id)?.isDraining === true));
  }

  #find(): readonly Leaving[] {
    const { placed, membership, sessions } = this.#options;
    const draining = this.#draining();
    const found: Leaving[] = [];
    for (const { session, places } of placed.all) {
      for (const { guildId, machineId } of places.values())
        if (machineId !== undefined && draining.has(machineId)) found.push({ session, guildId });
    }
    if (!draining.has(membership.self?.id ?? "")) return found;
    for (const session of sessions.all()) {
      if (session.isRemote || !isMovable(session)) continue;
      for (const guildId of session.players.keys()) found.push({ session, guildId });
    }
    return found;
  }

  /** False: it stays for now. */
  async #move({ session, guildId }: Leaving, { isIdleOnly }: { readonly isIdleOnly: boolean }): Promise<boolean> {
    const { placed: all, sessions, epochOf, clock } = this.#options;
    if (sessions.own(session.id) !== session || epochOf(session.id) === undefined) return false;
    const placed = all.of(session);
    const place = all.placeOf(placed, guildId);
    const player = session.players.get(guildId);
    const { machineId: before } = place;
    // While requests about it are under way it would be gone for them.
    const isFree = place.holdCount === 0 && place.changing === undefined && place.ensuring === undefined;
    const isDue = clock.now() >= (this.#notBeforeMs.get(place) ?? 0);
    const isMeant = before !== undefined || (player !== undefined && !(isIdleOnly && player.isPlaying));
    if (isFree && isDue && isMeant && !placed.isGiving) {
      const endpoint = player?.snapshot().voice?.credentials.endpoint;
      if (endpoint !== undefined) place.region = voiceRegion(endpoint) ?? place.region;
      await all.change([place], () => this.#carryOut(placed, place, { isIdleOnly }));
      await place.ensuring;
    }
    all.forgetUnused(placed, place);
    return place.machineId !== before;
  }

  async #carryOut(placed: Placed, place: Place, { isIdleOnly }: { readonly isIdleOnly: boolean }): Promise<void> {
    const { choose, membership, moves, clock } = this.#options;
    const isHere = place.machineId === undefined;
    const choice = (): string | undefined => {
      const id = choose({ region: place.region, isMoving: true });
      return id !== undefined && this.#isTarget(id) ? id : undefined;
    };
    // Another machine may find that it stays: only then it is known whether one more is placed.
    const early = isHere ? choice() : undefined;
    if (isHere && early === undefined) return;
    // Whatever happens from now on, the end of the session finds all that is left of it.
    if (early !== undefined) placed.others.add(early);
    if (!(await this.#isReleased(placed, place, { isIdleOnly }))) return;
    this.#notBeforeMs.set(place, clock.now() + AGAIN_MS);
    if (!this.#options.placed.isCurrent(placed)) return;
    const id = early ?? choice();
    if (id === undefined) moves.chooseOther(place);
    else place.machineId = id === membership.self?.id ? undefined : id;
    await moves.bring(placed, [place]);
  }

  /** Until its machine has ended it and stored it, says that it stays, or has died. False: it stays, or nobody knows. */
  async #isReleased(
    placed: Placed,
    { guildId, machineId }: Place,
    { isIdleOnly }: { readonly isIdleOnly: boolean },
  ): Promise<boolean> {
    const { placed: all, releases, calls, epochOf, clock, logger } = this.#options;
    const { session } = placed;
    const guildIds = [guildId];
    for (let delayMs = RETRY_MS_MIN; all.isCurrent(placed); delayMs = Math.min(2 * delayMs, RETRY_MS_MAX)) {
      const epoch = epochOf(session.id);
      if (epoch === undefined) return false;
      if (machineId !== undefined && !all.isPeer(machineId)) return true;
      try {
        if (machineId === undefined) return (await releases.release(session, guildIds, () => true)).length > 0;
        const call = { kind: "release", sessionId: session.id, epoch, guildIds, isIdleOnly } as const;
        const { released } = releaseAnswer.parse(JSON.parse(await askMachine(calls, machineId, call)));
        return released.includes(guildId);
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        logger.debug("cluster: a player could not be released yet", { sessionId: session.id, guildId, error });
        await pause(clock, delayMs);
      }
    }
    return false;
  }

  #isTarget(id: string): boolean {
    const { membership } = this.#options;
    const load = membership.loadOf(id);
    const isAudio = membership.peers().some((machine) => machine.id === id && machine.roles.includes("audio"));
    return isAudio && load?.hasCapacity === true && !load.isDraining;
  }
}
