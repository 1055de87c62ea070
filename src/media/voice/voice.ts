// The interface between a player and its voice connection (connection/voice-connection.ts). Audio thread.

import type { LossCause, VoiceReport } from "../../bridge/audio-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { VoiceCounters } from "./voice-counters.ts";

/** What a player needs from its voice connection (connection/voice-connection.ts). */
export interface Voice {
  /**
   * Resolves when the gateway's WebSocket is open; rejects with a NodeError. Called again, it moves to other
   * credentials.
   */
  connect(credentials: VoiceCredentials): Promise<void>;
  /** Read before each frame. */
  readonly gate: VoiceGate;
  /**
   * Sends one Opus packet of 20 ms at `dueMs` of the worker's clock, which may be some frames ahead; its bytes are read
   * before this returns. False: it cannot be sent. RTP time advances over deadlines that are left out.
   */
  sendFrame(opus: Uint8Array, dueMs: number): boolean;
  /** Sends one silence frame; five end the audio. False: none could be sent, or none was needed. */
  sendSilence(dueMs: number): boolean;
  /** After the last silence frame: Discord no longer shows the bot as speaking. */
  stopSpeaking(): void;
  /** Revokes at most `countMax` unsent frames, newest first. Returns how many were revoked. */
  revoke(countMax: number): number;
  /**
   * No frame may be due before this, on the worker's clock: audio of another worker plays until then. Undefined: no
   * limit.
   */
  readonly startsMs: number | undefined;
  /** The ring is full: the next frame must be held until some have been sent. */
  readonly isFull: boolean;
  /** No frame is unsent. */
  readonly isDrained: boolean;
  /** Why frames cannot be sent. Read while the gate is not "send", and after a `sendFrame` that returned false. */
  readonly sendBlockReason: SendBlockReason;
  /**
   * Gives up the current session in any state and begins a new one with the same credentials, without notifying the
   * client. False: there are no credentials to begin with.
   */
  rejoin(): boolean;
  /** Counts so far and current status; undefined when the connection belongs to another worker. */
  readonly counters: Readonly<VoiceCounters> | undefined;
  describe(): VoiceReport | undefined;
  /** For good. May be called more than once. */
  close(): void;
}

/** Why a frame cannot be sent, as far as voice can tell. */
export type SendBlockReason = Extract<LossCause, "network" | "voiceNotReady" | "daveNotReady" | "nobodyThere">;

/**
 * What to do with the next due frame. "send": send it. "hold": keep it, track time stands (connecting, reconnecting, up
 * to 3 s for the DAVE group). "discard": drop it, time runs (the channel is empty). "down": there is no voice.
 */
export type VoiceGate = "send" | "hold" | "discard" | "down";

/** Reported to clients in `playerUpdate` (connected, ping). */
export interface VoiceStatus {
  /** The gateway's WebSocket is open. */
  readonly isConnected: boolean;
  /** Audio can be sent. */
  readonly isReady: boolean;
  /** -1 without a connection, 0 before the first heartbeat is answered; changes at most once per heartbeat. */
  readonly pingMs: number;
}

/** How the voice gateway's last connection ended, for the `WebSocketClosedEvent` of the protocol. */
export interface VoiceClose {
  /** Discord's (discord-voice.md section 1.7), or CLOSE_ABNORMAL. */
  readonly code: number;
  readonly reason: string;
  readonly isByRemote: boolean;
}
