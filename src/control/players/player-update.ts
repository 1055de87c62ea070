// The parsed body of PATCH player: what the API hands to a player (protocol-v4.md sections 2.6 and 2.7). Main thread.
// In every field `undefined` means that the client left it out.

import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Track } from "../../track/track.ts";
import type { AllowedSources } from "../access/identity.ts";

/** A requested track change. Encoded tracks are decoded before, so that a bad one changes nothing. */
export type TrackChange =
  | { readonly kind: "stop" }
  | { readonly kind: "play"; readonly track: Track }
  | { readonly kind: "load"; readonly identifier: string; readonly allowed: AllowedSources | undefined };

/** How an update is applied. */
export interface UpdateOptions {
  /** False: a track that is loaded stays (`noReplace`). */
  readonly isReplacing: boolean;
  /** Nothing is changed once something else plays. Default: whatever plays. */
  readonly playId?: number | undefined;
}

/** Checked: ranges, ids, filters. A player trusts it. */
export interface PlayerUpdate {
  readonly trackChange: TrackChange | undefined;
  /** For the new track if there is a track change, else for the current one. */
  readonly userData: JsonObject | undefined;
  /** Milliseconds, 0 or more. */
  readonly positionMs: number | undefined;
  /** Milliseconds, greater than 0; null takes the end time away. */
  readonly endTimeMs: number | null | undefined;
  /** 0 to 1000. */
  readonly volume: number | undefined;
  readonly isPaused: boolean | undefined;
  /** Every present filter with all its members, as it is to be echoed. */
  readonly filters: FilterSettings | undefined;
  readonly voice: VoiceCredentials | undefined;
}
