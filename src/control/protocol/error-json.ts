// The error object of the protocol (protocol-v4.md section 1.3). Main thread; made by api/api-error.ts.

import { z } from "zod";
import { type JsonOf, text } from "./json-of.ts";

/** `error` is the reason phrase of `status`. */
export type ErrorJson = JsonOf<typeof errorSchema>;

/** Schema of ErrorJson. */
export const errorSchema = z
  .strictObject({
    timestamp: z.int().describe("Epoch milliseconds"),
    status: z.int(),
    error: text,
    trace: text.optional().describe("Only with the query parameter trace"),
    message: text,
    path: text,
  })
  .meta({ id: "Error" });
