// The messages that bots send to Discord's main gateway and REST API, as far as the fake inspects them. The limits are
// those of Discord's documentation; members that the fake does not inspect are accepted.

import { z } from "zod";

const snowflake = z.string().regex(/^\d{17,20}$/);
const commandName = z.string().regex(/^[-_\p{Ll}\p{N}]{1,32}$/u);
const description = z.string().min(1).max(100);

/** Any message to the gateway. */
export const envelope = z.object({ op: z.int(), d: z.unknown() });

/** Op 2. */
export const identifyPayload = z.object({
  token: z.string(),
  intents: z.int().min(0),
  properties: z.object({ os: z.string(), browser: z.string(), device: z.string() }),
  shard: z.tuple([z.literal(0), z.literal(1)]).optional(),
});

/** Op 4: a bot that joins, moves or leaves. */
export const voiceStateRequest = z.object({
  guild_id: snowflake,
  channel_id: snowflake.nullable(),
  self_mute: z.boolean(),
  self_deaf: z.boolean(),
});

/** Body of `PUT /applications/{id}/commands`: slash commands only. */
export const commandList = z
  .array(
    z.object({
      name: commandName,
      description,
      type: z.literal(1).optional(),
      options: z
        .array(
          z.object({
            name: commandName,
            description,
            /** 3: a text; the only one that can be typed at this fake. */
            type: z.literal(3),
            required: z.boolean().optional(),
          }),
        )
        .max(25)
        .optional(),
    }),
  )
  .max(100);

export type Command = z.infer<typeof commandList>[number];

const message = z.object({ content: z.string().min(1).max(2000) });

/** Body of `POST /interactions/{id}/{token}/callback`: an answer (4), or the announcement of one (5). */
export const interactionCallback = z.discriminatedUnion("type", [
  z.object({ type: z.literal(4), data: message }),
  z.object({ type: z.literal(5) }),
]);

/** Body of `PATCH /webhooks/{application}/{token}/messages/@original`. */
export const messageEdit = message;
