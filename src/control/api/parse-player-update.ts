// From the body of PATCH player to the update a player carries out: the checks of protocol-v4.md section 2.7 step 2 in
// their order. Main thread. Nothing has changed when one of them fails.

import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import { NodeError } from "../../errors.ts";
import type { ModuleFilters } from "../../filters/module-filters.ts";
import { type JsonInteger, type JsonObject, jsonSizeBytes, toNumber } from "../../lib/json.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { isSnowflake } from "../../lib/snowflake.ts";
import { decodeTrack } from "../../track/track.ts";
import { allowedSources, type Limits } from "../access/identity.ts";
import type { PlayerUpdate, TrackChange } from "../players/player-update.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { checkedFilterSettings, filtersIn } from "./filter-settings.ts";
import type { PlayerBody, VoiceBody } from "./request-bodies.ts";

const VOLUME_MAX = 1000;
const VOICE_INCOMPLETE = "token, endpoint, sessionId and channelId must be provided in voice state";
/** In memory. It is sent with every event of its track. */
const USER_DATA_SIZE_MAX_BYTES = 256 * 1024;

/** Limits of the client that apply to an otherwise valid update. */
interface UpdateBounds {
  readonly disabledFilters: ReadonlySet<string>;
  readonly moduleFilters: ModuleFilters | undefined;
  /** Name of the key of the player's session; undefined: it may do everything. */
  readonly owner: string | undefined;
  readonly limits: Limits;
}

/** The current bounds of a session's key. */
export function updateBounds(
  { disabledFilters, moduleFilters, limitsOf }: Pick<ApiContext, "disabledFilters" | "moduleFilters" | "limitsOf">,
  owner: string | undefined,
): UpdateBounds {
  return { disabledFilters, moduleFilters, owner, limits: limitsOf(owner) };
}

/** Throws an ApiError, `track-undecodable` or `key-forbidden`. */
export function parsePlayerUpdate(body: PlayerBody, bounds: UpdateBounds): PlayerUpdate {
  const { encoded, identifier } = requestedTrack(body);
  checkFiltersEnabled(body, bounds);
  const voice = body.voice && checkedVoice(body.voice);
  if (body.endTime !== undefined && body.endTime !== null && body.endTime <= 0) {
    throw new ApiError(400, "End time must be greater than 0");
  }
  return {
    filters: body.filters && checkedFilterSettings(body.filters, bounds.moduleFilters),
    trackChange: trackChange({ encoded, identifier }, bounds),
    userData: body.track?.userData && checkedUserData(body.track.userData),
    positionMs: body.position === undefined ? undefined : Math.max(0, toSafeNumber(body.position)),
    endTimeMs: body.endTime === undefined || body.endTime === null ? body.endTime : toSafeNumber(body.endTime),
    volume: body.volume === undefined ? undefined : Math.min(Math.max(body.volume, 0), VOLUME_MAX),
    isPaused: body.paused,
    voice,
  };
}

interface RequestedTrack {
  readonly encoded: string | null | undefined;
  readonly identifier: string | undefined;
}

/** From the track object or from the deprecated fields, which exclude each other. */
function requestedTrack(body: PlayerBody): RequestedTrack {
  const { track, encodedTrack, identifier } = body;
  if (track !== undefined && (encodedTrack !== undefined || identifier !== undefined)) {
    throw new ApiError(400, "Cannot specify both track and encodedTrack/identifier");
  }
  const requested = track ?? { encoded: encodedTrack, identifier };
  if (requested.encoded !== undefined && requested.identifier !== undefined) {
    throw new ApiError(400, "Cannot specify both encodedTrack and identifier");
  }
  return { encoded: requested.encoded, identifier: requested.identifier };
}

function checkedUserData(userData: JsonObject): JsonObject {
  const sizeBytes = jsonSizeBytes(userData);
  if (sizeBytes <= USER_DATA_SIZE_MAX_BYTES) return userData;
  const limit = USER_DATA_SIZE_MAX_BYTES / 1024;
  throw new ApiError(400, `track.userData must be at most ${limit} KiB, but takes ${Math.ceil(sizeBytes / 1024)} KiB`);
}

function checkFiltersEnabled(
  { filters }: PlayerBody,
  { disabledFilters, moduleFilters, owner, limits }: UpdateBounds,
): void {
  if (!filters) return;
  const used = filtersIn(filters, moduleFilters);
  const forbidden = used.filter((name) => limits.filters?.has(name) === false);
  if (forbidden.length > 0) {
    throw new NodeError("key-forbidden", `the key ${owner} may not use these filters: ${forbidden.join(", ")}`);
  }
  const disabled = used.filter((name) => disabledFilters.has(name));
  if (disabled.length === 0) return;
  throw new ApiError(400, `Following filters are disabled in the config: ${disabled.join(", ")}`);
}

function checkedVoice(voice: VoiceBody): VoiceCredentials {
  const { token, endpoint, sessionId, channelId } = voice;
  if (channelId === null || [token, endpoint, sessionId].some(isBlank) || channelId?.trim() === "")
    throw new ApiError(400, VOICE_INCOMPLETE);
  if (channelId !== undefined && !isSnowflake(channelId)) {
    throw new ApiError(400, "voice.channelId must be the id of a channel, written as a string of digits");
  }
  if (!isHost(endpoint)) {
    throw new ApiError(400, "voice.endpoint must be a host name, with or without a port, as Discord sends it");
  }
  return { token, endpoint, sessionId, channelId };
}

function trackChange(
  { encoded, identifier }: RequestedTrack,
  { owner, limits }: UpdateBounds,
): TrackChange | undefined {
  const allowed = allowedSources({ name: owner, limits });
  if (identifier !== undefined) return { kind: "load", identifier, allowed };
  if (encoded === undefined) return undefined;
  if (encoded === null) return { kind: "stop" };
  const track = decodeTrack(encoded);
  allowed?.check(track.info.sourceName);
  return { kind: "play", track };
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** `host` or `host:port` and nothing else: it becomes part of an address that the node connects to. */
function isHost(endpoint: string): boolean {
  if (!/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(endpoint)) return false;
  return parseUrl(`wss://${endpoint}/`) !== undefined;
}

/** Milliseconds beyond 2^53 are as good as 2^53. */
function toSafeNumber(value: JsonInteger): number {
  return Math.min(Math.max(toNumber(value), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
