// The state of a player's voice connection on the control side, with the credentials in its intent. Main thread; the
// worker holds the connection itself.

import type { VoiceId } from "../../bridge/commands.ts";
import type { VoiceStateJson } from "../protocol/player-json.ts";
import type { PlayerIntent } from "./player-intent.ts";

/** The result of an attempt to connect; `lost`: its worker has lost the player, which retries on another by itself. */
export type OpeningResult =
  | { readonly kind: "open" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "lost" };

export type VoiceLinkState =
  /** There is none. It is opened when the player has a worker, if the intent has credentials that are not closed. */
  | { readonly kind: "down" }
  | { readonly kind: "connecting"; readonly voiceId: VoiceId; readonly opening: Promise<OpeningResult> }
  | {
      readonly kind: "open";
      readonly voiceId: VoiceId;
      /** False while the worker reconnects by itself. */
      readonly isConnected: boolean;
      readonly isReady: boolean;
      readonly pingMs: number;
    };

/** The `connected` and `ping` of the protocol's PlayerState. */
export function connectionOf(state: VoiceLinkState): { readonly connected: boolean; readonly ping: number } {
  // Documented as -1 whenever there is no connection. The published server shows the last ping after a close by
  // Discord.
  return state.kind === "open" && state.isConnected
    ? { connected: true, ping: state.pingMs }
    : { connected: false, ping: -1 };
}

/** The protocol's VoiceState. */
export function voiceToJson(voice: PlayerIntent["voice"]): VoiceStateJson {
  if (voice === undefined) return { token: "", endpoint: "", sessionId: "", channelId: null };
  const { token, endpoint, sessionId, channelId } = voice.credentials;
  return { token, endpoint, sessionId, channelId: channelId ?? null };
}
