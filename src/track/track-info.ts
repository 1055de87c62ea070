// The Track object of the protocol (protocol-v4.md section 3.1) as every thread knows it. Its schemas, for OpenAPI, are
// in control/protocol/track-json.ts, which compiles only while the two agree.

import type { JsonInteger, JsonObject } from "../lib/json.ts";

/** What is known of a track, its source and its sound. */
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

/** `encoded` is what a client keeps to play the track again; `userData` comes back as the client gave it. */
export interface TrackJson {
  readonly encoded: string;
  readonly info: TrackInfo;
  readonly pluginInfo: JsonObject;
  readonly userData: JsonObject;
}
