// The state of sources and plugins in GET /v4/tonearm/sources and /plugins. Main thread; made by plugin-host/manage.

import { z } from "zod";
import { type JsonOf, text } from "./json-of.ts";

/** The requests to one source, and their results. */
export type SourceCountsJson = JsonOf<typeof countsSchema>;
/** One entry of `GET /v4/tonearm/sources`. */
export type SourceJson = JsonOf<typeof sourceSchema>;
/** One entry of `GET /v4/tonearm/plugins`. */
export type PluginJson = JsonOf<typeof pluginSchema>;

const count = z.number().int();

const countsSchema = z
  .strictObject({
    succeeded: count,
    refused: count.describe("Answers of the site that a track is unavailable: private, region, age, paid"),
    failed: count,
    lastError: z.strictObject({ code: text, message: text, atMs: count.describe("Epoch milliseconds") }).nullable(),
  })
  .meta({ id: "SourceCounts" });

const backendSchema = z
  .strictObject({
    name: text,
    state: z
      .enum(["closed", "open", "halfOpen"])
      .describe(
        "State of its circuit breaker. closed: requests are sent; open: requests are refused until openUntilMs; halfOpen:" +
          " one trial request is running, others are refused",
      ),
    succeeded: count,
    failed: count,
    lastError: text.nullable(),
    openUntilMs: count
      .nullable()
      .describe("Epoch milliseconds at which a trial request may be sent; null: the breaker is closed"),
  })
  .meta({ id: "SourceBackend" });

const stateSchema = z
  .enum(["idle", "starting", "running", "resting", "off"])
  .describe("idle: starts when it is needed; resting: restarts after a pause; off: cannot be set up");

const sourceSchema = z
  .strictObject({
    name: text,
    plugin: text.nullable().describe("null: part of the node itself"),
    state: stateSchema,
    trouble: text.nullable().describe("Why it is off, or why its thread was lost last"),
    loads: countsSchema.nullable(),
    links: countsSchema.nullable(),
    backends: z.array(backendSchema).describe("Through which the site is reached: client identities, hosts, keys"),
  })
  .meta({ id: "Source" });

/** Schema of `GET /v4/tonearm/sources`, in the order in which sources are asked. */
export const sourcesSchema = z.array(sourceSchema).meta({ id: "Sources" });

/** Schema of the answer of `POST /v4/tonearm/plugins/{name}/reload`. */
export const pluginSchema = z
  .strictObject({
    name: text,
    version: text.nullable().describe("null: never set up so far"),
    isBuiltIn: z.boolean(),
    state: stateSchema,
    trouble: text.nullable(),
    losses: count.describe("Threads of it that were lost since the start"),
    sources: z.array(text),
    counts: z.record(text, count).describe("The plugin's own counters, since its thread started"),
    changedOptions: z
      .array(text)
      .describe("Options that were changed while the node runs, such as pot.token; its next start forgets that"),
  })
  .meta({ id: "Plugin" });

/** Schema of `GET /v4/tonearm/plugins`. */
export const pluginsSchema = z.array(pluginSchema).meta({ id: "Plugins" });
