// Reads the lyrics that Jellyfin servers answer. Pure. Plugin thread. Shape: LyricDto of the server's OpenAPI document.

import type { Lyrics } from "../../src/plugin-api/plugin.ts";
import { amountOf, itemsOf, textOf } from "../own-servers/read-json.ts";
import { type Members, numberOf, objectOf } from "../reading/json.ts";
import { textOfLines, timedLines } from "../reading/lrc.ts";
import { JELLYFIN, TICKS_PER_MS } from "./jellyfin-answers.ts";

/** Undefined: there are none. `server`: as the operator calls it. */
export function readLyrics(answer: Members, server: string): Lyrics | undefined {
  const items = itemsOf(answer.Lyrics);
  if (items.length === 0) return undefined;
  const lines = items.map(({ Start, Text }) => {
    const ticks = amountOf(Start);
    return { timestampMs: ticks === undefined ? undefined : ticks / TICKS_PER_MS, line: textOf(Text) ?? "" };
  });
  const offsetMs = (numberOf(objectOf(answer.Metadata)?.Offset) ?? 0) / TICKS_PER_MS;
  const isSynced = lines.some(({ timestampMs }) => timestampMs !== undefined);
  return {
    sourceName: JELLYFIN,
    provider: server,
    text: textOfLines(lines),
    ...(isSynced && { lines: timedLines(lines, offsetMs) }),
  };
}
