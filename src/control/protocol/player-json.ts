// The Player object of the protocol (protocol-v4.md section 3.2). Main thread; made by players, sent by the API.

import type { FilterSettings } from "../../bridge/filters/filter-settings.ts";
import type { TrackJson } from "./track-json.ts";

/** At the moment the answer or message was made. */
export interface PlayerStateJson {
  /** Epoch milliseconds of this server. */
  readonly time: number;
  /** Milliseconds, 0 when idle. */
  readonly position: number;
  readonly connected: boolean;
  /** Milliseconds; -1 without a connection, 0 before the first heartbeat is acknowledged. */
  readonly ping: number;
}

/** As the client sent it, empty texts before that. */
export interface VoiceStateJson {
  readonly token: string;
  readonly endpoint: string;
  readonly sessionId: string;
  readonly channelId: string | null;
}

/** `volume` is 0 to 1000; `filters` what was sent, with all members filled in. */
export interface PlayerJson {
  readonly guildId: string;
  readonly track: TrackJson | null;
  readonly volume: number;
  readonly paused: boolean;
  readonly state: PlayerStateJson;
  readonly voice: VoiceStateJson;
  readonly filters: FilterSettings;
}
