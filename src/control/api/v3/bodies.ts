// The bodies of v3 clients, over REST and as operations on the WebSocket, and their conversion to v4 (protocol-v4.md
// section 2.11). Main thread. Everything behind it is the same for both.

import { z } from "zod";
import { type FiltersBody, filtersBody, pluginFiltersBody } from "../../protocol/filter-schemas.ts";
import { booleanField, int32Field, int64Field, textField } from "../../protocol/json-fields.ts";
import { ApiError } from "../api-error.ts";
import { encodedField, type PlayerBody, playerBody } from "../request-bodies.ts";

/** PATCH /v3/sessions/{sessionId}. The key is null where the session is not to be resumed; `timeout` is in seconds. */
export const v3SessionBody = z.object({
  resumingKey: textField.nullable().optional(),
  timeout: int64Field.optional(),
});

/** Plugin filters stand among the others. */
const v3FiltersBody = filtersBody.omit({ pluginFilters: true }).extend(pluginFiltersBody.shape).loose();

/** PATCH /v3/sessions/{sessionId}/players/{guildId}. */
export const v3PlayerBody = playerBody.omit({ track: true, voice: true }).extend({
  filters: v3FiltersBody.optional(),
  voice: z
    .object({ token: textField.optional(), endpoint: textField.optional(), sessionId: textField.optional() })
    .optional(),
});

export function playerBodyOfV3({ voice, filters, ...others }: z.output<typeof v3PlayerBody>): PlayerBody {
  const body = { ...others, filters: filters && filtersBodyOfV3(filters) };
  if (voice === undefined) return body;
  const { token = "", endpoint = "", sessionId = "" } = voice;
  if (token === "" || endpoint === "" || sessionId === "") {
    throw new ApiError(400, "Partial voice state update: token, endpoint and sessionId must be provided");
  }
  return { ...body, voice: { token, endpoint, sessionId } };
}

function filtersBodyOfV3(filters: z.output<typeof v3FiltersBody>): FiltersBody {
  return { ...filters, pluginFilters: filters };
}

const guildId = int64Field;

/** Everything a client of v3 may say on the WebSocket. */
export const v3Operation = z.discriminatedUnion("op", [
  z.object({
    op: z.literal("voiceUpdate"),
    guildId,
    sessionId: textField,
    event: z.object({ token: textField, endpoint: textField }),
  }),
  z.object({
    op: z.literal("play"),
    guildId,
    track: encodedField,
    startTime: int64Field.optional(),
    endTime: int64Field.optional(),
    volume: int32Field.optional(),
    noReplace: booleanField.optional(),
    pause: booleanField.optional(),
  }),
  z.object({ op: z.literal("stop"), guildId }),
  z.object({ op: z.literal("destroy"), guildId }),
  z.object({ op: z.literal("pause"), guildId, pause: booleanField }),
  z.object({ op: z.literal("seek"), guildId, position: int64Field }),
  z.object({ op: z.literal("volume"), guildId, volume: int32Field }),
  z.object({ op: z.literal("equalizer"), guildId, bands: filtersBody.shape.equalizer.unwrap() }),
  v3FiltersBody.extend({ op: z.literal("filters"), guildId }),
  z.object({
    op: z.literal("configureResuming"),
    key: textField.nullable().optional(),
    timeout: int64Field.optional(),
  }),
]);

export type V3Operation = z.output<typeof v3Operation>;
/** One that is about a player. */
export type V3PlayerOperation = Exclude<V3Operation, { op: "configureResuming" | "destroy" }>;

/** The body that a v4 client would have sent. `filters` are those the player has. */
export function playerBodyOf(operation: V3PlayerOperation, filters: PlayerBody["filters"]): PlayerBody {
  switch (operation.op) {
    case "voiceUpdate":
      return { voice: { ...operation.event, sessionId: operation.sessionId } };
    case "play": {
      const { track, startTime, endTime, volume, pause } = operation;
      const endsAt = endTime !== undefined && endTime > 0 ? endTime : undefined;
      return { encodedTrack: track, position: startTime, endTime: endsAt, volume, paused: pause };
    }
    case "stop":
      return { encodedTrack: null };
    case "pause":
      return { paused: operation.pause };
    case "seek":
      return { position: operation.position };
    case "volume":
      return { volume: operation.volume };
    case "equalizer":
      return { filters: { ...filters, equalizer: operation.bands } };
    case "filters":
      return { filters: filtersBodyOfV3(operation) };
  }
}
