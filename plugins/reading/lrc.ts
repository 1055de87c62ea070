// Reads lyrics in the LRC format: `[01:02.34] words`, with several times before one text, and `[offset:…]`. Untrusted:
// what is no line of lyrics is left out. Pure. Plugin threads.

import type { LyricsLine } from "../../src/plugin-api/plugin.ts";

const LENGTH_MAX = 256 * 1024;
const LINES_MAX = 5000;
/** Repeated times of one line. */
const TIMES_MAX = 100;
const TIME = /^\s*\[(\d{1,3}):(\d{1,2})(?:[.:](\d{1,3}))?\]/;
/** Milliseconds; positive: the lyrics are to be shown earlier. */
const OFFSET = /^\s*\[offset:\s*([+-]?\d{1,7})\s*\]/i;
/** The times of single words. */
const WORD_TIME = /<\d{1,3}:\d{1,2}(?:[.:]\d{1,3})?>/g;

/** In the order of their times; a line without text is a pause. The length of each but the last is known. */
export function readLrc(text: string): LyricsLine[] {
  const lines: LyricsLine[] = [];
  let offsetMs = 0;
  for (const row of text.slice(0, LENGTH_MAX).split(/\r\n?|\n/)) {
    offsetMs = Number(OFFSET.exec(row)?.[1] ?? offsetMs);
    const { timesMs, rest } = timesIn(row);
    const line = rest.replaceAll(WORD_TIME, "").trim();
    for (const timestampMs of timesMs) lines.push({ timestampMs, line });
    if (lines.length > LINES_MAX) break;
  }
  return timedLines(lines, offsetMs);
}

/** A line as it was written. */
interface WrittenLine {
  /** Undefined: that of the line before. */
  readonly timestampMs: number | undefined;
  readonly line: string;
}

/** In the order of their times, each but the last until the next. `offsetMs`: how much earlier they are shown. */
export function timedLines(lines: readonly WrittenLine[], offsetMs = 0): LyricsLine[] {
  let lastMs = 0;
  const sorted = lines
    .slice(0, LINES_MAX)
    .map(({ timestampMs = lastMs, line }) => {
      lastMs = timestampMs;
      return { timestampMs: Math.max(0, timestampMs - offsetMs), line };
    })
    .sort((one, other) => one.timestampMs - other.timestampMs);
  return sorted.map((line, index) => {
    const next = sorted[index + 1];
    return next === undefined ? line : { ...line, durationMs: next.timestampMs - line.timestampMs };
  });
}

/** The lines as a text without times. */
export function textOfLines(lines: readonly Pick<LyricsLine, "line">[]): string {
  return lines.map(({ line }) => line).join("\n");
}

function timesIn(row: string): { readonly timesMs: readonly number[]; readonly rest: string } {
  const timesMs: number[] = [];
  let rest = row;
  while (timesMs.length < TIMES_MAX) {
    const found = TIME.exec(rest);
    if (found === null) break;
    const [tag, minutes, seconds, fraction = ""] = found;
    timesMs.push((Number(minutes) * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, "0")));
    rest = rest.slice(tag.length);
  }
  return { timesMs, rest };
}
