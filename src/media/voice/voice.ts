// What a player and its voice connection (connection/voice-connection.ts) know of each other. Audio thread.

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
  /** Asked before each frame. */
  readonly gate: VoiceGate;
  /**
   * One Opus packet of 20 ms, to leave at `dueMs` of the worker's clock, which may lie some frames ahead; its bytes are
   * read before this returns. False: it cannot be sent. Deadlines that are left out let RTP time go on.
   */
  sendFrame(opus: Uint8Array, dueMs: number): boolean;
  /** One silence frame; five end sound. False: none could be sent, or none was needed. */
  sendSilence(dueMs: number): boolean;
  /** After the last silence frame: Discord shows that nobody speaks. */
  stopSpeaking(): void;
  /** Takes back what has not left, the newest first, `countMax` frames at most. Returns how many never leave now. */
  revoke(countMax: number): number;
  /** Nothing may be due before, of the worker's clock: what others send is heard until then. Undefined: nothing is. */
  readonly startsMs: number | undefined;
  /** No more frames can wait to leave: the next one has to be held until some have. */
  readonly isFull: boolean;
  /** No frame waits to leave. */
  readonly isDrained: boolean;
  /** Why frames have no way out. Asked while the gate is not "send", and after a `sendFrame` that was false. */
  readonly sendBlockReason: SendBlockReason;
  /**
   * Gives up what session there is, whatever state it is in, and begins one with the same credentials, silently towards
   * the client. False: there is nothing to begin anew.
   */
  rejoin(): boolean;
  /** What was counted so far, and how it stands now; undefined where the connection is another worker's. */
  readonly counters: Readonly<VoiceCounters> | undefined;
  describe(): VoiceReport | undefined;
  /** For good. May be called more than once. */
  close(): void;
}

/** Why a frame has no way out, as far as voice can tell. */
export type SendBlockReason = Extract<LossCause, "network" | "voiceNotReady" | "daveNotReady" | "nobodyThere">;

/**
 * What to do with the next due frame. "send": it. "hold": wait with it, the clock stands (connecting, reconnecting, up
 * to 3 s for the DAVE group). "discard": drop it, time runs (nobody is in the channel). "down": there is no voice.
 */
export type VoiceGate = "send" | "hold" | "discard" | "down";

/** Told to clients in `playerUpdate` (connected, ping). */
export interface VoiceStatus {
  /** The gateway's WebSocket is open. */
  readonly isConnected: boolean;
  /** Sound can flow. */
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
