// Which machine of the cluster a new player is placed on, by what the machines say of their load and what this one has
// placed lately. Main thread; a gateway asks it once for each player.

import { RENEW_MS } from "../../cluster/lease-times.ts";
import type { Machine, MachineLoad } from "../../cluster/machine.ts";
import type { Membership } from "../../cluster/membership.ts";
import type { Clock } from "../../lib/clock.ts";
import { LOAD_OVER } from "../workers/load-governor.ts";

/** A gateway keeps a player, which saves the way to another machine, up to this much load above the least. */
const OWN_LOAD_EXTRA = 0.15;

/** A machine that a player can be placed on. */
export interface Candidate extends Pick<Machine, "id" | "regions"> {
  readonly load: Omit<MachineLoad, "isDraining">;
  /** Players that were placed there, and may not be part of that load yet. */
  readonly placed: number;
}

interface Wish {
  /** The machine that asks; undefined: it is none of the candidates. */
  readonly selfId: string | undefined;
  /** Of the player's voice server; undefined: not known. */
  readonly region: string | undefined;
}

/**
 * The machine for one more player: one near its region if any of those has capacity, then any that has capacity: this
 * one, unless another has clearly less to do. Where none has capacity, the one with the least load: it refuses by itself.
 * Undefined: there is no machine.
 */
export function chosenMachine<T extends Candidate>(candidates: readonly T[], { selfId, region }: Wish): T | undefined {
  const able = candidates.filter(hasCapacity);
  const near = region === undefined ? [] : able.filter(({ regions }) => regions.includes(region));
  const group = [near, able].find(({ length }) => length > 0);
  const least = (group ?? candidates).toSorted(compare)[0];
  const self = group?.find(({ id }) => id === selfId);
  if (self === undefined || least === undefined) return least;
  return loadOf(self) <= loadOf(least) + OWN_LOAD_EXTRA ? self : least;
}

/** What is wished of the machine for one more player. */
export interface PlaceWish {
  /** Of the player's voice server, as `voiceRegion` names it; undefined: not known. */
  readonly region: string | undefined;
  /** It would do as well where it is: only a machine that has capacity is chosen. Default: false. */
  readonly isMoving?: boolean;
}

interface MachineChooserOptions {
  readonly membership: Pick<Membership, "self" | "peers" | "loadOf">;
  readonly clock: Clock;
}

/** One for the node. */
export class MachineChooser {
  readonly #options: MachineChooserOptions;
  /** Placed since `#sinceMs`, and in the time before it that a machine renews its record in; by machine id. */
  #placed = new Map<string, number>();
  #placedBefore: ReadonlyMap<string, number> = new Map();
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(options: MachineChooserOptions) {
    this.#options = options;
  }

  /**
   * The id of the machine for one more player, which counts as placed there. Undefined: there is no audio machine that
   * takes players.
   */
  choose({ region, isMoving = false }: PlaceWish): string | undefined {
    this.#forgetOld();
    const selfId = this.#options.membership.self?.id;
    const candidates = this.#candidates().filter((candidate) => !isMoving || hasCapacity(candidate));
    const id = chosenMachine(candidates, { selfId, region })?.id;
    if (id !== undefined) this.#placed.set(id, (this.#placed.get(id) ?? 0) + 1);
    return id;
  }

  #candidates(): readonly Candidate[] {
    const { membership } = this.#options;
    return membership.peers().flatMap(({ id, regions, roles }) => {
      const load = membership.loadOf(id);
      if (load === undefined || load.isDraining || !roles.includes("audio")) return [];
      return { id, regions, load, placed: (this.#placed.get(id) ?? 0) + (this.#placedBefore.get(id) ?? 0) };
    });
  }

  /**
   * A player shows in the load of its machine when that has renewed its record after the player's track has been loaded:
   * it counts for one to two times of that, wherever it is.
   */
  #forgetOld(): void {
    const nowMs = this.#options.clock.now();
    const passedMs = nowMs - this.#sinceMs;
    if (passedMs < RENEW_MS) return;
    this.#placedBefore = passedMs < 2 * RENEW_MS ? this.#placed : new Map();
    this.#placed = new Map();
    this.#sinceMs = nowMs;
  }
}

/** By what is known of it now. */
function hasCapacity(candidate: Candidate): boolean {
  return candidate.load.hasCapacity && loadOf(candidate) < LOAD_OVER;
}

/** With all that was placed there. */
function loadOf({ load, placed }: Candidate): number {
  return load.load + placed * load.loadPerPlayer;
}

/** The one with less to do first. */
function compare(a: Candidate, b: Candidate): number {
  const byPlayers = a.load.players + a.placed - (b.load.players + b.placed);
  return loadOf(a) - loadOf(b) || byPlayers || (a.id < b.id ? -1 : 1);
}
