// The bodies that requests may carry (protocol-v4.md section 2), and how a body is read. Main thread.

import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import { ApiError, badRequest } from "./api-error.ts";
import { filtersBody } from "./filter-settings.ts";
import { booleanField, int32Field, int64Field, objectField, textField } from "./json-fields.ts";

/** PATCH /v4/sessions/{sessionId}. `timeout` is in seconds. */
export const sessionBody = z
  .object({ resuming: booleanField.optional(), timeout: int64Field.optional() })
  .meta({ id: "SessionUpdate" });

/** POST /v4/decodetracks. */
export const decodeTracksBody = z.array(textField).meta({ id: "EncodedTracks" });

/** POST /v4/routeplanner/free/address. */
export const freeAddressBody = z.object({ address: textField }).meta({ id: "FreeAddress" });

const trackBody = z
  .object({
    encoded: textField.nullable().optional(),
    identifier: textField.optional(),
    userData: objectField.optional(),
  })
  .meta({ id: "TrackUpdate" });

const voiceBody = z
  .object({
    token: textField,
    endpoint: textField,
    sessionId: textField,
    /** Required since 4.2; clients from before leave it out. */
    channelId: textField.nullable().optional(),
  })
  .meta({ id: "VoiceUpdate" });

/** PATCH /v4/sessions/{sessionId}/players/{guildId}. `position` and `endTime` are milliseconds. */
export const playerBody = z
  .object({
    track: trackBody.optional(),
    encodedTrack: textField.nullable().optional(),
    identifier: textField.optional(),
    position: int64Field.optional(),
    endTime: int64Field.nullable().optional(),
    volume: int32Field.optional(),
    paused: booleanField.optional(),
    filters: filtersBody.optional(),
    voice: voiceBody.optional(),
  })
  .meta({ id: "PlayerUpdate" });

export type PlayerBody = z.output<typeof playerBody>;
export type VoiceBody = z.output<typeof voiceBody>;

/** Parses the text of a request's body, or throws the published 400 or 415. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  { contentType, text }: { contentType: string | undefined; text: string },
): z.output<Schema> {
  checkContentType(contentType, text);
  const result = schema.safeParse(parseText(text));
  if (result.success) return result.data;
  throw badRequest(z.prettifyError(result.error));
}

function parseText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw badRequest(error);
  }
}

function checkContentType(contentType: string | undefined, text: string): void {
  if (contentType === undefined) {
    if (text === "") throw badRequest("the request has no body");
    throw new ApiError(415, "Content-Type 'application/octet-stream' is not supported.");
  }
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json" || /^application\/[^/]+\+json$/.test(type)) return;
  // The published server names the character set that it assumes.
  const shown = /;\s*charset=/i.test(contentType) ? contentType : `${contentType};charset=UTF-8`;
  throw new ApiError(415, `Content-Type '${shown}' is not supported.`);
}
