// Lyrics in the form of Lavalink's plugin LavaLyrics (protocol-v4.md section 8.3). Main thread.

import { z } from "zod";
import type { FoundLyrics } from "../../bridge/plugin-extensions.ts";
import { count, type JsonOf, openObject, text } from "./json-of.ts";

/** The lyrics of a track. */
export type LyricsJson = JsonOf<typeof lyricsSchema>;

const lineSchema = z
  .strictObject({
    timestamp: count.describe("Milliseconds from the start of the track"),
    duration: count.describe("Milliseconds; null: not known").nullable(),
    line: text,
    plugin: openObject,
  })
  .meta({ id: "LyricsLine" });

/** Schema of LyricsJson. */
export const lyricsSchema = z
  .strictObject({
    sourceName: text,
    provider: text.nullable(),
    text: text.nullable(),
    lines: z.array(lineSchema).describe("Null: the times are not known").nullable(),
    plugin: openObject,
  })
  .meta({ id: "Lyrics" });

export function lyricsToJson({ lines, ...lyrics }: FoundLyrics): LyricsJson {
  return { ...lyrics, lines: lines?.map((line) => ({ ...line, plugin: {} })) ?? null, plugin: {} };
}
