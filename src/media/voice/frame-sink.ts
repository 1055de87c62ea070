// Where the frames of one player go: the interface that the player holds directly, whatever lies behind it (a voice
// session, or the owner worker of a remote player). Audio thread.

import type { LossCause } from "../../bridge/audio-report.ts";

export interface FrameSink {
  /** Read before each frame. */
  readonly gate: VoiceGate;
  /** Why frames cannot be sent. Read while the gate is not "send", and after a `sendFrame` that returned false. */
  readonly sendBlockReason: SendBlockReason;
  /** The ring is full: the next frame must be held until some have been sent. */
  readonly isFull: boolean;
  /** No frame is unsent. */
  readonly isDrained: boolean;
  /**
   * No frame may be due before this, on the worker's clock: audio of another worker plays until then. Undefined: no
   * limit.
   */
  readonly startsMs: number | undefined;
  /**
   * Sends one Opus packet of 20 ms at `dueMs` of the worker's clock, which may be some frames ahead; its bytes are read
   * before this returns. False: it cannot be sent. RTP time advances over deadlines that are left out.
   */
  sendFrame(opus: Uint8Array, dueMs: number): boolean;
  /** Sends one silence frame; five end the audio. Does nothing without audio to end, or when it cannot be sent. */
  sendSilence(dueMs: number): void;
  /** After the last silence frame: Discord no longer shows the bot as speaking. */
  stopSpeaking(): void;
  /** Revokes at most `countMax` unsent frames, newest first. Returns how many were revoked. */
  revoke(countMax: number): number;
}

/** Why a frame cannot be sent, as far as voice can tell. */
export type SendBlockReason = Extract<LossCause, "network" | "voiceNotReady" | "daveNotReady" | "nobodyThere">;

/**
 * What to do with the next due frame. "send": send it. "hold": keep it, track time stands (connecting, reconnecting, up
 * to 3 s for the DAVE group). "discard": drop it, time runs (the channel is empty). "down": there is no voice.
 */
export type VoiceGate = "send" | "hold" | "discard" | "down";

/** There is no voice connection. */
export const NO_SINK: FrameSink = createIdleSink("down");
/** The voice connection has no session yet. */
export const HOLDING_SINK: FrameSink = createIdleSink("hold");

function createIdleSink(gate: VoiceGate): FrameSink {
  return {
    gate,
    sendBlockReason: "voiceNotReady",
    isFull: false,
    isDrained: true,
    startsMs: undefined,
    sendFrame: () => false,
    sendSilence: () => undefined,
    stopSpeaking: () => undefined,
    revoke: () => 0,
  };
}
