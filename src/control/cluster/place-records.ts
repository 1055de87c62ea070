// The records that say on which machine players are that are not with their session. Only the machine that has the
// session writes them. Main thread; part of player-places.ts.

import { z } from "zod";
import type { Bucket, BucketChange } from "../../cluster/bucket.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { StateRecord } from "../../state/state-store.ts";
import { voiceRegion } from "../players/voice-region.ts";
import { recordKey } from "../state/session-records.ts";
import { away, noRoom } from "./owner-records.ts";
import { readJson } from "./read-json.ts";

const WRITE_TIMEOUT_MS = 3000;
/** Of one write. */
const CHANGES_MAX = 100;

const placeRecord = z.looseObject({ machine: z.string().min(1).max(100) });
const playerRecord = z.looseObject({ voice: z.looseObject({ endpoint: z.string() }).optional() });
const relayRecord = z.looseObject({ topic: z.string(), text: z.string() });

interface PlaceRecordsOptions {
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly membership: Pick<Membership, "guard" | "onFenced">;
}

/** Where a guild's player is to be from now on. */
export interface PlaceChange {
  readonly guildId: string;
  /** Undefined: there is none any more, or it is with its session. */
  readonly machineId: string | undefined;
  /** Of its record now, 0 where there is none; undefined: not known. */
  readonly revision: number | undefined;
}

export class PlaceRecords {
  readonly #options: PlaceRecordsOptions;

  constructor(options: PlaceRecordsOptions) {
    this.#options = options;
  }

  /**
   * Writes them in the order in which they come. Resolves with the new revisions.
   * @throws NodeError "cluster-away": some may have been written
   */
  async write(sessionId: string, places: readonly PlaceChange[]): Promise<readonly number[]> {
    const revisions: number[] = [];
    for (let start = 0; start < places.length; start += CHANGES_MAX) {
      const some = places.slice(start, start + CHANGES_MAX);
      revisions.push(...(await this.#write(await Promise.all(some.map((place) => this.#changeOf(sessionId, place))))));
    }
    return revisions;
  }

  async #changeOf(sessionId: string, { guildId, machineId, revision }: PlaceChange): Promise<BucketChange> {
    const key = recordKey.place(sessionId, guildId);
    const value = machineId === undefined ? undefined : JSON.stringify({ machine: machineId });
    if (revision !== undefined) return { key, value, expected: revision };
    const entry = await this.#options.bucket.get(key);
    return { key, value, expected: entry?.value === undefined ? 0 : entry.revision };
  }

  async #write(changes: readonly BucketChange[]): Promise<readonly number[]> {
    const { bucket, membership } = this.#options;
    const { guard } = membership;
    if (guard === undefined) throw away("this machine is not part of it");
    try {
      return await bucket.write(changes, { guard, timeoutMs: WRITE_TIMEOUT_MS });
    } catch (error) {
      const code = error instanceof NodeError ? error.code : undefined;
      if (code === "cluster-fenced") membership.onFenced(guard);
      if (code === "cluster-fenced") throw away("the others have taken this machine for dead");
      if (code === "cluster-conflict")
        throw new NodeError("cluster-away", "the player has just moved to another machine: try again in a moment");
      if (code === "state-full") throw noRoom("player");
      throw error;
    }
  }
}

/** What the records of a session say of its players. */
export interface StoredPlaces {
  /** The machine of each guild that has a place record. */
  readonly machines: ReadonlyMap<string, string>;
  /** All guilds with a player, a value that is kept, or a place; and the region of the voice server, where it is known. */
  readonly regions: ReadonlyMap<string, string | undefined>;
  /** Messages that were not taken from each machine, in order. */
  readonly relayed: ReadonlyMap<string, readonly StoredRelay[]>;
}

/** A message that a machine has stored for the one that has the session. */
export interface StoredRelay {
  readonly key: string;
  readonly machineId: string;
  readonly number: number;
  readonly topic: string;
  readonly text: string;
}

/** Those that are no such record are left out. */
export function readPlaces(records: readonly StateRecord[]): StoredPlaces {
  const machines = new Map<string, string>();
  const regions = new Map<string, string | undefined>();
  const relayed = new Map<string, StoredRelay[]>();
  for (const { key, value } of records) {
    const [kind, , first = "", second = ""] = key.split("/");
    if (kind === "place") {
      const { data } = placeRecord.safeParse(readJson(value));
      if (data !== undefined) machines.set(first, data.machine);
    } else if (kind === "relay") {
      const { data } = relayRecord.safeParse(readJson(value));
      const number = Number(second);
      if (data === undefined || !Number.isSafeInteger(number)) continue;
      const { topic, text } = data;
      relayed.set(first, [...(relayed.get(first) ?? []), { key, machineId: first, number, topic, text }]);
      continue;
    }
    if (kind !== "place" && kind !== "player" && kind !== "kept") continue;
    const endpoint = kind === "player" ? playerRecord.safeParse(readJson(value)).data?.voice?.endpoint : undefined;
    regions.set(first, (endpoint && voiceRegion(endpoint)) || regions.get(first));
  }
  return { machines, regions, relayed };
}

/** The guild that a record is of; undefined: it is of none. */
export function guildOf({ key }: Pick<StateRecord, "key">): string | undefined {
  const [kind, , guildId] = key.split("/", 3);
  return kind === "player" || kind === "track" || kind === "kept" ? guildId : undefined;
}
