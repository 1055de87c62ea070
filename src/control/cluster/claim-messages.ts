// What machines say to each other when the client of a session has come to another machine than its session. Main thread.

import { z } from "zod";

/** Whatever else a client says is no id, and no part of a key. */
export const SESSION_ID = /^[a-z0-9]{1,64}$/;

export const claimRequest = z.strictObject({
  sessionId: z.string().regex(SESSION_ID),
  userId: z.string(),
  owner: z.string().nullable(),
  version: z.enum(["3", "4"]),
});

export const claimAnswer = z.discriminatedUnion("kind", [
  /** It is the caller's from that revision of its owner record on. */
  z.strictObject({ kind: z.literal("given"), revision: z.int().positive() }),
  /** Its client is still there, or it is not that client's. */
  z.strictObject({ kind: z.literal("kept") }),
  /** It is not there, or cannot be given now. */
  z.strictObject({ kind: z.literal("unknown") }),
]);

export type ClaimAnswer = z.infer<typeof claimAnswer>;
