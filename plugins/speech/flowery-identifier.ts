// Reads `ftts://<text>?voice=&translate=&silence=&speed=&audio_format=`. The text stands where links have their host,
// so it is taken apart by hand. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";

export interface FloweryRequest {
  readonly text: string;
  readonly voice: string | undefined;
  readonly translate: boolean | undefined;
  /** Milliseconds. */
  readonly silence: number | undefined;
  readonly speed: number | undefined;
  readonly audioFormat: string | undefined;
}

const PREFIX = "ftts://";
const TEXT_LENGTH_MAX = 2048;
const VOICE_LENGTH_MAX = 200;
const FORMATS = ["mp3", "ogg_opus", "ogg_vorbis", "aac", "wav", "flac"];
/** Other text after a question mark belongs to the spoken text: `ftts://how are you? fine`. */
const QUERY = /^(?:voice|translate|silence|speed|audio_format)=/;

/**
 * Undefined if it is not a Flowery identifier. An empty text is left to the caller. Throws a SourceError if a parameter
 * is out of range.
 */
export function readFloweryIdentifier(identifier: string): FloweryRequest | undefined {
  if (!identifier.startsWith(PREFIX)) return undefined;
  const { text, query } = split(identifier.slice(PREFIX.length));
  if (text.length > TEXT_LENGTH_MAX)
    throw new SourceError("invalid", `ftts:// takes at most ${TEXT_LENGTH_MAX} characters`);
  const audioFormat = query.get("audio_format") || undefined;
  if (audioFormat !== undefined && !FORMATS.includes(audioFormat)) {
    throw new SourceError("invalid", `audio_format: expected one of ${FORMATS.join(", ")}`);
  }
  return {
    text,
    audioFormat,
    voice: query.get("voice")?.slice(0, VOICE_LENGTH_MAX) || undefined,
    translate: flagOf(query.get("translate")),
    silence: numberOf(query, "silence", { min: 0, max: 10_000, isWhole: true }),
    speed: numberOf(query, "speed", { min: 0.5, max: 10, isWhole: false }),
  };
}

function split(rest: string): { readonly text: string; readonly query: URLSearchParams } {
  for (let mark = rest.indexOf("?"); mark !== -1; mark = rest.indexOf("?", mark + 1)) {
    const query = rest.slice(mark + 1);
    if (QUERY.test(query)) return { text: decoded(rest.slice(0, mark)), query: new URLSearchParams(query) };
  }
  return { text: decoded(rest), query: new URLSearchParams() };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text).trim();
  } catch {
    // Not encoded at all: `ftts://100% sure`.
    return text.trim();
  }
}

function flagOf(text: string | null): boolean | undefined {
  if (text === null || text === "") return undefined;
  if (/^(?:true|1)$/i.test(text)) return true;
  if (/^(?:false|0)$/i.test(text)) return false;
  throw new SourceError("invalid", "translate: expected true or false");
}

function numberOf(
  query: URLSearchParams,
  name: string,
  { min, max, isWhole }: { readonly min: number; readonly max: number; readonly isWhole: boolean },
): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = (isWhole ? /^\d{1,6}$/ : /^\d{1,6}(?:\.\d{1,9})?$/).test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new SourceError(
    "invalid",
    `${name}: expected ${isWhole ? "a whole number" : "a number"} from ${min} to ${max}`,
  );
}
