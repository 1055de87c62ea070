// The main gateway's part in joining a voice channel, for client libraries in tests: takes op 4 from the library and
// gives it the two raw packets that Discord would answer with.

import type { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import type { IssuedVoice } from "../../lab/discord/voice-session.ts";

/** Op 4 as libraries send it. */
export interface VoiceStateRequest {
  readonly op: number;
  readonly d: { readonly guild_id: string; readonly channel_id: string | null };
}

/** A dispatch of Discord's main gateway. */
export interface RawPacket {
  readonly t: "VOICE_STATE_UPDATE" | "VOICE_SERVER_UPDATE";
  readonly d: Readonly<Record<string, unknown>>;
}

export class FakeShard {
  readonly #discord: FakeDiscord;
  readonly #userId: string;
  readonly #deliver: (packet: RawPacket) => void;

  constructor(discord: FakeDiscord, userId: string, deliver: (packet: RawPacket) => void) {
    this.#discord = discord;
    this.#userId = userId;
    this.#deliver = deliver;
  }

  /** Receives what the library sends to its shard. */
  receive({ op, d }: VoiceStateRequest): void {
    if (op !== 4) throw new Error(`fake shard: opcode ${op}`);
    const { guild_id: guildId, channel_id: channelId } = d;
    if (channelId === null) {
      this.#discord.session(guildId).close(4014, "Disconnected.");
      setImmediate(() => this.#sendState(guildId, null, ""));
    } else {
      this.#handOut(guildId, this.#discord.issueVoice({ guildId, channelId, userId: this.#userId }));
    }
  }

  /** The voice server changes: the old one closes with 4014, new data follow. */
  changeServer(guildId: string): void {
    this.#handOut(guildId, this.#discord.moveVoice({ guildId, closeOld: "now" }));
  }

  /** Behind the call, as the network would. */
  #handOut(guildId: string, voice: IssuedVoice): void {
    setImmediate(() => {
      this.#sendState(guildId, voice.channelId, voice.sessionId);
      const { token, endpoint } = voice;
      this.#deliver({ t: "VOICE_SERVER_UPDATE", d: { guild_id: guildId, token, endpoint } });
    });
  }

  #sendState(guildId: string, channelId: string | null, sessionId: string): void {
    const flags = { self_deaf: true, self_mute: false, deaf: false, mute: false, suppress: false };
    const ids = { guild_id: guildId, channel_id: channelId, user_id: this.#userId, session_id: sessionId };
    this.#deliver({ t: "VOICE_STATE_UPDATE", d: { ...ids, ...flags } });
  }
}
