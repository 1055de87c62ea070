// The result of loading an identifier in the protocol's form (protocol-v4.md sections 3.4 and 3.5). Main thread; made
// by sources/load-result.ts.

import { z } from "zod";
import { type JsonOf, openObject, text } from "./json-of.ts";
import { trackSchema } from "./track-json.ts";

/** The protocol's Exception object. */
export type ExceptionJson = JsonOf<typeof exceptionSchema>;
/** `selectedTrack` is an index of `tracks`. */
export type PlaylistJson = JsonOf<typeof playlistSchema>;
/** The answer of `loadtracks`, always with status 200. */
export type LoadResultJson = JsonOf<typeof loadResultSchema>;

const exceptionSchema = z
  .strictObject({
    message: text.nullable(),
    severity: z.enum(["common", "suspicious", "fault"]),
    cause: text,
    causeStackTrace: text,
  })
  .meta({ id: "Exception" });

/** Schema of PlaylistJson. */
export const playlistSchema = z
  .strictObject({
    info: z.strictObject({ name: text, selectedTrack: z.int().describe("Index, -1 for none") }),
    pluginInfo: openObject,
    tracks: z.array(trackSchema),
  })
  .meta({ id: "Playlist" });

/** Schema of LoadResultJson. */
export const loadResultSchema = z
  .union([
    z.strictObject({ loadType: z.literal("track"), data: trackSchema }),
    z.strictObject({ loadType: z.literal("playlist"), data: playlistSchema }),
    z.strictObject({ loadType: z.literal("search"), data: z.array(trackSchema) }),
    z.strictObject({ loadType: z.literal("empty"), data: z.null() }),
    z.strictObject({ loadType: z.literal("error"), data: exceptionSchema }),
  ])
  .meta({ id: "LoadResult" });
