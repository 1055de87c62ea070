// The form of a record `shared/<plugin>/<id>`: a value that a plugin shares with its other machines, or the note that sites
// refuse one. Its times are told by the clock of the NATS servers. Main thread; part of shared-knowledge.ts.

import { createHash } from "node:crypto";
import { z } from "zod";
import { readJson } from "./read-json.ts";

/** Of the JSON of one value, and of all that names it. */
export const VALUE_BYTES_MAX = 16 * 1024;
const NAME_LENGTH_MAX = 1000;

const names = {
  scope: z.string().max(100),
  cache: z.string().max(NAME_LENGTH_MAX),
  key: z.string().max(NAME_LENGTH_MAX),
  /** The machine that wrote it. */
  by: z.string().max(100),
};

const sharedRecord = z.discriminatedUnion("kind", [
  z.looseObject({
    kind: z.literal("value"),
    ...names,
    json: z
      .string()
      .max(VALUE_BYTES_MAX)
      .refine((json) => readJson(json) !== undefined),
    untilEpochMs: z.number(),
    isPersisted: z.boolean(),
  }),
  z.looseObject({ kind: z.literal("refused"), ...names, digest: z.string().max(100) }),
]);

export type SharedRecord = z.infer<typeof sharedRecord>;

/** Undefined: it is not what such a record is. */
export function readShared(text: string): SharedRecord | undefined {
  return sharedRecord.safeParse(readJson(text)).data;
}

/** By which a refused value is recognised, and not learnt. */
export function digestOf(json: string): string {
  return createHash("sha256").update(json).digest("base64url");
}

/** What a value takes of the bounds; more than `VALUE_BYTES_MAX`: it is not shared. */
export function sizeOf({ cache, key, json }: Record<"cache" | "key" | "json", string>): number {
  const isNamed = cache.length <= NAME_LENGTH_MAX && key.length <= NAME_LENGTH_MAX;
  return isNamed ? Buffer.byteLength(cache) + Buffer.byteLength(key) + Buffer.byteLength(json) : Infinity;
}
