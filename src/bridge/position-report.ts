// The position of a track, as an audio worker reports it: by itself (events.ts) or together with those of other players
// (worker-report.ts).

import type { PlayerId, SeekId, TrackId } from "./commands.ts";

/**
 * Where a track is. The main thread computes the position of now as `positionMs + (now - epochMs) * rate`. Sent at
 * every change (start, pause, resume, seek, stall, recovery, end) and refreshed twice a second, so it is never far off.
 */
export interface PositionReport {
  readonly playerId: PlayerId;
  readonly trackId: TrackId;
  /** The last seek that was carried out, 0 for none: the main thread drops reports from before its own last seek. */
  readonly seekId: SeekId;
  /** Track time that has been sent, in milliseconds. */
  readonly positionMs: number;
  /** When that was so, Unix epoch milliseconds. */
  readonly epochMs: number;
  /** Track time per real time: 0 while nothing is sent, 1 normally, the timescale factor with that filter. */
  readonly rate: number;
}
