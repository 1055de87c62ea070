// The Track object of the protocol (protocol-v4.md section 3.1) for every thread. Its OpenAPI schemas are in
// control/protocol/track-json.ts, which compiles only while the two agree.

import type { JsonInteger, JsonObject } from "../lib/json.ts";

/** The metadata of a track. */
export interface TrackInfo {
  readonly identifier: string;
  readonly isSeekable: boolean;
  readonly author: string;
  /** Milliseconds; `UNKNOWN_LENGTH_MS` for streams and where it is not known. */
  readonly length: JsonInteger;
  readonly isStream: boolean;
  /** Milliseconds. */
  readonly position: JsonInteger;
  readonly title: string;
  readonly uri: string | null;
  readonly sourceName: string;
  readonly artworkUrl: string | null;
  readonly isrc: string | null;
}

/** `encoded` is the form that a client stores to play the track again; `userData` is returned as the client sent it. */
export interface TrackJson {
  readonly encoded: string;
  readonly info: TrackInfo;
  readonly pluginInfo: JsonObject;
  readonly userData: JsonObject;
}
