// Reads the records of an earlier process back into sessions. The store has made sure that all are there; one that cannot
// be read all the same, as another version wrote it differently, costs only what it is about. Main thread; at the start.

import { type JsonValue, parseJson, plainJson } from "../../lib/json.ts";
import type { StateRecord } from "../../state/state-store.ts";
import { onOtherClock, type PlayerIntent } from "../players/player-intent.ts";
import { readStoredPlayer } from "../players/stored-player.ts";
import type { KeptValue } from "../sessions/kept-values.ts";
import type { LeftOver } from "../sessions/session.ts";
import { messageRecord, readName, recordKey, type SessionRecord, sessionRecord } from "./session-records.ts";

/** What a client may send in one request, four times: user data, filters, and the track of each. */
const VALUE_COUNT_MAX = 65_536;

export interface StoredSession {
  readonly id: string;
  readonly record: SessionRecord;
  readonly players: readonly { readonly guildId: string; readonly intent: PlayerIntent }[];
  readonly kept: readonly KeptValue[];
  readonly messages: LeftOver["messages"];
  /** Of all its records. */
  readonly keys: readonly string[];
}

export interface ReadRecords {
  readonly sessions: readonly StoredSession[];
  /** Keys of what is left of sessions that have ended, and of records that cannot be read. */
  readonly useless: readonly string[];
  /** Keys of those that cannot be read. */
  readonly unreadable: readonly string[];
}

interface Parts {
  record: SessionRecord | undefined;
  readonly keys: string[];
  readonly players: Map<string, JsonValue>;
  readonly tracks: Map<string, JsonValue>;
  readonly kept: KeptValue[];
  readonly messages: LeftOver["messages"][number][];
}

/**
 * `records`: in the order of their keys. `offsetMs`: how much the clock that they were written by is ahead of this one's.
 * Never throws.
 */
export function readRecords(records: readonly StateRecord[], offsetMs = 0): ReadRecords {
  const parts = new Map<string, Parts>();
  const unreadable: string[] = [];
  for (const { key, value } of records) {
    const [kind = "", id = "", ...rest] = key.split("/");
    const ofSession = parts.get(id) ?? newParts();
    parts.set(id, ofSession);
    ofSession.keys.push(key);
    if (!addRecord(ofSession, { kind, rest, value })) unreadable.push(key);
  }
  const sessions: StoredSession[] = [];
  const left: string[] = [];
  for (const [id, ofSession] of parts) {
    const { record, keys, kept, messages } = ofSession;
    if (record === undefined) {
      left.push(...keys);
      continue;
    }
    const players = playersOf(id, ofSession, { offsetMs, unreadable });
    sessions.push({ id, record: recordOnOtherClock(record, -offsetMs), players, kept, messages, keys });
  }
  return { sessions, useless: [...left, ...unreadable], unreadable };
}

/** The players of one session and what is kept for its guilds, from records as those of `readRecords`. Never throws. */
export function readPlayers(
  id: string,
  records: readonly StateRecord[],
  offsetMs = 0,
): Pick<StoredSession, "players" | "kept"> & Pick<ReadRecords, "unreadable"> {
  const unreadable: string[] = [];
  const parts = newParts();
  for (const { key, value } of records) {
    const [kind = "", , ...rest] = key.split("/");
    if (!addRecord(parts, { kind, rest, value })) unreadable.push(key);
  }
  return { players: playersOf(id, parts, { offsetMs, unreadable }), kept: parts.kept, unreadable };
}

function playersOf(
  id: string,
  parts: Pick<Parts, "players" | "tracks">,
  { offsetMs, unreadable }: { readonly offsetMs: number; readonly unreadable: string[] },
): StoredSession["players"] {
  const players: StoredSession["players"][number][] = [];
  for (const [guildId, json] of parts.players) {
    const intent = readStoredPlayer(json, parts.tracks.get(guildId));
    if (intent === undefined) unreadable.push(recordKey.player(id, guildId), recordKey.track(id, guildId));
    else players.push({ guildId, intent: onOtherClock(intent, -offsetMs) });
  }
  return players;
}

function recordOnOtherClock(record: SessionRecord, offsetMs: number): SessionRecord {
  const { deadlineEpochMs } = record;
  return deadlineEpochMs === null ? record : { ...record, deadlineEpochMs: deadlineEpochMs + offsetMs };
}

function newParts(): Parts {
  return { record: undefined, keys: [], players: new Map(), tracks: new Map(), kept: [], messages: [] };
}

/** False: it is not what a record of its kind is. */
function addRecord(
  parts: Parts,
  { kind, rest, value }: { readonly kind: string; readonly rest: readonly string[]; readonly value: string },
): boolean {
  const [place = ""] = rest;
  if (kind === "kept") {
    if (rest.length !== 2 || readJson(value) === undefined) return false;
    parts.kept.push({ guildId: place, plugin: readName(rest[1] ?? ""), json: value });
    return true;
  }
  const json = readJson(value);
  if (json === undefined) return false;
  switch (kind) {
    case "session": {
      parts.record = sessionRecord.safeParse(json).data;
      return parts.record !== undefined && rest.length === 0;
    }
    case "player":
      parts.players.set(place, json);
      return rest.length === 1;
    case "track":
      parts.tracks.set(place, json);
      return rest.length === 1;
    case "message": {
      const { data } = messageRecord.safeParse(json);
      if (data === undefined || !/^\d+$/.test(place)) return false;
      parts.messages.push({ ...data, number: Number(place) });
      return rest.length === 1;
    }
    default:
      return false;
  }
}

function readJson(text: string): JsonValue | undefined {
  try {
    return plainJson(parseJson(text, { valueCountMax: VALUE_COUNT_MAX, stringLengthMax: text.length }));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
