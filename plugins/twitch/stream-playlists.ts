// Finds the playlists of channels and past broadcasts, and whether Twitch serves them. The audio thread chooses the
// variant. Plugin thread.

import { type Backend, type HttpAnswer, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { listOf, membersOf, trimmedText } from "../reading/json.ts";
import type { TwitchLink } from "./links.ts";
import type { AccessToken } from "./operations.ts";

const SERVER = "https://usher.ttvnw.net";
const SIZE_BYTES_MAX = 1024 * 1024;
const SUBSCRIBERS_ONLY = new Set(["vod_manifest_restricted", "unauthorized_entitlements"]);

export class StreamPlaylists {
  readonly #host: Pick<PluginHost<{ readonly playlistServer: string | undefined }>, "http" | "options">;
  readonly #backend: Backend;

  constructor(host: Pick<PluginHost<{ readonly playlistServer: string | undefined }>, "http" | "options" | "backend">) {
    this.#host = host;
    this.#backend = host.backend("usher.ttvnw.net");
  }

  /** The playlist's address. Rejects with `unavailable` if it is not served: offline, removed, for subscribers only. */
  async find(link: TwitchLink, token: AccessToken, signal: AbortSignal): Promise<string> {
    const { playlistServer } = this.#host.options;
    const server = (playlistServer ?? SERVER).replace(/\/+$/, "");
    return this.#backend.run(async () => {
      let trouble: SourceError | undefined;
      for (const path of pathsOf(link)) {
        const url = `${server}${path}?${queryOf(token)}`;
        const answer = await this.#host.http.request(url, { signal, sizeBytesMax: SIZE_BYTES_MAX });
        const found = this.#troubleOf(answer, link);
        if (found === undefined) return url;
        if (answer.status === 404) continue;
        trouble = found;
        // An operator's server may know the first version only, and refuse the second with any status.
        if (playlistServer === undefined) break;
      }
      throw trouble ?? new SourceError("unavailable", `Twitch: ${link.uri} is offline or gone`);
    });
  }

  /** Undefined: it is the playlist. */
  #troubleOf(answer: HttpAnswer, link: TwitchLink): SourceError | undefined {
    if (answer.status === 403) return refusalOf(answer, link);
    if (answer.status < 200 || answer.status > 299) return this.#host.http.statusError(answer);
    if (answer.text.trimStart().startsWith("#EXTM3U")) return undefined;
    return new SourceError("changed", `the answer for the playlist of ${link.uri} is not a playlist`);
  }
}

/** Second version of the interface, which streamlink uses since February 2026, then the first. */
function pathsOf({ kind, id }: TwitchLink): readonly string[] {
  return kind === "video"
    ? [`/vod/v2/${id}.m3u8`, `/vod/${id}.m3u8`]
    : [`/api/v2/channel/hls/${id}.m3u8`, `/api/channel/hls/${id}.m3u8`];
}

function queryOf({ value, signature }: AccessToken): URLSearchParams {
  return new URLSearchParams({
    allow_source: "true",
    allow_audio_only: "true",
    player_backend: "html5",
    platform: "web",
    playlist_include_framerate: "true",
    supported_codecs: "h264",
    sig: signature,
    token: value,
  });
}

function refusalOf({ text }: HttpAnswer, { uri }: TwitchLink): SourceError {
  const code = trimmedText(membersOf(listOf(parsed(text))[0]).error_code)?.slice(0, 60) ?? "no reason given";
  const reason = SUBSCRIBERS_ONLY.has(code) ? "it is for subscribers only" : `it is refused (${code})`;
  return new SourceError("unavailable", `Twitch refuses ${uri}: ${reason}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A page: it gives no reason that we could read.
    return undefined;
  }
}
