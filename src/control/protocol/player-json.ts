// The Player object of the protocol (protocol-v4.md section 3.2). Main thread; made by players, sent by the API.

import { z } from "zod";
import { filterSettingsSchema } from "./filter-schemas.ts";
import { count, type JsonOf, text } from "./json-of.ts";
import { trackSchema } from "./track-json.ts";

/** At the moment the answer or message was made. */
export type PlayerStateJson = JsonOf<typeof playerStateSchema>;
/** As the client sent it, empty texts before that. */
export type VoiceStateJson = JsonOf<typeof voiceStateSchema>;
/** A player. `filters` are the requested ones, with all members filled in. */
export type PlayerJson = JsonOf<typeof playerSchema>;

const playerStateSchema = z
  .strictObject({
    time: z.int().describe("Epoch milliseconds of the node"),
    position: count.describe("Milliseconds; 0 without a track"),
    connected: z.boolean(),
    ping: z.int().describe("Milliseconds; -1 without a connection, 0 before the first heartbeat is acknowledged"),
  })
  .meta({ id: "PlayerState" });

const voiceStateSchema = z
  .strictObject({ token: text, endpoint: text, sessionId: text, channelId: text.nullable() })
  .meta({ id: "VoiceState" });

/** Schema of PlayerJson. */
export const playerSchema = z
  .strictObject({
    guildId: text,
    track: trackSchema.nullable(),
    volume: z.int().min(0).max(1000),
    paused: z.boolean(),
    state: playerStateSchema,
    voice: voiceStateSchema,
    filters: filterSettingsSchema,
  })
  .meta({ id: "Player" });

/** Schema of all players of a session. */
export const playersSchema = z.array(playerSchema).meta({ id: "Players" });
