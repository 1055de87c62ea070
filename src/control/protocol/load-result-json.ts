// What looking up an identifier gives, as the protocol writes it (protocol-v4.md sections 3.4 and 3.5). Main thread;
// made by sources/load-result.ts.

import type { Severity } from "../../bridge/wire-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { TrackJson } from "./track-json.ts";

/** The protocol's Exception object. */
export interface ExceptionJson {
  readonly message: string | null;
  readonly severity: Severity;
  readonly cause: string;
  readonly causeStackTrace: string;
}

/** `selectedTrack` is an index of `tracks`, -1 for none. */
export interface PlaylistJson {
  readonly info: { readonly name: string; readonly selectedTrack: number };
  readonly pluginInfo: JsonObject;
  readonly tracks: readonly TrackJson[];
}

/** The answer of `loadtracks`, always with status 200. */
export type LoadResultJson =
  | { readonly loadType: "track"; readonly data: TrackJson }
  | { readonly loadType: "playlist"; readonly data: PlaylistJson }
  | { readonly loadType: "search"; readonly data: readonly TrackJson[] }
  | { readonly loadType: "empty"; readonly data: null }
  | { readonly loadType: "error"; readonly data: ExceptionJson };
