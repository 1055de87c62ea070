// The route around the wall: what Bandcamp's pages do not tell us, the node's yt-dlp bridge is asked for, where the
// operator has set one up. Plugin thread.

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

  /** What it finds. `trouble` is why it is asked, and what this rejects with, with advice, when it finds nothing. */
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
    // No bridge and a bridge that found nothing are the same from here; a bridge that is not there is no backend.
    if (answer.kind === "empty") throw new SourceError("unreachable", ADVICE);
    return answer;
  }
}

/** What the bridge has found as tracks of Bandcamp, which later play from there again; undefined where it cannot be. */
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
