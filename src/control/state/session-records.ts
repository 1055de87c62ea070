// The records of a session and their keys. Main thread; state-recorder.ts writes them, read-records.ts reads them.
//
//   session/<session>                   who it is of, its settings, how long it waits for its client
//   player/<session>/<guild>            volume, filters, pause, voice, and where its track is
//   track/<session>/<guild>             the track, which may be large and changes less often
//   message/<session>/<number>          a message that waits for the client; 12 digits, so that keys sort as they were sent
//   kept/<session>/<guild>/<plugin>     a value that a plugin keeps; its name in hexadecimal digits
//
// In a cluster player, track and kept are written by the machine that the player is on, and also:
//
//   place/<session>/<guild>             which machine that is; none: the one that has the session
//   relay/<session>/<machine>/<number>  a message of a player on that machine, not yet taken by the one that has the session

import { z } from "zod";
import type { RecordedSession } from "../sessions/session-recorder.ts";

const NUMBER_DIGITS = 12;

/** Of one kind each, by what its key holds beside the session. */
export const recordKey = {
  session: (sessionId: string): string => `session/${sessionId}`,
  player: (sessionId: string, guildId: string): string => `player/${sessionId}/${guildId}`,
  track: (sessionId: string, guildId: string): string => `track/${sessionId}/${guildId}`,
  message: (sessionId: string, number: number): string =>
    `message/${sessionId}/${String(number).padStart(NUMBER_DIGITS, "0")}`,
  place: (sessionId: string, guildId: string): string => `place/${sessionId}/${guildId}`,
  relay: (sessionId: string, machineId: string, number: number): string =>
    `relay/${sessionId}/${machineId}/${String(number).padStart(NUMBER_DIGITS, "0")}`,
  kept: (sessionId: string, guildId: string, plugin: string): string =>
    `kept/${sessionId}/${guildId}/${Buffer.from(plugin).toString("hex")}`,
} as const;

/** A message that waits for its client, or for the machine that has its session. */
export function isMessageKey(key: string): boolean {
  return key.startsWith("message/") || key.startsWith("relay/");
}

/** The name in a key: in hexadecimal digits, as a key cannot hold every character. */
export function readName(digits: string): string {
  return Buffer.from(digits, "hex").toString();
}

const integer = z.union([z.int(), z.bigint()]);

/** The value of `session/…`. */
export const sessionRecord = z.strictObject({
  userId: z.string(),
  clientName: z.string().nullable(),
  version: z.enum(["3", "4"]),
  /** The name of its key; null: opened with the password. */
  owner: z.string().nullable(),
  account: z.string(),
  timeout: integer,
  resumeKey: z.string().nullable(),
  /** When it ends if its client does not come back, Unix epoch milliseconds; null: the client was there. */
  deadlineEpochMs: z.number().nullable(),
  /** The number of the last message taken from each machine that has players of it. */
  taken: z.record(z.string(), z.int()).optional(),
});

export type SessionRecord = z.infer<typeof sessionRecord>;

/** The value of `message/…` and `relay/…`. */
export const messageRecord = z.strictObject({
  topic: z.string(),
  text: z.string(),
  /** See `QueuedMessage`. */
  from: z.strictObject({ machineId: z.string(), number: z.int() }).optional(),
});

export function sessionRecordOf(session: RecordedSession, epochMs: number): SessionRecord {
  const { userId, clientName, dialect, owner, account, timeout, resumeKey, waitMs, taken } = session;
  return {
    userId,
    clientName: clientName ?? null,
    version: dialect.version,
    owner: owner ?? null,
    account,
    timeout,
    resumeKey,
    deadlineEpochMs: waitMs === undefined ? null : Math.min(Number.MAX_SAFE_INTEGER, Math.round(epochMs + waitMs)),
    ...(taken.size > 0 && { taken: Object.fromEntries(taken) }),
  };
}
