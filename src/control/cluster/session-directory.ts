// Where every session of the cluster is, as the shared records say, and under which key v3 clients find theirs. It follows
// the records, so it may be some milliseconds behind. Main thread; one for the node.

import { z } from "zod";
import type { Bucket, BucketEntry } from "../../cluster/bucket.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { parseJson, plainJson } from "../../lib/json.ts";
import { type SessionRecord, sessionRecord } from "../state/session-records.ts";
import type { AskingClient } from "./session-homes.ts";

/** Of all machines together; those beyond it are found by asking. */
const SESSIONS_MAX = 200_000;
/** Ended sessions that are remembered, so that what is late does not bring them back. */
const ENDED_MAX = 10_000;
const VALUE_COUNT_MAX = 100;

/** Who owns a session, and in which revision of its record that was so. */
export interface SessionHome {
  readonly machineId: string;
  readonly revision: number;
}

/** The key of the record that says where a session is. There is one for every session, also for those that do not resume. */
export function ownerKey(sessionId: string): string {
  return `owner/${sessionId}`;
}

const ownerRecord = z.strictObject({ machine: z.string().min(1).max(100) });

export function ownerValue(machineId: string): string {
  return JSON.stringify({ machine: machineId });
}

/** Undefined: it was removed, or is not what a record of its kind is. */
export function readHome({ value, revision }: Pick<BucketEntry, "value" | "revision">): SessionHome | undefined {
  const { data } = ownerRecord.safeParse(readJson(value));
  return data && { machineId: data.machine, revision };
}

interface SessionDirectoryOptions {
  readonly bucket: Pick<Bucket, "watch">;
  /** That session has come, gone or moved; undefined: all that there are have become known. */
  readonly onChanged: (sessionId: string | undefined) => void;
}

export class SessionDirectory {
  readonly #options: SessionDirectoryOptions;
  readonly #homes = new Map<string, SessionHome>();
  /** The sessions of each machine. */
  readonly #machines = new Map<string, Set<string>>();
  /** Of those that v3 clients can resume. */
  readonly #keyed = new Map<string, SessionRecord>();
  /** In which revision each of the last that have ended did so. */
  readonly #ended = new BoundedMap<string, number>(ENDED_MAX);
  #stop: (() => void) | undefined;
  #isComplete = false;

  constructor(options: SessionDirectoryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stop = this.#options.bucket.watch({
      patterns: ["owner/*", "session/*"],
      onEntry: (entry) => this.#onEntry(entry),
      onCaughtUp: () => {
        this.#isComplete = true;
        this.#options.onChanged(undefined);
      },
    });
  }

  close(): void {
    this.#stop?.();
  }

  /** All sessions that there were at some moment since the start are known. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** By session id. */
  get homes(): ReadonlyMap<string, SessionHome> {
    return this.#homes;
  }

  /** The ids of the sessions of each machine, by its id. */
  get machines(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#machines;
  }

  /** What was just read or written elsewhere; older than what is known, it changes nothing. */
  learn(sessionId: string, home: SessionHome): void {
    if (home.revision <= (this.#ended.get(sessionId) ?? 0)) return;
    const known = this.#homes.get(sessionId);
    if (known !== undefined && known.revision >= home.revision) return;
    if (known === undefined && this.#homes.size >= SESSIONS_MAX) return;
    this.#remove(sessionId);
    this.#homes.set(sessionId, home);
    const ids = this.#machines.get(home.machineId) ?? new Set();
    this.#machines.set(home.machineId, ids.add(sessionId));
  }

  /** It was read elsewhere that there is no such session, since that revision. Undefined: nobody knows since when. */
  forget(sessionId: string, revision = Number.POSITIVE_INFINITY): void {
    const known = this.#homes.get(sessionId);
    if (known === undefined || known.revision > revision) return;
    this.#remove(sessionId);
    this.#ended.set(sessionId, Number.isFinite(revision) ? revision : known.revision);
  }

  /** The id of a session that a v3 client can resume under that key; one of the last that was stored. */
  withResumeKey(key: string, { userId, owner, version }: AskingClient): string | undefined {
    let found: string | undefined;
    for (const [id, record] of this.#keyed) {
      const isTheirs = record.userId === userId && (record.owner ?? undefined) === owner && record.version === version;
      if (record.resumeKey === key && isTheirs) found = id;
    }
    return found;
  }

  #remove(sessionId: string): void {
    const { machineId = "" } = this.#homes.get(sessionId) ?? {};
    this.#homes.delete(sessionId);
    const ids = this.#machines.get(machineId);
    ids?.delete(sessionId);
    if (ids?.size === 0) this.#machines.delete(machineId);
  }

  #onEntry({ key, value, revision }: BucketEntry): void {
    const [kind, id = ""] = key.split("/");
    if (kind === "session") {
      const record = sessionRecord.safeParse(readJson(value)).data;
      this.#keyed.delete(id);
      if (record !== undefined && record.resumeKey !== null && this.#keyed.size < SESSIONS_MAX)
        this.#keyed.set(id, record);
      return;
    }
    const home = readHome({ value, revision });
    if (home === undefined) this.forget(id, revision);
    else this.learn(id, home);
    this.#options.onChanged(id);
  }
}

function readJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return plainJson(parseJson(text, { valueCountMax: VALUE_COUNT_MAX, stringLengthMax: text.length }));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
