// The one guild that bots of the fake see: its members, its channels, and their JSON. One voice channel, and one member
// besides the bot, who types commands and listens.

import type { Command } from "./bot-messages.ts";

export const GUILD_ID = "200000000000000001";
export const VOICE_CHANNEL_ID = "300000000000000001";
const TEXT_CHANNEL_ID = "400000000000000001";
export const MEMBER_ID = "800000000000000001";
/** The bot's user and its application have one id, as with all newer bots. */
export const BOT_ID = "100000000000000001";

const JOINED_AT = "2026-01-01T00:00:00.000000+00:00";
/** All but the one of administrators. */
const PERMISSIONS = "2248473465835073";

const USERS: Readonly<Record<string, { readonly username: string; readonly discriminator: string }>> = {
  [BOT_ID]: { username: "music-bot", discriminator: "1234" },
  [MEMBER_ID]: { username: "listener", discriminator: "0" },
};

export function userJson(id: string): object {
  return { id, ...USERS[id], avatar: null, bot: id === BOT_ID, global_name: null, public_flags: 0, flags: 0 };
}

export function applicationJson(): object {
  const texts = { name: "music-bot", description: "", icon: null, verify_key: "0".repeat(64) };
  const switches = { bot_public: true, bot_require_code_grant: false, flags: 0, team: null };
  return { id: BOT_ID, ...texts, ...switches, owner: userJson(MEMBER_ID) };
}

function memberJson(id: string): object {
  return { user: userJson(id), roles: [], joined_at: JOINED_AT, deaf: false, mute: false, nick: null, flags: 0 };
}

/** The voice state of one user; `channelId` null: the user has left. */
export function voiceStateJson(userId: string, channelId: string | null, sessionId: string): object {
  const ids = { guild_id: GUILD_ID, channel_id: channelId, user_id: userId, session_id: sessionId };
  const flags = { deaf: false, mute: false, self_deaf: userId === BOT_ID, self_mute: false, self_video: false };
  return { ...ids, ...flags, suppress: false, request_to_speak_timestamp: null, member: memberJson(userId) };
}

/** GUILD_CREATE with these voice states. */
export function guildJson(voiceStates: readonly object[]): object {
  const channel = { guild_id: GUILD_ID, permission_overwrites: [], parent_id: null, nsfw: false, flags: 0 };
  const everyone = { id: GUILD_ID, name: "@everyone", permissions: PERMISSIONS, position: 0, flags: 0 };
  return {
    id: GUILD_ID,
    name: "A server",
    owner_id: MEMBER_ID,
    joined_at: JOINED_AT,
    member_count: 2,
    large: false,
    unavailable: false,
    icon: null,
    splash: null,
    banner: null,
    description: null,
    vanity_url_code: null,
    discovery_splash: null,
    features: [],
    emojis: [],
    stickers: [],
    threads: [],
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
    afk_channel_id: null,
    afk_timeout: 300,
    system_channel_id: null,
    system_channel_flags: 0,
    application_id: null,
    rules_channel_id: null,
    public_updates_channel_id: null,
    safety_alerts_channel_id: null,
    verification_level: 0,
    default_message_notifications: 0,
    explicit_content_filter: 0,
    mfa_level: 0,
    premium_tier: 0,
    premium_subscription_count: 0,
    premium_progress_bar_enabled: false,
    nsfw_level: 0,
    preferred_locale: "en-US",
    max_members: 500_000,
    roles: [{ ...everyone, color: 0, hoist: false, managed: false, mentionable: false, icon: null }],
    members: [memberJson(BOT_ID), memberJson(MEMBER_ID)],
    channels: [
      { ...channel, id: TEXT_CHANNEL_ID, type: 0, name: "general", position: 0, topic: null, last_message_id: null },
      { ...channel, id: VOICE_CHANNEL_ID, type: 2, name: "Music", position: 1, bitrate: 64_000, user_limit: 0 },
    ],
    voice_states: voiceStates,
  };
}

/** A registered command, as Discord answers with it. */
export function commandJson(command: Command, index: number): object {
  const none = { default_member_permissions: null, nsfw: false, contexts: null, integration_types: [0] };
  return { ...none, ...command, id: commandId(index), application_id: BOT_ID, type: 1, version: commandId(index) };
}

/** The member's command; `values` by the names of its options. */
export function interactionJson(call: {
  readonly id: string;
  readonly token: string;
  readonly index: number;
  readonly command: Command;
  readonly values: ReadonlyMap<string, string>;
}): object {
  const options = Array.from(call.values, ([name, value]) => ({ name, type: 3, value }));
  return {
    id: call.id,
    application_id: BOT_ID,
    type: 2,
    token: call.token,
    version: 1,
    data: { id: commandId(call.index), name: call.command.name, type: 1, options },
    guild_id: GUILD_ID,
    guild: { id: GUILD_ID, features: [], locale: "en-US" },
    channel_id: TEXT_CHANNEL_ID,
    channel: { id: TEXT_CHANNEL_ID, type: 0, name: "general", guild_id: GUILD_ID, permissions: PERMISSIONS },
    member: { ...memberJson(MEMBER_ID), permissions: PERMISSIONS },
    app_permissions: PERMISSIONS,
    context: 0,
    authorizing_integration_owners: { 0: GUILD_ID },
    locale: "en-US",
    guild_locale: "en-US",
    entitlements: [],
    attachment_size_limit: 10_485_760,
  };
}

/** The bot's answer as a message. */
export function messageJson(id: string, content: string): object {
  return {
    id,
    channel_id: TEXT_CHANNEL_ID,
    author: userJson(BOT_ID),
    application_id: BOT_ID,
    content,
    timestamp: JOINED_AT,
    edited_timestamp: null,
    type: 20,
    flags: 0,
    tts: false,
    pinned: false,
    mention_everyone: false,
    mentions: [],
    mention_roles: [],
    attachments: [],
    embeds: [],
    components: [],
  };
}

function commandId(index: number): string {
  return `${500_000_000_000_000_001n + BigInt(index)}`;
}
