// Falls back to the node's yt-dlp bridge, where the operator has set one up, for links that Bandcamp's pages do not
// answer because of the wall. Plugin thread.

import {
  type Backend,
  type PluginHost,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { parseTrackAddress } from "./links.ts";

const ADVICE = "set up the yt-dlp bridge (plugin ytdlp), which is asked instead, or try again later";

export class YtdlpBridge {
  readonly #host: Pick<PluginHost, "load">;
  readonly #backend: Backend;

  constructor(host: Pick<PluginHost, "load" | "backend">) {
    this.#host = host;
    this.#backend = host.backend("yt-dlp bridge");
  }

  /** For the bridge itself. */
  identifierOf(url: string): string {
    return `ytdl:${url}`;
  }

  /**
   * Asks the bridge. `trouble` is the reason for asking; the call rejects with it, and with advice, when the bridge
   * finds nothing.
   */
  async find(url: string, { trouble, signal }: { readonly trouble: SourceError; readonly signal: AbortSignal }) {
    try {
      return await this.#backend.run(() => this.#ask(url, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError)) throw error;
      throw new SourceError(trouble.kind, `${trouble.message}; ${error.message}`, { cause: trouble });
    }
  }

  async #ask(url: string, signal: AbortSignal): Promise<SourceAnswer> {
    const answer = await this.#host.load(this.identifierOf(url), { signal });
    // No bridge and a bridge that found nothing are the same from here. It is an answer about this link: others may do.
    if (answer.kind === "empty") throw new SourceError("unavailable", ADVICE);
    return answer;
  }
}

/** The bridge's answer as Bandcamp tracks, which play from Bandcamp again later; undefined if that is not possible. */
export function asBandcamp(answer: SourceAnswer): SourceAnswer | undefined {
  if (answer.kind === "track") {
    const track = bandcampTrack(answer.track);
    return track === undefined ? undefined : { kind: "track", track };
  }
  if (answer.kind !== "playlist") return undefined;
  const tracks = answer.tracks.flatMap((track) => bandcampTrack(track) ?? []);
  return tracks.length === 0 || tracks.length < answer.tracks.length ? undefined : { ...answer, tracks };
}

function bandcampTrack({ title, author, lengthMs, uri, artworkUrl, isrc }: SourceTrack): SourceTrack | undefined {
  const address = parseTrackAddress(uri ?? "");
  if (address === undefined) return undefined;
  return { identifier: address, uri: address, title, author, lengthMs, artworkUrl, isrc, isStream: false };
}
