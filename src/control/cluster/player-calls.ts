// What the machine that has a session says to those that have players of it, and what these say to it. Main thread; both
// sides read by it what the other has sent.

import { z } from "zod";
import { SESSION_ID } from "./claim-messages.ts";

/** Kind of the calls to a machine that has, or is to have, players of a session: `playerCall`. */
export const PLAYERS = "players";
/** Kind of the calls to the machine that has the session: `messagesCall`. */
export const MESSAGES = "messages";

const sessionId = z.string().regex(SESSION_ID);
const guildId = z.string().regex(/^-?\d{1,20}$/);
/** The revision of the owner record of the session: a call of an older one is of a machine that has lost it. */
const epoch = z.int().positive();
const number = z.int().positive();

/** A record that the session's machine has written after the last writes of the machine that had the players before. */
const atLeast = z.strictObject({
  key: z.string().regex(/^place\/[a-z0-9]{1,64}\/-?\d{1,20}$/),
  revision: z.int().positive(),
});

/** What a remote session is opened with. */
const session = z.strictObject({
  id: sessionId,
  userId: z.string(),
  clientName: z.string().nullable(),
  owner: z.string().nullable(),
  account: z.string(),
});

export type RemoteSessionInfo = z.infer<typeof session>;

export const playerCall = z.discriminatedUnion("kind", [
  /** A request of a client about the player of a guild, or (null) about the list of players. Answered as by REST. */
  z.strictObject({ kind: z.literal("request"), session, epoch, guildId: guildId.nullable(), request: z.string() }),
  /**
   * These are to be there: those that are not are made again from their records, and go on. `atLeast`: they are read as they
   * are once that record is there; without it, once the owner record of that epoch is. Answer: `ensureAnswer`.
   */
  z.strictObject({
    kind: z.literal("ensure"),
    ...{ session, epoch, guildIds: z.array(guildId).max(10_000) },
    atLeast: atLeast.optional(),
  }),
  /**
   * These are to end here without a word to the client, stored as they are: they go on elsewhere. `isIdleOnly`: only those
   * that do not sound. Answer: `releaseAnswer`.
   */
  z.strictObject({
    kind: z.literal("release"),
    ...{ sessionId, epoch, guildIds: z.array(guildId).max(10_000), isIdleOnly: z.boolean() },
  }),
  /** Whether there is a player of the guild, or anything that is kept for it. Answer: `holdsAnswer`. */
  z.strictObject({ kind: z.literal("holds"), sessionId, epoch, guildId }),
  /** The client is back: it is to be sent where each player is. Answer: empty. */
  z.strictObject({ kind: z.literal("sendUpdates"), sessionId, epoch }),
  /** The session has ended, and is to end here. Answer, when that is stored: empty. */
  z.strictObject({ kind: z.literal("end"), sessionId, epoch }),
]);

export type PlayerCall = z.infer<typeof playerCall>;

/** `missing`: those that have no records, so that there is nothing to make them from. */
export const ensureAnswer = z.strictObject({ missing: z.array(guildId) });
/** `released`: those that have ended there, and are stored; all others are still there. */
export const releaseAnswer = z.strictObject({ released: z.array(guildId) });
export const holdsAnswer = z.strictObject({ holds: z.boolean() });

export const messagesCall = z.strictObject({
  sessionId,
  messages: z
    .array(z.strictObject({ number: number.optional(), topic: z.string(), text: z.string() }))
    .min(1)
    .max(1000),
});

export const messagesAnswer = z.discriminatedUnion("kind", [
  /** The client has them, or will get them whatever happens to this machine. */
  z.strictObject({ kind: z.literal("taken") }),
  /** The session is not here, or not any more, or not yet. */
  z.strictObject({ kind: z.literal("elsewhere") }),
]);
