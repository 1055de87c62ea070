// `speak:` and `tts://`: Google Translate reads a text out. The site takes 200 characters at a time and a track has one
// link, so a longer text is a playlist of its parts: bots that queue playlists say all of it, where a single track would
// end in the middle without a word. Plugin thread.

import {
  type LoadRequest,
  type Playable,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { spokenParts } from "./spoken-parts.ts";
import { isLanguage, readTtsIdentifier, type TtsRequest, ttsIdentifier } from "./tts-identifier.ts";

const PREFIX = "speak:";
/** The site refuses longer texts; not documented. */
const TEXT_LENGTH_MAX = 200;
const NAME_LENGTH_MAX = 60;
/** The author set by the plugin that introduced `speak:`; bots may rely on it. */
const AUTHOR = "TTS B0t";

interface SpeakOptions {
  readonly isEnabled: boolean;
  /** A language tag. */
  readonly language: string;
  /** Address of the server. */
  readonly server: string;
}

interface SpeakRequest extends TtsRequest {
  /** Written as `tts://`. */
  readonly isTts: boolean;
}

export class SpeakSource {
  readonly #options: SpeakOptions;

  constructor(options: SpeakOptions) {
    const { language } = options;
    if (!isLanguage(language)) {
      throw new Error("ttsLanguage: expected a language tag, such as en-AU");
    }
    this.#options = options;
  }

  async load({ identifier }: LoadRequest): Promise<SourceAnswer | undefined> {
    const request = this.#options.isEnabled ? readIdentifier(identifier) : undefined;
    if (request === undefined) return undefined;
    const [first, ...others] = spokenParts(request.text, TEXT_LENGTH_MAX);
    if (first === undefined) return { kind: "empty" };
    if (others.length === 0) return { kind: "track", track: this.#track({ ...request, text: first }) };
    const name = `Speaking ${spokenParts(first, NAME_LENGTH_MAX)[0]} \u2026`;
    return { kind: "playlist", name, tracks: [first, ...others].map((text) => this.#track({ ...request, text })) };
  }

  async resolve({ track }: ResolveRequest): Promise<Playable> {
    const request = readIdentifier(track.identifier);
    const [text, ...others] = request === undefined ? [] : spokenParts(request.text, TEXT_LENGTH_MAX);
    if (request === undefined || text === undefined) throw new SourceError("invalid", "the track has no text to speak");
    // One that was made elsewhere: the site would refuse it without saying why.
    if (others.length > 0) throw new SourceError("invalid", `a track speaks at most ${TEXT_LENGTH_MAX} characters`);
    return { kind: "link", url: this.#link({ ...request, text }) };
  }

  #track(request: SpeakRequest): SourceTrack {
    const { text, isTts } = request;
    const identifier = isTts ? ttsIdentifier(request) : `${PREFIX}${text}`;
    return {
      identifier,
      title: `Speaking ${text}`,
      author: AUTHOR,
      isStream: false,
      uri: this.#link(request),
      pluginInfo: { save_uri: identifier },
    };
  }

  #link({ text, language = this.#options.language }: SpeakRequest): string {
    const { server } = this.#options;
    const query = new URLSearchParams({
      ie: "UTF-8",
      client: "tw-ob",
      tl: language,
      q: text,
      total: "1",
      idx: "0",
      textlen: String(text.length),
    });
    return `${server}/translate_tts?${query}`;
  }
}

/** Undefined if it is neither. Throws a SourceError for a `tts://` that is invalid. */
function readIdentifier(identifier: string): SpeakRequest | undefined {
  if (identifier.startsWith(PREFIX)) {
    return { text: identifier.slice(PREFIX.length), language: undefined, isTts: false };
  }
  const request = readTtsIdentifier(identifier);
  return request && { ...request, isTts: true };
}
