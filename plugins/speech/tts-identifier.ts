// Reads `tts://<text>?language=`, as bots send it that were written for Google's paid voices (`tts-plugin`). The text
// stands where links have their host, so it is taken apart by hand. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";

export interface TtsRequest {
  readonly text: string;
  /** A language tag. Undefined: it names none. */
  readonly language: string | undefined;
}

const PREFIX = "tts://";
/** Other text after a question mark belongs to the spoken text. */
const QUERY = /\?(?=(?:language|config)=)/;

/** True for a language tag: `en-AU`, `de`. */
export function isLanguage(text: string): boolean {
  return /^[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,2}$/i.test(text);
}

/** Undefined if it is no such identifier. Throws a SourceError for what only Google's paid voices can do. */
export function readTtsIdentifier(identifier: string): TtsRequest | undefined {
  if (!identifier.startsWith(PREFIX)) return undefined;
  const [text = "", query = ""] = identifier.slice(PREFIX.length).split(QUERY, 2);
  const parameters = new URLSearchParams(query);
  if (parameters.has("config")) {
    const advice = "the node reads texts with Google Translate: use tts://<text>?language=<tag>";
    throw new SourceError("invalid", `config= chooses among Google Cloud's voices, which need a key; ${advice}`);
  }
  const language = parameters.get("language") || undefined;
  if (language !== undefined && !isLanguage(language))
    throw new SourceError("invalid", "language: expected a language tag, such as en-AU");
  return { text: decoded(text), language };
}

/** The identifier that `readTtsIdentifier` reads. */
export function ttsIdentifier({ text, language }: TtsRequest): string {
  const query = language === undefined ? "" : `?language=${language}`;
  return `${PREFIX}${encodeURIComponent(text)}${query}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not encoded at all: `tts://100% sure`
  }
}
