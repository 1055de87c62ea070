// The settings of a session as they are answered (protocol-v4.md section 2.10). Main thread; made by the API.

import { z } from "zod";
import { int64, type JsonOf } from "./json-of.ts";

/** The settings of a session: those of the client, or the defaults. */
export type SessionJson = JsonOf<typeof sessionSchema>;

/** Schema of SessionJson. */
export const sessionSchema = z
  .strictObject({ resuming: z.boolean(), timeout: int64.describe("Seconds") })
  .meta({ id: "Session" });
