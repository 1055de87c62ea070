// The schemas of the Track object (protocol-v4.md section 3.1). Main thread; its type, for all threads, and what makes
// one are in src/track.

import { z } from "zod";
import type { TrackInfo, TrackJson } from "../../track/track-info.ts";
import { int64, type JsonOf, openObject, type Same, text } from "./json-of.ts";

const trackInfoSchema = z
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

/** Schema of TrackJson. */
export const trackSchema = z
  .strictObject({ encoded: text, info: trackInfoSchema, pluginInfo: openObject, userData: openObject })
  .meta({ id: "Track" });

// Neither is made of the other: where they differ, one of these does not compile.
true satisfies Same<TrackInfo, JsonOf<typeof trackInfoSchema>>;
true satisfies Same<TrackJson, JsonOf<typeof trackSchema>>;

/** Schema of the answer of `decodetracks`. */
export const tracksSchema = z.array(trackSchema).meta({ id: "Tracks" });
