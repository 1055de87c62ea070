// `speak:`: Google Translate reads a text out. The site takes 200 characters at a time and a track has one link, so a
// longer text is a playlist of its parts: bots that queue playlists say all of it, where a single track would end in
// the middle without a word. Plugin thread.

import {
  type LoadRequest,
  type Playable,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { spokenParts } from "./spoken-parts.ts";

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

export class SpeakSource {
  readonly #options: SpeakOptions;

  constructor(options: SpeakOptions) {
    const { language } = options;
    if (!/^[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,2}$/i.test(language)) {
      throw new Error("ttsLanguage: expected a language tag, such as en-AU");
    }
    this.#options = options;
  }

  async load({ identifier }: LoadRequest): Promise<SourceAnswer | undefined> {
    if (!this.#options.isEnabled || !identifier.startsWith(PREFIX)) return undefined;
    const [first, ...others] = spokenParts(identifier.slice(PREFIX.length), TEXT_LENGTH_MAX);
    if (first === undefined) return { kind: "empty" };
    if (others.length === 0) return { kind: "track", track: this.#track(first) };
    const name = `Speaking ${spokenParts(first, NAME_LENGTH_MAX)[0]} \u2026`;
    return { kind: "playlist", name, tracks: [first, ...others].map((text) => this.#track(text)) };
  }

  async resolve({ track }: ResolveRequest): Promise<Playable> {
    const { identifier } = track;
    const [text, ...others] = identifier.startsWith(PREFIX)
      ? spokenParts(identifier.slice(PREFIX.length), TEXT_LENGTH_MAX)
      : [];
    if (text === undefined) throw new SourceError("invalid", "the track has no text to speak");
    // One that was made elsewhere: the site would refuse it without saying why.
    if (others.length > 0) throw new SourceError("invalid", `a track speaks at most ${TEXT_LENGTH_MAX} characters`);
    return { kind: "link", url: this.#link(text) };
  }

  #track(text: string): SourceTrack {
    const identifier = `${PREFIX}${text}`;
    return {
      identifier,
      title: `Speaking ${text}`,
      author: AUTHOR,
      isStream: false,
      uri: this.#link(text),
      pluginInfo: { save_uri: identifier },
    };
  }

  #link(text: string): string {
    const { server, language } = this.#options;
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
