// The interface between a player and its voice connection (connection/voice-connection.ts). Audio thread.

import type { VoiceReport } from "../../bridge/audio-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { FrameSink } from "./frame-sink.ts";
import type { VoiceCounters } from "./voice-counters.ts";

export interface VoiceConnectOptions {
  /** Failures that may pass are not given up for VOICE_PATIENCE_MS_MAX. Default: false. */
  readonly isPatient?: boolean | undefined;
}

/** What a player needs from its voice connection (connection/voice-connection.ts). */
export interface Voice {
  /**
   * Resolves when the gateway's WebSocket is open; rejects with a NodeError. Called again, it moves to other
   * credentials.
   */
  connect(credentials: VoiceCredentials, options?: VoiceConnectOptions): Promise<void>;
  /** Where frames go now. Read it again for each frame: it changes with the session. */
  readonly sink: FrameSink;
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
