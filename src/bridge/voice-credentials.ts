// The credentials for joining a voice channel, as a client passes them on from Discord. On both sides of the bridge.

/** The voice object of protocol-v4.md section 3.2. `channelId` undefined: an older client, learnt from DAVE. Secret. */
export interface VoiceCredentials {
  /** Token of the voice server, for one call; not the bot's. */
  readonly token: string;
  /** Host of the voice server, perhaps with a port (media/voice/connection/voice-endpoint.ts reads it). */
  readonly endpoint: string;
  /** Discord's, of the bot in that guild. */
  readonly sessionId: string;
  /** A snowflake. */
  readonly channelId: string | undefined;
}

/** Whether nothing would change by connecting with the one instead of the other. */
export function areSameCredentials(a: VoiceCredentials, b: VoiceCredentials): boolean {
  return a.token === b.token && a.endpoint === b.endpoint && a.sessionId === b.sessionId && a.channelId === b.channelId;
}
