// What a plugin offers besides sources, as plain data between the threads: searches of several kinds, lyrics and REST
// routes. Both threads; the interface for plugins is plugin-api/plugin.ts.

import type { Owner } from "../lib/owners.ts";
import type { Json, JsonMembers, OptionSchema, PlayerRoute, PluginRoute, SearchType } from "../plugin-api/plugin.ts";
import type { WrittenTracks } from "../track/written-tracks.ts";

/** Its place in the list of the manifest names a provider in commands. */
interface SearchProviderManifest {
  readonly source: string;
  readonly prefixes: readonly string[];
}

interface LyricsProviderManifest {
  readonly name: string;
  /** It is asked for tracks of these sources only. Undefined: of all. */
  readonly sources?: readonly string[] | undefined;
}

export interface RouteManifest {
  readonly method: PluginRoute["method"];
  /** The whole path, with `:name` segments. */
  readonly path: string;
  readonly summary: string;
  readonly access: NonNullable<PluginRoute["access"]>;
  readonly query: OptionSchema;
  /** Undefined: no body is read. */
  readonly body: OptionSchema | undefined;
  /** The body is the value of the only member. Default: false. */
  readonly isListBody?: boolean | undefined;
  /** It is below players. Default: it is not. */
  readonly ofPlayer?: PlayerRoute | undefined;
}

/** Parts of the manifest. Default: none. */
export interface ExtensionManifests {
  readonly searchProviders?: readonly SearchProviderManifest[] | undefined;
  readonly lyricsProviders?: readonly LyricsProviderManifest[] | undefined;
  readonly routes?: readonly RouteManifest[] | undefined;
  /** It is told what happens to sessions and players. */
  readonly isListening?: boolean | undefined;
}

/** Whose work it is, and the sources that they may use: undefined means all. */
interface ExtensionWork {
  readonly requestId: number;
  readonly owner: Owner;
  readonly sources?: readonly string[] | undefined;
}

/** `index`: of the provider; its `source` or `name` is as it was: the thread may have another version of the plugin. */
interface ProviderWork extends ExtensionWork {
  readonly index: number;
}

export type ExtensionCommand =
  /** Answered with a SearchReply. */
  | (ProviderWork & {
      readonly type: "search";
      readonly source: string;
      readonly query: string;
      readonly types: readonly SearchType[];
    })
  /** Answered with a LyricsReply. */
  | (ProviderWork & { readonly type: "lyrics"; readonly name: string; readonly encoded: string })
  /** Answered with a ServeReply. `query`, `body`: values that are checked. */
  | (ExtensionWork & {
      readonly type: "serve";
      /** As it was when the client's right to it was checked: the thread may have another version of the plugin. */
      readonly route: Pick<RouteManifest, "method" | "path" | "access">;
      readonly segments: Readonly<Record<string, string>>;
      readonly query: unknown;
      readonly body: unknown;
    });

/** Found by a search. */
export interface SearchReply {
  readonly kind: "found";
  readonly tracks: WrittenTracks;
  /** Each with its `pluginInfo` as clients get it. */
  readonly albums: readonly FoundList[];
  readonly artists: readonly FoundList[];
  readonly playlists: readonly FoundList[];
  readonly texts: readonly FoundText[];
}

export interface FoundList {
  readonly name: string;
  readonly pluginInfo: JsonMembers;
}

export interface FoundText {
  readonly text: string;
  readonly pluginInfo: JsonMembers;
}

export interface LyricsReply {
  readonly kind: "lyrics";
  /** Undefined: there are none. */
  readonly lyrics: FoundLyrics | undefined;
}

/** In the form of the protocol's Lyrics but for what plugins add (protocol-v4.md section 8.3). Milliseconds. */
export interface FoundLyrics {
  readonly sourceName: string;
  readonly provider: string | null;
  readonly text: string | null;
  readonly lines: readonly FoundLine[] | null;
}

export interface FoundLine {
  readonly timestamp: number;
  readonly duration: number | null;
  readonly line: string;
}

/** `message`: the answer is an error object. */
export type ServeReply =
  | { readonly kind: "served"; readonly status: number; readonly json?: Json | undefined; readonly message?: undefined }
  | { readonly kind: "served"; readonly status: number; readonly message: string };

export type ExtensionReply = SearchReply | LyricsReply | ServeReply;

/** The reply to each command. */
export interface ExtensionReplies {
  readonly search: SearchReply;
  readonly lyrics: LyricsReply;
  readonly serve: ServeReply;
}
