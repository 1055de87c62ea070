// Events beside those of Lavalink itself. Main thread; sent by the session.

/**
 * An event beside those of Lavalink itself: of a plugin, or of one of Lavalink's plugins that is built in. Clients get it
 * as an `event` of this type, with the members.
 */
export interface ExtensionMessage {
  readonly op: "extension";
  readonly type: string;
  readonly guildId: string;
  readonly members: object;
}

/** As clients of all versions get it. */
export function extensionEvent({ type, guildId, members }: ExtensionMessage): object {
  return { op: "event", type, guildId, ...members };
}
