// The replies to those commands that are requests. Both threads.

import type { ProbeResult } from "./playable-input.ts";

/** By the type of the request. An answer may be an error instead (`replyError`). */
export interface WorkerReplies {
  /** The probe's result. Errors: those of opening an input (`address-refused`, `input-…`, `media-…`, `hls-…`, …). */
  readonly probe: ProbeResult;
  /** Everything of the player is closed. Never an error. */
  readonly destroyPlayer: undefined;
  /** The gateway's WebSocket is open. Errors: `voice-connect-failed`, or `player-destroyed` by a command before it. */
  readonly connectVoice: { readonly isConnected: true };
}

/** Any of them. */
export type WorkerReply = WorkerReplies[keyof WorkerReplies];
