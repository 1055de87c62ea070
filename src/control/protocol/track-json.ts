// The Track object of the protocol (protocol-v4.md section 3.1). Main thread; made by sources/track.ts.

import type { JsonInteger, JsonObject } from "../../lib/json.ts";

/** `length` and `position` are milliseconds. */
export interface TrackInfo {
  readonly identifier: string;
  readonly isSeekable: boolean;
  readonly author: string;
  readonly length: JsonInteger;
  readonly isStream: boolean;
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
