// The settings of a session as they are answered (protocol-v4.md section 2.10). Main thread; made by the API.

import { z } from "zod";
import { int64, type JsonOf } from "./json-of.ts";

/** What a client has set, or what holds until it does. */
export type SessionJson = JsonOf<typeof sessionSchema>;

/** Of SessionJson. */
export const sessionSchema = z
  .strictObject({ resuming: z.boolean(), timeout: int64.describe("Seconds") })
  .meta({ id: "Session" });
