// The Track object of the protocol (protocol-v4.md section 3.1). Main thread; made by sources/track.ts.

import { z } from "zod";
import { int64, type JsonOf, openObject, text } from "./json-of.ts";

/** What is known of a track, its source and its sound. */
export type TrackInfo = JsonOf<typeof trackInfoSchema>;
/** `encoded` is what a client keeps to play the track again; `userData` comes back as the client gave it. */
export type TrackJson = JsonOf<typeof trackSchema>;

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

/** Of TrackJson. */
export const trackSchema = z
  .strictObject({ encoded: text, info: trackInfoSchema, pluginInfo: openObject, userData: openObject })
  .meta({ id: "Track" });

/** Of the answer of `decodetracks`. */
export const tracksSchema = z.array(trackSchema).meta({ id: "Tracks" });
