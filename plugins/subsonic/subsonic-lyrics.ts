// Reads the lyrics that OpenSubsonic servers answer. Pure. Plugin thread. Shape: the API's documentation of
// getLyricsBySongId and StructuredLyrics.

import type { Lyrics } from "../../src/plugin-api/plugin.ts";
import { itemsOf, textOf } from "../own-servers/read-json.ts";
import { type Members, numberOf, objectOf } from "../reading/json.ts";
import { textOfLines, timedLines } from "../reading/lrc.ts";
import { SUBSONIC } from "./subsonic-answers.ts";

/** Those with times, where there are any. Undefined: there are none. `server`: as the operator calls it. */
export function readLyrics(body: Members, server: string): Lyrics | undefined {
  const found = itemsOf(objectOf(body.lyricsList)?.structuredLyrics).map((lyrics) => {
    const lines = itemsOf(lyrics.line).map(({ start, value }) => ({
      timestampMs: numberOf(start),
      line: textOf(value) ?? "",
    }));
    return { isSynced: lyrics.synced === true, offsetMs: numberOf(lyrics.offset) ?? 0, lines };
  });
  const best = found.find(({ isSynced, lines }) => isSynced && lines.length > 0) ?? found[0];
  if (best === undefined || best.lines.length === 0) return undefined;
  const { isSynced, offsetMs, lines } = best;
  return {
    sourceName: SUBSONIC,
    provider: server,
    text: textOfLines(lines),
    ...(isSynced && { lines: timedLines(lines, offsetMs) }),
  };
}
