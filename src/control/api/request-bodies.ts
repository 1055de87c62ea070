// The bodies that requests may carry (protocol-v4.md section 2), and how a body is read. Main thread.

import { z } from "zod";
import { JsonLimitError, type JsonTree, parseJson } from "../../lib/json.ts";
import { MODIFIED_UTF8_BYTES_MAX } from "../../lib/modified-utf8.ts";
import { ENCODED_LENGTH_MAX } from "../../track/encoded-track.ts";
import { filtersBody } from "../protocol/filter-schemas.ts";
import {
  booleanField,
  int32Field,
  int64Field,
  listField,
  longTextField,
  objectField,
  textField,
} from "../protocol/json-fields.ts";
import { ApiError, badRequest } from "./api-error.ts";

/** Length of a text that names a track or an address: an encoded track cannot hold a longer one. */
const IDENTIFIER_LENGTH_MAX = MODIFIED_UTF8_BYTES_MAX;
/** A whole body of 4 MiB holds 20,000 tracks of usual length. */
const DECODED_COUNT_MAX = 65_536;
/** As many, and the array. */
const VALUE_COUNT_MAX = DECODED_COUNT_MAX + 1;

/** An encoded track as a client sends it: no longer than the longest that can be written. */
export const encodedField = longTextField(ENCODED_LENGTH_MAX);

/** PATCH /v4/sessions/{sessionId}. `timeout` is in seconds. */
export const sessionBody = z
  .object({ resuming: booleanField.optional(), timeout: int64Field.optional() })
  .meta({ id: "SessionUpdate" });

/** POST /v4/decodetracks. */
export const decodeTracksBody = listField(encodedField, {
  countMax: DECODED_COUNT_MAX,
  isItem: (value) => typeof value === "string" && value.length <= ENCODED_LENGTH_MAX,
}).meta({ id: "EncodedTracks" });

/** PATCH /v4/tonearm/plugins/{name}/options: the plugin says which there are. */
export const pluginOptionsBody = objectField.meta({ id: "PluginOptions", type: "object" });

/** POST /v4/routeplanner/free/address. */
export const freeAddressBody = z.object({ address: longTextField(IDENTIFIER_LENGTH_MAX) }).meta({ id: "FreeAddress" });

const trackBody = z
  .object({
    encoded: encodedField.nullable().optional(),
    identifier: longTextField(IDENTIFIER_LENGTH_MAX).optional(),
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
    encodedTrack: encodedField.nullable().optional(),
    identifier: longTextField(IDENTIFIER_LENGTH_MAX).optional(),
    position: int64Field.optional(),
    endTime: int64Field.nullable().optional(),
    volume: int32Field.optional(),
    paused: booleanField.optional(),
    filters: filtersBody.optional(),
    voice: voiceBody.optional(),
  })
  .meta({ id: "PlayerUpdate" });

/** `playerBody`, read; `parsePlayerUpdate` checks the rest and makes a `PlayerUpdate` of it. */
export type PlayerBody = z.output<typeof playerBody>;
/** The parsed `voice` member. */
export type VoiceBody = z.output<typeof voiceBody>;

/** Parses the text of a request's body, or throws the published 400 or 415, or a 400 that names the bound it breaks. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  { contentType, text }: { contentType: string | undefined; text: string },
): z.output<Schema> {
  checkContentType(contentType, text);
  const result = schema.safeParse(parseText(text, schema));
  if (result.success) return result.data;
  const tooBig = result.error.issues.find((issue) => issue.code === "too_big");
  if (tooBig !== undefined) throw new ApiError(400, tooBigText(tooBig));
  throw badRequest(z.prettifyError(result.error));
}

function parseText(text: string, schema: z.ZodType): JsonTree {
  try {
    // Only lists of tracks may be long.
    return parseJson(text, (schema as z.ZodType) === decodeTracksBody ? { valueCountMax: VALUE_COUNT_MAX } : {});
  } catch (error) {
    if (error instanceof JsonLimitError) throw new ApiError(400, `The body is refused: ${error.message}`);
    throw badRequest(error);
  }
}

function tooBigText({ path, origin, maximum }: z.core.$ZodIssueTooBig): string {
  const location = path.length === 0 ? "the body" : z.core.toDotPath(path);
  return origin === "array"
    ? `${location} must hold at most ${maximum} items`
    : `${location} must have at most ${maximum} characters`;
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
