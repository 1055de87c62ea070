// What a player and its voice connection (voice/voice-connection.ts) know of each other. Audio thread.

import type { VoiceCredentials } from "../../bridge/commands.ts";

/** What a player needs from its voice connection (voice/voice-connection.ts). */
export interface Voice {
  connect(credentials: VoiceCredentials): Promise<void>;
  /** "send" the due frame, "hold" the clock, "discard" the frame but let time run, or there is no voice at all. */
  readonly gate: "send" | "hold" | "discard" | "down";
  sendFrame(opus: Uint8Array): boolean;
  sendSilence(): boolean;
  stopSpeaking(): void;
  skipFrames(count: number): void;
  close(): void;
}

export interface VoiceState {
  readonly isConnected: boolean;
  readonly isReady: boolean;
  readonly pingMs: number;
}

export interface VoiceClose {
  readonly code: number;
  readonly reason: string;
  readonly isByRemote: boolean;
}
