// The data of the ytdlp plugin that the node needs before the plugin's thread starts. Main and plugin threads.

import type { BuiltinManifest, SourceClaims } from "../builtin-manifest.ts";
import { readSites, sourcesOf } from "./sites.ts";

/** Sites that no built-in source reads well: their players change often, and yt-dlp keeps up with them. */
const SITES = [
  ...["vimeo.com", "nicovideo.jp", "nico.ms", "mixcloud.com", "tiktok.com", "reddit.com", "redd.it", "instagram.com"],
  ...["odysee.com", "jiosaavn.com"],
] as const;

/** Given the options as they are written, whole or not: its sources, with what each is asked for. */
export function claimsOf({
  sites = SITES,
}: {
  readonly sites?: readonly string[] | undefined;
}): readonly SourceClaims[] {
  return sourcesOf(readSites(sites)).map(({ name, hosts, prefixes = [] }) => ({ name, hosts, prefixes }));
}

export const YTDLP_MANIFEST = {
  name: "ytdlp",
  version: "1.0.0",
  config: {
    path: {
      type: "text",
      isRequired: true,
      // People with the node's password must not be able to run programs of their choice.
      isFixed: true,
      meaning: "the yt-dlp program: its path, or its name where it is found; without it this plugin is off",
    },
    sites: {
      type: "texts",
      default: SITES,
      meaning: "hosts, with all their subdomains, whose links yt-dlp reads; `*` means every http link",
    },
    searchLimit: { type: "integer", default: 10, min: 1, max: 100, meaning: "tracks of a search that names no number" },
    playlistLoadLimit: {
      type: "integer",
      default: 1000,
      min: 1,
      max: 10_000,
      meaning: "tracks of a playlist, at most",
    },
    mixPlaylistLoadLimit: {
      type: "integer",
      default: 25,
      min: 1,
      max: 1000,
      meaning: "tracks of one of YouTube's endless mixes, at most",
    },
    customLoadArgs: {
      type: "texts",
      isFixed: true,
      meaning: "arguments for loading links, instead of `--flat-playlist --socket-timeout 10 --format …`",
    },
    customPlaybackArgs: {
      type: "texts",
      isFixed: true,
      meaning: "arguments for finding the audio of a track, instead of the same",
    },
    timeoutMs: {
      type: "integer",
      default: 18_000,
      min: 1000,
      max: 60_000,
      meaning: "how long one run may take, milliseconds; a load ends after 20 s, a link for playing after 15 s anyway",
    },
    concurrency: { type: "integer", default: 2, min: 1, max: 16, meaning: "runs at the same time; the others wait" },
  },
  sources: claimsOf({}),
} as const satisfies BuiltinManifest;
