// What answers look like, for the OpenAPI document; the tests hold real answers against it. Main thread. Each schema is
// checked by the compiler against the type of the value that is sent.

import { z } from "zod";
import type { JsonInteger, JsonObject } from "../../lib/json.ts";
import type { ErrorJson } from "../protocol/error-json.ts";
import type { InfoJson } from "../protocol/info-json.ts";
import type { ExceptionJson, LoadResultJson, PlaylistJson } from "../protocol/load-result-json.ts";
import type { LoadJson, OverloadJson } from "../protocol/node-load-json.ts";
import type { PlayerJson, PlayerStateJson, VoiceStateJson } from "../protocol/player-json.ts";
import type { RoutePlannerJson } from "../protocol/route-planner-json.ts";
import type { StatsJson } from "../protocol/stats-json.ts";
import type { TrackInfo, TrackJson } from "../protocol/track-json.ts";
import { filterSettingsSchema } from "./filter-schemas.ts";

const text = z.string();
/** Beyond 2^53 too, so not the integer of the library, which ends there. */
const int64 = z.custom<JsonInteger>().meta({ type: "integer", format: "int64" });
const count = z.int().min(0);
const openObject = z.custom<JsonObject>().meta({ type: "object" });
/** A share of the whole, 0 to 1. */
const share = z.number().min(0).max(1);

export const errorSchema: z.ZodType<Omit<ErrorJson, "trace"> & { readonly trace?: string | undefined }> = z
  .strictObject({
    timestamp: z.int().describe("Epoch milliseconds"),
    status: z.int(),
    error: text,
    trace: text.optional().describe("Only with the query parameter trace"),
    message: text,
    path: text,
  })
  .meta({ id: "Error" });

const trackInfoSchema: z.ZodType<TrackInfo> = z
  .strictObject({
    identifier: text,
    isSeekable: z.boolean(),
    author: text,
    length: int64.describe("Milliseconds; 9223372036854775807 for streams and where it is not known"),
    isStream: z.boolean(),
    position: int64.describe("Milliseconds"),
    title: text,
    uri: text.nullable(),
    sourceName: text,
    artworkUrl: text.nullable(),
    isrc: text.nullable(),
  })
  .meta({ id: "TrackInfo" });

export const trackSchema: z.ZodType<TrackJson> = z
  .strictObject({ encoded: text, info: trackInfoSchema, pluginInfo: openObject, userData: openObject })
  .meta({ id: "Track" });

export const tracksSchema: z.ZodType<readonly TrackJson[]> = z.array(trackSchema).meta({ id: "Tracks" });

const exceptionSchema: z.ZodType<ExceptionJson> = z
  .strictObject({
    message: text.nullable(),
    severity: z.enum(["common", "suspicious", "fault"]),
    cause: text,
    causeStackTrace: text,
  })
  .meta({ id: "Exception" });

const playlistSchema: z.ZodType<PlaylistJson> = z
  .strictObject({
    info: z.strictObject({ name: text, selectedTrack: z.int().describe("Index, -1 for none") }),
    pluginInfo: openObject,
    tracks: z.array(trackSchema),
  })
  .meta({ id: "Playlist" });

export const loadResultSchema: z.ZodType<LoadResultJson> = z
  .union([
    z.strictObject({ loadType: z.literal("track"), data: trackSchema }),
    z.strictObject({ loadType: z.literal("playlist"), data: playlistSchema }),
    z.strictObject({ loadType: z.literal("search"), data: z.array(trackSchema) }),
    z.strictObject({ loadType: z.literal("empty"), data: z.null() }),
    z.strictObject({ loadType: z.literal("error"), data: exceptionSchema }),
  ])
  .meta({ id: "LoadResult" });

const playerStateSchema: z.ZodType<PlayerStateJson> = z
  .strictObject({
    time: z.int().describe("Epoch milliseconds of the node"),
    position: count.describe("Milliseconds; 0 without a track"),
    connected: z.boolean(),
    ping: z.int().describe("Milliseconds; -1 without a connection, 0 before the first heartbeat is acknowledged"),
  })
  .meta({ id: "PlayerState" });

const voiceStateSchema: z.ZodType<VoiceStateJson> = z
  .strictObject({ token: text, endpoint: text, sessionId: text, channelId: text.nullable() })
  .meta({ id: "VoiceState" });

export const playerSchema: z.ZodType<PlayerJson> = z
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

export const playersSchema: z.ZodType<readonly PlayerJson[]> = z.array(playerSchema).meta({ id: "Players" });

export const sessionSchema: z.ZodType<{ readonly resuming: boolean; readonly timeout: JsonInteger }> = z
  .strictObject({ resuming: z.boolean(), timeout: int64.describe("Seconds") })
  .meta({ id: "Session" });

export const infoSchema: z.ZodType<InfoJson> = z
  .strictObject({
    version: z.strictObject({ semver: text, major: count, minor: count, patch: count, preRelease: text }),
    buildTime: z.int().describe("Epoch milliseconds, -1 if unknown"),
    git: z.strictObject({ branch: text, commit: text, commitTime: z.int().describe("Epoch milliseconds") }),
    jvm: text,
    lavaplayer: text,
    audioLibrary: text.describe("The same as lavaplayer"),
    sourceManagers: z.array(text),
    filters: z.array(text),
    plugins: z.array(z.strictObject({ name: text, version: text })),
  })
  .meta({ id: "Info" });

const complexity = z.int().min(0).max(10);

const overloadSchema: z.ZodType<OverloadJson> = z
  .strictObject({ hasRoom: z.boolean(), complexity, complexityMax: complexity })
  .meta({ id: "Overload" });

export const statsSchema: z.ZodType<StatsJson> = z
  .strictObject({
    frameStats: z
      .strictObject({ sent: count, nulled: count, deficit: z.int() })
      .nullable()
      .describe("Always null over REST"),
    players: count,
    playingPlayers: count,
    uptime: count.describe("Milliseconds"),
    memory: z.strictObject({ free: count, used: count, allocated: count, reservable: count }),
    cpu: z.strictObject({ cores: count, systemLoad: share, lavalinkLoad: share }),
    tonearm: overloadSchema.optional().describe("Only while the node holds back, as its audio threads are busy"),
  })
  .meta({ id: "Stats" });

const milliseconds = z.number().min(0);

export const loadSchema: z.ZodType<LoadJson> = z
  .strictObject({
    hasRoom: z.boolean().describe("False: a player that is silent now would be refused"),
    refused: count,
    moved: count.describe("Players whose sound has gone to a thread with less to do, while they were heard"),
    encoder: z.strictObject({
      complexity: complexity.describe("Now"),
      complexityMax: complexity.describe("Configured"),
    }),
    hasSpareWorker: z.boolean(),
    workers: z.array(
      z.strictObject({
        index: count,
        isAlone: z.boolean().describe("Its one player is kept apart from the others"),
        isReady: z.boolean(),
        players: count,
        playingPlayers: count,
        load: share.describe("Share of a core"),
        tickLoad: share.describe("What of that is making and sending frames"),
        latenessP99: milliseconds,
        latenessMax: milliseconds,
        framesSent: count,
        framesLost: count,
      }),
    ),
  })
  .meta({ id: "Load" });

const numberText = z.string().regex(/^\d+$/);

export const routePlannerSchema: z.ZodType<RoutePlannerJson> = z
  .strictObject({
    class: z.enum([
      "RotatingIpRoutePlanner",
      "NanoIpRoutePlanner",
      "RotatingNanoIpRoutePlanner",
      "BalancingIpRoutePlanner",
    ]),
    details: z.strictObject({
      ipBlock: z.strictObject({
        type: z.enum(["Inet4Address", "Inet6Address"]),
        size: numberText.describe("Addresses of all blocks"),
      }),
      failingAddresses: z.array(
        z.strictObject({
          failingAddress: text.describe("With a slash in front"),
          failingTimestamp: z.int().describe("Epoch milliseconds"),
          failingTime: text.describe("The same as text, in UTC"),
        }),
      ),
      rotateIndex: numberText.optional().describe("RotatingIpRoutePlanner: addresses that have failed so far"),
      ipIndex: numberText.optional().describe("RotatingIpRoutePlanner: the current address, from 1; 0 for none yet"),
      currentAddress: text.optional().describe("RotatingIpRoutePlanner: with a slash in front; empty for none yet"),
      blockIndex: numberText.optional().describe("RotatingNanoIpRoutePlanner: the current /64, from 0"),
      currentAddressIndex: numberText.optional().describe("Both with Nano in their names: nanoseconds so far"),
    }),
  })
  .meta({ id: "RoutePlanner" });
