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
    const { http, options } = this.#host;
    const server = (options.playlistServer ?? SERVER).replace(/\/+$/, "");
    const url = `${server}${pathOf(link)}?${queryOf(token)}`;
    await this.#backend.run(async () => {
      const answer = await http.request(url, { signal, sizeBytesMax: SIZE_BYTES_MAX });
      if (answer.status === 404) throw new SourceError("unavailable", `Twitch: ${link.uri} is offline or gone`);
      if (answer.status === 403) throw refusalOf(answer, link);
      if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
      if (!answer.text.trimStart().startsWith("#EXTM3U")) {
        throw new SourceError("changed", `the answer for the playlist of ${link.uri} is not a playlist`);
      }
    });
    return url;
  }
}

function pathOf({ kind, id }: TwitchLink): string {
  return kind === "video" ? `/vod/${id}.m3u8` : `/api/channel/hls/${id}.m3u8`;
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
